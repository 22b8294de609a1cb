import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import type { SecretLintRuleContext, SecretLintRuleReportDescriptor, SecretLintSourceCode } from '@secretlint/types';
import type { WorkSlices } from '../work-budget.ts';
import { PRIVATE_KEY, SHAPES } from './shapes.ts';

/**
 * Finds credentials by the rules of secretlint and by shapes of this project. The rules run without `@secretlint/core`, which compares all
 * that it finds with each other, and records the start and end of each rule for its profiler.
 */

/** Rules that are not used. The names are those of the packages after `@secretlint/secretlint-rule-`. */
const UNUSED: ReadonlySet<string> = new Set([
  // A comment in a text must not turn the rules off.
  'filter-comments',
  // Only for files.
  'gcp',
  // They read hundreds of characters at each of many beginnings in a row, or thousands. `SHAPES` has their credentials.
  'figma',
  'github',
  'sendgrid',
  // `SHAPES` has more schemes of addresses, and more private keys.
  'basicauth',
  'database-connection-string',
  'privatekey',
]);

type Rule = (typeof rules)[number];
export const RULES: readonly Rule[] = rules.filter(
  ({ meta }) => !UNUSED.has(meta.id.replace('@secretlint/secretlint-rule-', '')),
);

export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Texts are searched together, because a search has a fixed cost. No text of an event has this, and no rule matches it. */
const SEPARATOR = '\n\0\n';

/** How much is searched at once; then other requests can run. */
const PART = 32 * 1024;
/** Longer than any credential but a private key, so that each is whole in the part in which it begins. */
const OVERLAP = 16 * 1024;
/** What a pattern reads before a credential, such as whether a letter is there. */
const BEFORE = 64;

/** Where each text has credentials, in order and without overlaps. Texts without any are left out. */
export async function findCredentials(texts: Iterable<string>, slices: WorkSlices): Promise<Map<string, Range[]>> {
  const searched = [...texts];
  const ranges = await search(searched.join(SEPARATOR), slices);
  const found = new Map<string, Range[]>();
  let [start, next] = [0, 0];
  for (const text of searched) {
    const end = start + text.length;
    const own: Range[] = [];
    for (let range = ranges[next]; range && range.start < end; range = ranges[(next += 1)])
      own.push({ start: range.start - start, end: range.end - start });
    if (own.length > 0) found.set(text, own);
    start = end + SEPARATOR.length;
  }
  return found;
}

async function search(content: string, slices: WorkSlices): Promise<Range[]> {
  const ranges: Range[] = [];
  for (const match of content.matchAll(PRIVATE_KEY))
    ranges.push({ start: match.index, end: match.index + match[0].length });
  for (let at = 0; at < content.length; at += PART) {
    const before = Math.min(at, BEFORE);
    const offset = at - before;
    const part = content.slice(offset, at + PART + OVERLAP);
    const report = (start: number, end: number) => {
      // What begins after this part is found with the next.
      if (start >= before && start < before + PART) ranges.push({ start: start + offset, end: end + offset });
    };
    for (const text of new Set([part, withoutEscapes(part)]))
      for (const run of SEARCHES) {
        run(text, report);
        if (slices.isOver()) await slices.pause();
      }
  }
  return merged(ranges);
}

type Report = (start: number, end: number) => void;

const SEARCHES: readonly ((part: string, report: Report) => void)[] = [
  ...SHAPES.map((shape) => (part: string, report: Report) => {
    for (const match of part.matchAll(shape)) {
      const secret = match.groups?.['secret'] ?? match[0];
      const end = match.index + match[0].length;
      report(end - secret.length, end);
    }
  }),
  ...RULES.map((rule) => (part: string, report: Report) => {
    runRule(rule, part, (start, end) => {
      if (!isWithinToken(part, start, end)) report(start, end);
    });
  }),
];

/** Whether what a rule found is a part of a longer token: a letter or digit is beside it. An address, or a key with slashes, is none. */
function isWithinToken(text: string, start: number, end: number): boolean {
  const isInWord = (at: number) => IN_WORD.test(text.charAt(at - 1)) && IN_WORD.test(text.charAt(at));
  return (isInWord(start) || isInWord(end)) && !text.slice(start, end).includes('/');
}
const IN_WORD = /[0-9A-Za-z]/;

export function runRule(rule: Rule, part: string, report: Report): void {
  const context: SecretLintRuleContext = {
    sharedOptions: {},
    createTranslator: () => (messageId, data) => ({ message: '', messageId: String(messageId), data }),
    ignore: () => undefined,
    report: (descriptor) => {
      const { start, end } = secretIn(part, descriptor);
      report(start, end);
    },
  };
  void rule.create(context, {}).file?.(sourceOf(part));
}

/** The rules read only the text, and decide by the name of the file. */
function sourceOf(content: string): SecretLintSourceCode {
  const unused = () => {
    throw new Error('the rules do not need places in the text');
  };
  return {
    content,
    ext: '.txt',
    filePath: 'text.txt',
    physicalFilePath: undefined,
    contentType: 'text',
    hasBOM: false,
    getFilePath: () => 'text.txt',
    getPhysicalFilePath: () => undefined,
    locationToRange: unused,
    rangeToLocation: unused,
    positionToIndex: unused,
    indexToPosition: unused,
  };
}

/** Some rules report where the name of the secret begins, with the length of the secret. */
function secretIn(part: string, { message, range: [from, to] }: SecretLintRuleReportDescriptor): Range {
  const data: Readonly<Record<string, unknown>> = message.data ?? {};
  for (const value of Object.values(data)) {
    if (typeof value !== 'string') continue;
    const start = part.slice(from, from + MAX_NAME + value.length).indexOf(value);
    if (value.length === to - from && start !== -1) return { start: from + start, end: from + start + value.length };
  }
  return { start: from, end: to };
}

const MAX_NAME = 200;

/**
 * The same length, without what would hide that a word begins: `\n` in JSON within a text, colors of a terminal, and `%20` in an address.
 */
const withoutEscapes = (text: string): string =>
  text
    .replaceAll(/(?:\p{Cc}|\\u001b|\\x1b|\\033|\\e)\[[0-9;]{0,20}[a-z]/giu, (escape) => ' '.repeat(escape.length))
    .replaceAll(/\\[bfnrt]/g, '  ')
    .replaceAll(/\\u[0-9a-f]{4}/gi, '      ')
    .replaceAll(/%[0-9a-f]{2}/gi, '%%%');

function merged(ranges: readonly Range[]): Range[] {
  const result: { start: number; end: number }[] = [];
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    const last = result.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else result.push({ start, end });
  }
  return result;
}
