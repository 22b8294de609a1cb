import { DomainError } from './errors.ts';
import { RawJson } from './text/raw-json.ts';

/** Bytes of the answer to one request, and of what the database may say for it. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

export function answerTooLarge(maxBytes = MAX_ANSWER_BYTES): DomainError {
  const limit = `${maxBytes / 1024 / 1024} MiB`;
  return new DomainError(
    'answerTooLarge',
    `the answer would be larger than ${limit}; ask for fewer or smaller objects`,
  );
}

/**
 * Whether a value is larger as JSON, found without making the JSON: a value that is read once may be answered many times. It may err for less,
 * since characters are counted as one byte each, but never for more.
 */
export function isSurelyLarger(value: unknown, maxBytes: number): boolean {
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
    if (left < 0) return true;
  }
  return false;
}

/** Whether it is larger than an answer may be. */
export const isSurelyTooLarge = (value: unknown) => isSurelyLarger(value, MAX_ANSWER_BYTES);

/** The bytes of an answer. @throws DomainError `ANSWER_TOO_LARGE` when they are more than it may have. */
export function answerBytes(text: string, maxBytes = MAX_ANSWER_BYTES): number {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) throw answerTooLarge(maxBytes);
  return bytes;
}
