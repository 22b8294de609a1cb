import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ENVELOPE_BYTES,
  answerTooLarge,
  firstWithin,
  isLarger,
  isSurelyLarger,
  sizeOf,
} from '../../src/core/answer-size.ts';
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

test('a text is larger than a limit if its bytes in UTF-8 exceed it', () => {
  expect(isLarger('äb', 3)).toBe(false);
  expect(isLarger('äbc', 3)).toBe(true);
});

test('the error names the limit', () => {
  expect(answerTooLarge(8 * 2 ** 20)).toMatchObject({
    code: 'ANSWER_TOO_LARGE',
    message: 'the answer would be larger than 8 MiB; ask for fewer or smaller objects',
  });
});

test('the first items end with the one that reaches the maximum, or before one for which an answer has no room', () => {
  const max = ENVELOPE_BYTES * 2;
  const item = (bytes: number) => 'x'.repeat(bytes - 3);
  const lengths = (...sizes: number[]) => firstWithin(sizes.map(item), max).map((text) => text.length + 3);
  expect(lengths(max / 2, max / 4)).toEqual([max / 2, max / 4]);
  expect(lengths(max / 2, max / 2, 10)).toEqual([max / 2, max / 2]);
  expect(lengths(max / 2, max + 10, 10)).toEqual([max / 2]);
  expect(lengths(max / 2, max, 10)).toEqual([max / 2, max]);
  expect(lengths(3 * max, 10)).toEqual([3 * max]);
  expect(lengths()).toEqual([]);
});
