import pg from 'pg';
import { expect, test } from 'vitest';
import { WIRE_TYPES, toIso } from '../../../../src/core/postgres/driver/wire-types.ts';

test.for([
  ['2026-03-01 10:20:30+00', '2026-03-01T10:20:30.000Z'],
  ['2026-03-01 10:20:30.5+00', '2026-03-01T10:20:30.500Z'],
  ['2026-03-01 10:20:30.123456+00', '2026-03-01T10:20:30.123Z'],
  ['2026-03-01T10:20:30.5+00:00', '2026-03-01T10:20:30.500Z'],
  // A session may have another time zone, for example behind a pooler.
  ['2026-03-01 15:50:30.5+05:30', '2026-03-01T10:20:30.500Z'],
  ['2026-03-01T15:50:30.5+05:30', '2026-03-01T10:20:30.500Z'],
  ['2026-02-28 23:30:00-03', '2026-03-01T02:30:00.000Z'],
  ['2026-02-28 23:30:00.25-03:30', '2026-03-01T03:00:00.250Z'],
  ['1850-01-01 05:53:28+05:53:28', '1850-01-01T00:00:00.000Z'],
] as const)('%s is %s', ([text, expected]) => {
  expect(toIso(text)).toBe(expected);
});

test('integers are numbers, times and dates are text, and other types are parsed by the driver', () => {
  const { INT4, INT8, JSON: JSON_TYPE, JSONB, TIMESTAMPTZ, DATE, BOOL } = pg.types.builtins;
  const parsed = (type: number, text: string) => WIRE_TYPES.getTypeParser(type)(text);
  expect(parsed(INT4, '-7')).toBe(-7);
  for (const json of [JSON_TYPE, JSONB]) {
    expect(parsed(json, '[]')).toEqual([]);
    expect(parsed(json, '[]')).not.toBe(parsed(json, '[]'));
    expect(parsed(json, '[{"a": null}]')).toEqual([{ a: null }]);
    expect(parsed(json, 'null')).toBeNull();
  }
  expect(parsed(INT8, '9007199254740991')).toBe(9_007_199_254_740_991);
  expect(parsed(TIMESTAMPTZ, '2026-03-01 10:20:30+00')).toBe('2026-03-01T10:20:30.000Z');
  expect(parsed(DATE, '2026-03-01')).toBe('2026-03-01');
  expect(parsed(BOOL, 't')).toBe(true);
});
