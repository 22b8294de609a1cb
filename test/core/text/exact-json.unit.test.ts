import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exactNumber, isExactNumber, parseExactJson } from '../../../src/core/text/exact-json.ts';

const written = (text: string) => JSON.stringify(parseExactJson(text));

test.each([
  '{"id":1234567890123456789}',
  '{"id":-9223372036854775808}',
  '[9007199254740993]',
  '[0.12345678901234567891]',
  '[1e400,-1e400,1e-400]',
  '{"a":[{"b" : 12345678901234567890}]}'.replaceAll(' ', ''),
])('a number that a JavaScript number would change is kept with its text: %s', (text) => {
  expect(written(text)).toBe(text);
  expect(written(text)).not.toBe(JSON.stringify(JSON.parse(text)));
});

test.each([
  ['[9007199254740991, 9007199254740992, 0.1, 1e3, 1.10, -0, 12345678901234567000]', Number.MAX_SAFE_INTEGER],
  ['[1e22]', 1e22],
  ['[123456789012345680000]', 123456789012345680000],
])('a number that survives is a JavaScript number: %s', (text, first) => {
  const values = parseExactJson(text) as unknown[];
  expect(values).toEqual(JSON.parse(text));
  expect(values[0]).toBe(first);
});

test('every number that JavaScript writes survives, in any notation', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      for (const text of [String(value), value.toExponential(), JSON.stringify(value)])
        expect(exactNumber(text)).toBe(Number(text));
    }),
  );
});

test('every integer of 64 bits is read exactly', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
      const number = exactNumber(String(value));
      expect(isExactNumber(number) ? number.rawJSON : BigInt(number).toString()).toBe(String(value));
    }),
  );
});

test('texts with digits are texts, and malformed JSON is refused as by JSON.parse', () => {
  expect(parseExactJson('["a,12345678901234567890"]')).toEqual(['a,12345678901234567890']);
  expect(() => parseExactJson('[1234567890123456789')).toThrow(SyntaxError);
  expect(() => parseExactJson('[01234567890123456789]')).toThrow(SyntaxError);
});

test('a text is never read as a number, whatever is around it', () => {
  const text = fc.stringMatching(/^["\\\\,:[\] 1e.]{0,40}$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(text, fc.bigInt({ min: 0n, max: 2n ** 70n })), { maxLength: 4 }), (pairs) => {
      const document = `{${pairs.map(([inner, number], index) => `"${index}" : [${JSON.stringify(inner)}, ${number}]`).join(', ')}}`;
      const expected = `{${pairs.map(([inner, number], index) => `"${index}":[${JSON.stringify(inner)},${written(`[${number}]`).slice(1, -1)}]`).join(',')}}`;
      expect(written(document)).toBe(expected);
    }),
  );
});

test('the last one of two members with one name counts, and a member __proto__ is a member', () => {
  expect(written('{"a":12345678901234567890,"a":1}')).toBe('{"a":1}');
  expect(written('{"a":1,"a":12345678901234567890}')).toBe('{"a":12345678901234567890}');
  expect(written('{"__proto__":12345678901234567890}')).toBe('{"__proto__":12345678901234567890}');
});

test('more than 500 levels are refused, in texts of any length', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  expect(parseExactJson(nested(500))).toBeInstanceOf(Array);
  expect(() => parseExactJson(nested(501))).toThrow('must not be nested deeper than 500 levels');
  expect(parseExactJson('{"a":'.repeat(500) + '1' + '}'.repeat(500))).toBeInstanceOf(Object);
  expect(() => parseExactJson('{"a":'.repeat(501) + '1' + '}'.repeat(501))).toThrow(/500 levels/);
  expect(parseExactJson(`["${'['.repeat(100_000)}"]`)).toEqual(['['.repeat(100_000)]);
});
