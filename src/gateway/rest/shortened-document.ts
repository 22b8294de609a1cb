import { isLarger } from '../../core/answer-size.ts';
import { isObject } from '../../core/is-object.ts';

/**
 * The JSON of the answer of a write, without the members that make it larger than `maxBytes`. The change was made, so the
 * answer must not be an error: the largest members become null.
 */
export function shortenedJson(document: unknown, maxBytes: number): string {
  const whole = JSON.stringify(document);
  if (!isObject(document) || !isLarger(whole, maxBytes)) return whole;
  let left = Buffer.byteLength(whole);
  const short: Record<string, unknown> = { ...document };
  const sizes = Object.entries(short).map(([name, value]): [string, number] => [name, sizeOfJson(value)]);
  for (const [name, size] of sizes.toSorted(([, a], [, b]) => b - a)) {
    if (left <= maxBytes) break;
    short[name] = null;
    left -= size - sizeOfJson(null);
  }
  return JSON.stringify(short);
}

const sizeOfJson = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');
