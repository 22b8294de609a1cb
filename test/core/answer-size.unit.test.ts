import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_ANSWER_BYTES, answerBytes, isSurelyLarger, isSurelyTooLarge, sizeOf } from '../../src/core/answer-size.ts';
import { RawJson, stringifyWithRawJson } from '../../src/core/text/raw-json.ts';

test.each([
  [null, 1],
  [true, 1],
  [12_345, 1],
  ['', 2],
  ['abc', 5],
  [[], 1],
  [['a', ['bc'], 3], 14],
  [{}, 0],
  [{ a: 'b', cd: [1] }, 17],
  [new RawJson('{"a":1}'), 7],
])('the size of %j is %i', (value, size) => {
  expect(sizeOf(value)).toBe(size);
});

test('the size is never larger than the JSON by more than the ends of its objects', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.jsonValue(),
          fc.json().map((text) => new RawJson(text)),
        ),
      ),
      (value) => {
        const json = stringifyWithRawJson(value);
        expect(sizeOf(value)).toBeLessThanOrEqual(Buffer.byteLength(json));
      },
    ),
  );
});

test('a value is larger than a limit only if its size exceeds it', () => {
  expect(isSurelyLarger('abc', 5)).toBe(false);
  expect(isSurelyLarger('abcd', 5)).toBe(true);
  expect(isSurelyLarger(['ab', 'x'], 6)).toBe(true);
  expect(isSurelyTooLarge('x'.repeat(MAX_ANSWER_BYTES - 2))).toBe(false);
  expect(isSurelyTooLarge('x'.repeat(MAX_ANSWER_BYTES - 1))).toBe(true);
});

test('counting stops once the limit is exceeded', () => {
  const read: string[] = [];
  const value = {
    get a() {
      read.push('a');
      return 1;
    },
    b: 'x'.repeat(100),
  };
  expect(isSurelyLarger([value, value], 50)).toBe(true);
  expect(read).toEqual(['a']);
});

test('an answer has up to 32 MiB in UTF-8, and the error names the limit', () => {
  expect(answerBytes('ä')).toBe(2);
  expect(answerBytes('äb', 3)).toBe(3);
  expect(() => answerBytes(`${'ä'.repeat(2 ** 20)}b`, 2 * 2 ** 20)).toThrow(
    expect.objectContaining({
      code: 'ANSWER_TOO_LARGE',
      message: 'the answer would be larger than 2 MiB; ask for fewer or smaller objects',
    }),
  );
  expect(answerBytes('x'.repeat(MAX_ANSWER_BYTES))).toBe(33_554_432);
});
