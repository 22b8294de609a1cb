import { expect, test } from 'vitest';
import { DAY_MS, isRepresentable, toIsoString } from '../../../src/core/text/timestamps.ts';

test('a time is written in ISO 8601, whether it is that of an entity or of a row', () => {
  const text = '2026-03-01T10:20:30.500Z';
  expect([toIsoString(new Date(text)), toIsoString(text)]).toEqual([text, text]);
  expect(DAY_MS).toBe(24 * 60 * 60 * 1000);
});

test('the years 1 to 9999 can be represented', () => {
  const [first, last] = ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'].map((text) => Date.parse(text));
  expect([first, 0, last].map((time) => isRepresentable(time ?? NaN))).toEqual([true, true, true]);
  expect([(first ?? 0) - 1, (last ?? 0) + 1, NaN].map(isRepresentable)).toEqual([false, false, false]);
});
