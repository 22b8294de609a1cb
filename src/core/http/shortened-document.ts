import { isLarger } from '../answer-size.ts';
import { isObject } from '../is-object.ts';

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
