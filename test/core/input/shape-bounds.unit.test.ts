import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseInput } from '../../../src/core/input/validation.ts';

const named = (count: number, value: unknown = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, value]));

function messageOf(schema: z.ZodType, input: unknown): string {
  try {
    parseInput(schema, input);
    return 'accepted';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const TOO_WIDE = 'must have at most 500 properties';
const closed = z.strictObject({ a: z.unknown() });

test.each([
  ['an object', closed, (wide: unknown) => wide, ''],
  ['a property', z.strictObject({ x: closed.nullish() }), (x: unknown) => ({ x }), 'x: '],
  ['an item', z.strictObject({ x: z.array(closed).max(9) }), (x: unknown) => ({ x: [{}, x] }), 'x.1: '],
  ['a value of a record', z.record(z.string(), closed), (k: unknown) => ({ k }), 'k: '],
  ['a record of texts', z.record(z.string(), z.string()), (wide: unknown) => wide, ''],
  ['a union', z.union([z.string(), closed, z.array(closed)]), (wide: unknown) => wide, ''],
  [
    'a variant',
    z.discriminatedUnion('t', [z.strictObject({ t: z.literal('a') }), z.strictObject({ t: z.literal('b') })]),
    (wide: unknown) => ({ ...Object(wide), t: 'a' }),
    '',
  ],
  ['a transformed object', closed.refine(() => true).transform(() => 1), (wide: unknown) => wide, ''],
  ['a preprocessed object', z.preprocess((value) => value, closed), (wide: unknown) => wide, ''],
  ['a compiled object', z.compile(closed.transform(() => 1)), (wide: unknown) => wide, ''],
  ['a default', z.strictObject({ x: closed.default({ a: 1 }) }), (x: unknown) => ({ x }), 'x: '],
  ['a lazy schema', z.lazy(() => closed), (wide: unknown) => wide, ''],
])('%s with more than 500 properties is refused before it is validated', (_, schema, inputOf, place) => {
  expect(messageOf(schema, inputOf(named(501)))).toBe(`${place}${TOO_WIDE}`);
  expect(messageOf(schema, inputOf(named(499)))).not.toContain(TOO_WIDE);
});

test('the properties of free JSON are not counted here', () => {
  expect(messageOf(z.looseObject({ a: z.number().optional() }), named(5000))).toBe('accepted');
  expect(messageOf(z.record(z.string(), z.unknown()), named(5000))).toBe('accepted');
  expect(messageOf(z.strictObject({ a: z.unknown() }), { a: named(5000) })).toBe('accepted');
});

test('a list that is longer than its bound and than 500 is refused before its items are validated', () => {
  let validated = 0;
  const item = z.string().refine(() => (validated += 1) > 0);
  const input = (length: number) => ({ list: Array.from({ length }, () => 'x') });
  const bounded = z.strictObject({ list: z.array(item).max(10) });
  expect(messageOf(bounded, input(501))).toBe('list: must have at most 10 items');
  expect(validated).toBe(0);
  expect(messageOf(bounded, input(11))).toBe('list: must have at most 10 items');
  expect(messageOf(z.strictObject({ list: z.array(item).max(600) }), input(600))).toBe('accepted');
  expect(messageOf(z.strictObject({ list: z.array(z.string()) }), input(10_000))).toBe('accepted');
  expect(messageOf(z.strictObject({ list: z.array(z.string()) }), input(10_001))).toBe(
    'list: must have at most 10000 items',
  );
});

test('a schema that contains itself is checked at each of its levels, and any depth is survived', () => {
  interface Node {
    readonly child?: Node | undefined;
  }
  const node: z.ZodType<Node> = z.strictObject({
    get child() {
      return node.optional();
    },
  });
  expect(messageOf(node, { child: { child: { child: named(501) } } })).toBe(`child.child.child: ${TOO_WIDE}`);
  expect(messageOf(node, JSON.parse('{"child":'.repeat(400) + '{}' + '}'.repeat(400)))).toBe('accepted');
});
