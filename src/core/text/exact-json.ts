import { randomUUID } from 'node:crypto';
import { WORK } from '../work-budget.ts';
import { countMembers, endOfText } from './json-scanner.ts';

/** JSON whose numbers are never changed in silence: JavaScript numbers have 53 bits, and JSON numbers any number of digits. */

/** A number of JSON that a JavaScript number cannot represent. `JSON.stringify` writes it as it came. */
export interface ExactNumber {
  readonly rawJSON: string;
}

// Part of ECMAScript 2026, which Node.js 24 has, but not yet of the types of the compiler.
const { rawJSON, isRawJSON } = JSON as unknown as {
  readonly rawJSON: (text: string) => ExactNumber;
  readonly isRawJSON: (value: unknown) => value is ExactNumber;
};

export const isExactNumber = isRawJSON;

/** Begins a number of more than 15 digits, or with an exponent of more than two. A JavaScript number represents all others. */
const MAY_BE_LONG = /[:,[]\s*(?=-?(?:(?:\d\.?){16}|[\d.]+[eE][+-]?\d{3}))/g;
const NUMBER_TOKEN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\d.eE+-])/y;

/** Begins the text that replaces a number while JSON is parsed. It is random, so no document can contain it. */
const MARK = randomUUID();

/**
 * `JSON.parse` that returns an `ExactNumber` for each number that would be changed. It does not use the reviver of `JSON.parse`, which takes
 * seconds for a list of millions of values.
 * @throws SyntaxError for malformed JSON; JsonBoundError for more levels, which functions that call themselves for each level may not survive.
 */
export function parseExactJson(text: string, maxLevels: number = WORK.levels): unknown {
  if (text.length > 2 * maxLevels) countMembers(text, { levels: maxLevels });
  return parseBounded(text);
}

/** The same for a document whose bounds were checked. */
export function parseBounded(text: string): unknown {
  const marked = withMarks(text);
  const value: unknown = JSON.parse(marked);
  if (marked === text) return value;
  const root = { value };
  replaceMarks(root);
  return root.value;
}

/** The document with a marked text in place of each number that JavaScript would change. */
function withMarks(json: string): string {
  const isInText = textFinder(json);
  let marked = '';
  let copied = 0;
  MAY_BE_LONG.lastIndex = 0;
  while (MAY_BE_LONG.test(json)) {
    NUMBER_TOKEN.lastIndex = MAY_BE_LONG.lastIndex;
    const [source] = NUMBER_TOKEN.exec(json) ?? [];
    if (source === undefined) continue;
    const start = MAY_BE_LONG.lastIndex;
    MAY_BE_LONG.lastIndex += source.length;
    if (survives(source) || isInText(start)) continue;
    marked += `${json.slice(copied, start)}"${MARK}${source}"`;
    copied = start + source.length;
  }
  return copied === 0 ? json : marked + json.slice(copied);
}

/** Returns a function that says whether a position is within a text of the document. Positions must ascend. */
function textFinder(json: string): (position: number) => boolean {
  let start = -1;
  let end = -1;
  return (position) => {
    while (end < position) {
      start = json.indexOf('"', end + 1);
      if (start < 0) start = Infinity;
      end = start === Infinity ? Infinity : endOfText(json, start);
    }
    return start < position;
  };
}

/** Puts an `ExactNumber` in place of each marked text. Without recursion, because documents can be nested deeply. */
function replaceMarks(root: object): void {
  const containers: object[] = [root];
  for (let container = containers.pop(); container; container = containers.pop()) {
    // Lists have their positions as keys.
    const members = container as Record<string | number, unknown>;
    if (Array.isArray(container))
      for (let index = 0; index < container.length; index += 1) replaceMark(members, index, containers);
    else for (const key in container) replaceMark(members, key, containers);
  }
}

function replaceMark(members: Record<string | number, unknown>, key: string | number, containers: object[]): void {
  const value = members[key];
  if (typeof value === 'object' && value !== null) {
    // A document can have a million empty lists.
    if (!Array.isArray(value) || value.length > 0) containers.push(value);
  } else if (typeof value === 'string' && value.startsWith(MARK)) members[key] = rawJSON(value.slice(MARK.length));
}

/** The value of the text of a JSON number. */
export const exactNumber = (text: string): number | ExactNumber => (survives(text) ? Number(text) : rawJSON(text));

/** Whether a JavaScript number represents the JSON number exactly. Bodies can have hundreds of thousands of long numbers. */
function survives(text: string): boolean {
  const value = Number(text);
  // Every number of at most 15 digits does, if it is in the normal range.
  const exponentAt = text.search(EXPONENT);
  if ((exponentAt === -1 ? text.length : exponentAt) <= 15 && isNormal(value)) return true;
  const written = String(value);
  if (written === text) return true;
  // Integers below 1e21 are written with all their digits.
  if (Math.abs(value) < 1e21 && IS_INTEGER.test(text)) return false;
  return Number.isFinite(value) && digitsOf(text) === digitsOf(written);
}

const EXPONENT = /e/i;
const MIN_NORMAL = 2 ** -1022;

const isNormal = (value: number): boolean => Number.isFinite(value) && Math.abs(value) >= MIN_NORMAL;

const IS_INTEGER = /^-?[1-9]\d*$/;

/** The significant digits of a number and their position, which do not depend on its notation. */
function digitsOf(text: string): string {
  const [mantissa = '', exponent = '0'] = text.split(/e/i);
  const unsigned = mantissa.startsWith('-') ? mantissa.slice(1) : mantissa;
  const point = unsigned.indexOf('.');
  const digits = point === -1 ? unsigned : unsigned.slice(0, point) + unsigned.slice(point + 1);
  // Not patterns: one for zeros at the end takes hours for a number with a million of them in its middle.
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  let start = 0;
  while (start < end && digits[start] === '0') start += 1;
  const integral = point === -1 ? digits.length : point;
  return start === end ? '0' : `${digits.slice(start, end)}e${Number(exponent) + integral - end}`;
}
