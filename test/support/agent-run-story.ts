/** The texts and tool calls of the agent in `agent-run.ts`. */

/** A call of a tool. */
export interface Call {
  tool: string;
  input: object;
  /** Output lines, in order. */
  output: string[];
  exitCode?: number;
}

/** A text of the agent, followed by tool calls. */
export interface Turn {
  say: string;
  calls: Call[];
}

const bash = (command: string, exitCode: number, ...output: string[]): Call => ({
  tool: 'Bash',
  input: { command },
  output,
  exitCode,
});
const read = (path: string, ...output: string[]): Call => ({ tool: 'Read', input: { path }, output });
const search = (pattern: string, ...output: string[]): Call => ({
  tool: 'Grep',
  input: { pattern, path: 'src' },
  output,
});
const edit = (path: string, before: string, after: string): Call => ({
  tool: 'Edit',
  input: { path, before, after },
  output: ['1 replacement'],
});

export const BEFORE: readonly Turn[] = [
  {
    say: 'I will run the failing test first, before I change anything.',
    calls: [
      bash('npm test -- cart', 1, '> shop@2.4.0 test', '✗ cart › adds a coupon twice', '  expected 90, received 81'),
    ],
  },
  {
    say: 'The discount is applied to a price that is already reduced. Let me read that code and its callers.',
    calls: [
      read(
        'src/cart/discount.ts',
        'export function applyCoupon(cart: Cart, coupon: Coupon): Cart {',
        '  return reduced(cart, coupon.percent);',
        '}',
      ),
      search('applyCoupon\\(', 'src/checkout/summary.ts:48', 'src/checkout/summary.ts:61'),
    ],
  },
];

export const AFTER: readonly Turn[] = [
  {
    say: 'Two callers. The cart will remember its coupons, so that a second “10 % für Größe M” changes nothing 🙂.',
    calls: [
      edit('src/cart/discount.ts', '  return', '  if (cart.coupons.includes(coupon.code)) return cart;\n  return'),
    ],
  },
  {
    say: 'Now I run the test again, and then all tests.',
    calls: [
      bash('npm test -- cart', 0, '✓ cart › adds a coupon twice', '14 passed'),
      bash('npm test', 0, '> shop@2.4.0 test', '212 passed'),
    ],
  },
];

export const DELEGATION = 'While I change it, a subagent searches for other code that computes a total.';
export const HELPER_CALL: Call = {
  tool: 'Task',
  input: { prompt: 'Find other code that computes a total.' },
  output: ['Nothing else applies a coupon.'],
};
export const HELPER: readonly Turn[] = [
  { say: 'I search for totals.', calls: [search('[tT]otal', 'src/cart/total.ts:3', 'src/invoice/total.ts:1')] },
  {
    say: 'The invoice may compute a separate total.',
    calls: [read('src/invoice/total.ts', 'export const invoiceTotal = (cart: Cart) => cart.total;')],
  },
  { say: 'It uses the total of the cart: nothing else applies a coupon.', calls: [] },
];

export const WATCHER: Turn = {
  say: 'I run the type checker in watch mode.',
  calls: [bash('npm run typecheck -- --watch', 0, 'Starting in watch mode', 'Found 0 errors')],
};

export const ANSWER =
  'The coupon was taken off twice, because both steps of the checkout applied it to the reduced price. A cart now remembers its coupons, ' +
  'and a second application of one changes nothing. The failing test passes, and so do the other 211. I have looked for other places that ' +
  'compute a total: the invoice takes it from the cart, so nothing else had to change.';
