import { DomainError } from './errors.ts';
import { RawJson } from './text/raw-json.ts';

/** Maximum bytes of the answer to one request, and of the data that the database sends for it. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

export function answerTooLarge(maxBytes = MAX_ANSWER_BYTES): DomainError {
  const limit = `${maxBytes / 1024 / 1024} MiB`;
  return new DomainError(
    'answerTooLarge',
    `the answer would be larger than ${limit}; ask for fewer or smaller objects`,
  );
}

/**
 * Whether the JSON of a value is certainly larger than `maxBytes`, without serializing it: a value that was read once can be answered many times.
 * The estimate counts one byte per character, so it is never too high.
 */
export function isSurelyLarger(value: unknown, maxBytes: number): boolean {
  return sizeOf(value, maxBytes) > maxBytes;
}

/** The approximate size of a value as JSON, as above. Counting stops once it exceeds `maxBytes`. */
export function sizeOf(value: unknown, maxBytes = MAX_ANSWER_BYTES): number {
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

/** Whether a value is larger than an answer may be. */
export const isSurelyTooLarge = (value: unknown) => isSurelyLarger(value, MAX_ANSWER_BYTES);

/** The bytes of an answer. @throws DomainError `ANSWER_TOO_LARGE` if there are more than `maxBytes`. */
export function answerBytes(text: string, maxBytes = MAX_ANSWER_BYTES): number {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) throw answerTooLarge(maxBytes);
  return bytes;
}
