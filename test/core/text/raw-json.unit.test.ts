import { expect, test } from 'vitest';
import { RawJson, stringifyWithRawJson } from '../../../src/core/text/raw-json.ts';

const raw = (text: string) => new RawJson(text);

test('the text of each raw value is sent unchanged, wherever it is', () => {
  expect(stringifyWithRawJson(raw('{ "a": 1.0 }'))).toBe('{ "a": 1.0 }');
  expect(stringifyWithRawJson({ a: 1, b: [raw('1e3'), 'text', raw('"\\u0041"')], c: { d: raw(' null ') } })).toBe(
    '{"a":1,"b":[1e3,"text","\\u0041"],"c":{"d": null }}',
  );
});

test('a value without raw parts is serialized as usual', () => {
  expect(stringifyWithRawJson({ a: [1, 'b', null] })).toBe('{"a":[1,"b",null]}');
});

test('outside of an answer, raw JSON is serialized as the value that it contains', () => {
  expect(JSON.stringify({ a: raw('{ "b": 1.0 }') })).toBe('{"a":{"b":1}}');
  // Also after a failure.
  expect(() => stringifyWithRawJson([raw('1.0'), 1n])).toThrow(TypeError);
  expect(JSON.stringify({ a: raw('1.0') })).toBe('{"a":1}');
});
