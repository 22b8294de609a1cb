import { expect, test } from 'vitest';
import { z } from 'zod';
import { momentInput } from '../../../src/core/input/moments.ts';
import { parseInput, toValidationError } from '../../../src/core/input/validation.ts';

const FORM =
  'must be an ISO 8601 date and time with an offset, such as 2026-03-01T10:20:30.500Z, or a UNIX timestamp in milliseconds';
const YEARS = 'must be between the years 1 and 9999';

test.each([
  ['2026-03-01T10:20:30.500Z', '2026-03-01T10:20:30.500Z'],
  ['2026-03-01T10:20:30.123456+05:30', '2026-03-01T04:50:30.123Z'],
  [1_772_360_430_500, '2026-03-01T10:20:30.500Z'],
  ['1772360430500', '2026-03-01T10:20:30.500Z'],
  ['-1', '1969-12-31T23:59:59.999Z'],
  [0, '1970-01-01T00:00:00.000Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  [253_402_300_799_999, '9999-12-31T23:59:59.999Z'],
])('%j is %s', (value, expected) => {
  expect(parseInput(momentInput(), value)).toBe(expected);
});

test.each([
  ['2026-03-01T10:20:30', 'BAD_FORMAT', FORM],
  ['2026-03-01T10:20Z', 'BAD_FORMAT', FORM],
  ['2026-03-01', 'BAD_FORMAT', FORM],
  ['2026-02-30T00:00:00Z', 'BAD_FORMAT', FORM],
  ['', 'BAD_FORMAT', FORM],
  ['1.5', 'BAD_FORMAT', FORM],
  ['1e3', 'BAD_FORMAT', FORM],
  ['a1', 'BAD_FORMAT', FORM],
  [1.5, 'BAD_FORMAT', FORM],
  [1_000_000_000_000_000, 'BAD_FORMAT', FORM],
  [Number.NaN, 'NOT_ALLOWED', FORM],
  [true, 'NOT_ALLOWED', FORM],
  ['0000-12-31T23:59:59Z', 'NOT_ALLOWED', YEARS],
  [-62_135_596_800_001, 'NOT_ALLOWED', YEARS],
  [253_402_300_800_000, 'NOT_ALLOWED', YEARS],
  [-62_167_219_200_001, 'NOT_ALLOWED', YEARS],
  [327_403_382_400_000, 'NOT_ALLOWED', YEARS],
  [999_999_999_999_999, 'NOT_ALLOWED', YEARS],
])('%j is refused', (value, code, message) => {
  const result = momentInput().safeParse(value, { reportInput: true });
  expect(toValidationError(result.error?.issues ?? []).faults).toEqual([expect.objectContaining({ code, message })]);
});

test('the schema for clients lists the three forms', () => {
  expect(z.toJSONSchema(momentInput(), { io: 'input' })).toEqual(
    expect.objectContaining({
      anyOf: [
        { type: 'string', format: 'date-time' },
        { type: 'string', pattern: String.raw`^-?\d{1,15}$` },
        { type: 'integer', format: 'int64' },
      ],
    }),
  );
});
