import { DomainError } from './errors.ts';
import { RawJson } from './text/raw-json.ts';
import { isObject } from './is-object.ts';

const MIB = 1024 * 1024;

/** Maximum bytes of the answer to one request, and of the data that the database sends for it. */
export const MAX_ANSWER_BYTES = 8 * MIB;

/** The bytes with which a page of a list ends early. The item that reaches them still belongs to the page, so an answer has room for it. */
export const pageBytesOf = (answerBytes: number): number => answerBytes / 2;

export const inMib = (bytes: number): string => `${bytes / MIB} MiB`;

export const answerTooLarge = (maxBytes: number): DomainError =>
  new DomainError(
    'answerTooLarge',
    `the answer would be larger than ${inMib(maxBytes)}; ask for fewer or smaller objects`,
  );

/** Undefined when the rest of the answer has no room for what is read. */
export async function unlessTooLarge<Result>(reading: Promise<Result>): Promise<Result | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof DomainError && error.kind === 'answerTooLarge') return undefined;
    throw error;
  }
}

/**
 * Whether the JSON of a value is certainly larger than `maxBytes`, without serializing it: a value that was read once can be answered many times.
 * The estimate counts one byte per character, so it is never too high.
 */
export const isSurelyLarger = (value: unknown, maxBytes: number): boolean => sizeOf(value, maxBytes) > maxBytes;

/** The approximate size of a value as JSON, as above. Counting stops once it exceeds `maxBytes`. */
export function sizeOf(value: unknown, maxBytes = Number.MAX_SAFE_INTEGER): number {
  // The value of most fields of this type, in every row of a page.
  if (value instanceof RawJson) return value.text.length;
  let left = maxBytes;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') {
      left -= next.length + 2;
    } else if (typeof next !== 'object' || next === null) {
      left -= 1;
    } else if (next instanceof RawJson) {
      left -= next.text.length;
    } else if (Array.isArray(next)) {
      left -= 1 + next.length;
      for (let index = 0; index < next.length; index += 1) open.push(next[index]);
    } else {
      for (const name in next) {
        left -= name.length + 4;
        open.push((next as Readonly<Record<string, unknown>>)[name]);
      }
    }
    if (left < 0) break;
  }
  return maxBytes - left;
}

/** A byte of a text takes up to six as JSON. */
export const MAX_ESCAPE = 6;

/**
 * The first items, up to the one with which their JSON reaches `maxBytes`, or before one for which an answer has no room;
 * at least one.
 */
export function firstWithin<Item>(items: readonly Item[], maxBytes: number): readonly Item[] {
  const roomOfAnswer = 2 * maxBytes - ENVELOPE_BYTES;
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    if (bytes > roomOfAnswer) return items.slice(0, Math.max(1, index));
    if (bytes >= maxBytes) return items.slice(0, index + 1);
  }
  return items;
}

/** For what an answer has beside the items of a page. */
export const ENVELOPE_BYTES = 16 * 1024;

/** Whether a text has more bytes than `maxBytes`. A UTF-16 unit has at most three bytes, so those of most texts need not be counted. */
export const isLarger = (text: string, maxBytes: number): boolean =>
  text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes;

/**
 * The JSON of the answer of a write, without the members that make it larger than `maxBytes`. The change was made, so the
 * answer must not be an error.
 */
export function shortenedJson(document: unknown, maxBytes: number): string {
  const json = JSON.stringify(document);
  return isObject(document) && isLarger(json, maxBytes) ? JSON.stringify(shortened(document, maxBytes)) : json;
}

/** A document whose largest members are null, as many as make it larger than `maxBytes`. */
export function shortened<Document extends object>(document: Document, maxBytes: number): Document {
  let left = sizeOfJson(document);
  const sizes = Object.entries(document).map(([name, value]): [string, number] => [name, sizeOfJson(value)]);
  const nulls: Record<string, null> = {};
  for (const [name, size] of sizes.toSorted(([, a], [, b]) => b - a)) {
    if (left <= maxBytes) break;
    nulls[name] = null;
    left -= size - sizeOfJson(null);
  }
  return { ...document, ...nulls };
}

const sizeOfJson = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');
