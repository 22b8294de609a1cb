import { expect, test } from 'vitest';
import { shortened, shortenedJson } from '../../../src/core/answer-size.ts';

const document = { id: 1, long: 'ä'.repeat(50), longer: 'x'.repeat(200), list: [1, 2, 3] };

test('the largest members become null until the document fits', () => {
  expect(shortened(document, 200)).toEqual({ ...document, longer: null });
  expect(shortened(document, 60)).toEqual({ ...document, longer: null, long: null });
  expect(shortened(document, 1_000)).toEqual(document);
});

test('the JSON of a document that fits, and of anything else than an object, is unchanged', () => {
  expect(shortenedJson(document, Infinity)).toBe(JSON.stringify(document));
  expect(shortenedJson(document, 200)).toBe(JSON.stringify({ ...document, longer: null }));
  expect(shortenedJson([document], 10)).toBe(JSON.stringify([document]));
});
