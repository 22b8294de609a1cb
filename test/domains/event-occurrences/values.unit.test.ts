import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PropertyType } from '../../../src/domains/event-definitions/property-types.ts';
import { checkValue } from '../../../src/domains/event-occurrences/property-values.ts';

function check(type: PropertyType, value: unknown, name = 'price') {
  const options = [{ value: 'red' }, { value: 'GREEN' }, { value: '1' }, { value: 'true' }];
  return checkValue({ name, type, options: type === 'enumeration' ? options : [] }, value);
}

const refused = (message: string, code: string, limit?: number) => ({ fault: { code, message, limit } });

describe('the values that each property type accepts, and how they are stored', () => {
  test.for<[PropertyType, unknown, unknown]>([
    ['bool', true, true],
    ['bool', false, false],
    ['bool', 'true', true],
    ['bool', 'false', false],
    ['bool', 'True', true],
    ['bool', 'FALSE', false],
    ['number', 0, 0],
    ['number', -0, 0],
    ['number', -12, -12],
    ['number', 12.5, 12.5],
    ['number', 8.2, 8.2],
    ['number', '12.5', 12.5],
    ['number', '-0.3', -0.3],
    ['number', '-0000012345678901234.5', -12345678901234.5],
    ['number', '0000012345678901234.5', 12345678901234.5],
    ['number', 1e3, 1000],
    ['number', 99999999999999.9, 99999999999999.9],
    ['date', '2026-03-01', '2026-03-01'],
    ['date', '2024-02-29', '2024-02-29'],
    ['date', '2026-03-01T00:00:00.000Z', '2026-03-01'],
    ['date', '2026-03-01T00:00Z', '2026-03-01'],
    ['date', '2026-03-01T02:00:00+02:00', '2026-03-01'],
    ['date', Date.UTC(2026, 2, 1), '2026-03-01'],
    ['date', String(Date.UTC(2026, 2, 1)), '2026-03-01'],
    ['date', -86_400_000, '1969-12-31'],
    ['datetime', '2026-03-01T10:20:30.5Z', '2026-03-01T10:20:30.500Z'],
    ['datetime', '2026-03-01T10:20:30+05:30', '2026-03-01T04:50:30.000Z'],
    ['datetime', '2026-03-01', '2026-03-01T00:00:00.000Z'],
    ['datetime', '0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['datetime', 1_772_360_430_500, '2026-03-01T10:20:30.500Z'],
    ['datetime', '1772360430500', '2026-03-01T10:20:30.500Z'],
    ['enumeration', 'red', 'red'],
    ['enumeration', '1', '1'],
    ['enumeration', 1, '1'],
    ['enumeration', true, 'true'],
    ['string', '', ''],
    ['string', '12', '12'],
    ['string', 12.25, '12.25'],
    ['string', false, 'false'],
    ['string', 'x'.repeat(256), 'x'.repeat(256)],
    ['string', '😀'.repeat(256), '😀'.repeat(256)],
  ])('%s accepts %j', ([type, given, stored]) => {
    expect(check(type, given)).toEqual({ value: stored });
  });

  const NUMBER = 'must be a number with at most one decimal and 15 digits';
  const DATE = 'must be a day as YYYY-MM-DD, or midnight UTC as an ISO 8601 time or a UNIX timestamp in milliseconds';
  const DATETIME = 'must be an ISO 8601 time with Z or an offset, or a UNIX timestamp in milliseconds';
  const OPTION = 'must be one of "red", "GREEN", "1", "true"';
  test.for<[PropertyType, string, readonly unknown[], string, number?]>([
    ['bool', 'must be true or false', ['t', 'yes', 0, 1, '', {}, []], 'WRONG_TYPE'],
    ['number', NUMBER, ['1e3', '', ' 1', '+1', '.5', '5.', 1e21, Number.NaN, true, [1], {}], 'BAD_FORMAT'],
    ['number', `${NUMBER}; round it, or use a string property`, [0.25, 0.1 + 0.2, '12.50'], 'BAD_FORMAT'],
    ['number', NUMBER, ['1234567890123456', 1234567890123456, Number.POSITIVE_INFINITY], 'BAD_FORMAT'],
    [
      'date',
      DATE,
      ['2026-02-30', '2026-3-1', '2026-03-01T00:00:01Z', '2026-03-01T00:00:00+01:00', 1, '', true, {}],
      'BAD_FORMAT',
    ],
    ['date', DATE, ['2026-03-01T00:00:00', '2026-13-01', '01.03.2026', 8.64e15, Number.NaN], 'BAD_FORMAT'],
    [
      'datetime',
      DATETIME,
      ['2026-03-01T10:20:30', '2026-03-01 10:20:30Z', '2026-02-30T10:20:30Z', '2026-03-01T24:00:00Z'],
      'BAD_FORMAT',
    ],
    ['datetime', DATETIME, [1.5, 8.64e15, '0000-01-01T00:00:00Z', 'now', null, []], 'BAD_FORMAT'],
    ['enumeration', OPTION, ['green', 'Red', 2, '', false, Number.NaN], 'NOT_ALLOWED'],
    ['string', 'must be a string', [Number.NaN, {}, []], 'WRONG_TYPE'],
    [
      'string',
      'must be at most 256 characters',
      ['x'.repeat(257), '😀'.repeat(257), `${'x'.repeat(256)}😀`],
      'TOO_LONG',
      256,
    ],
    ['string', 'must be well-formed text without NUL characters', ['a\0b', '\uD800'], 'BAD_FORMAT'],
  ])('%s refuses values, because it %s', ([type, fault, values, code, limit]) => {
    expect(values.map((value) => check(type, value))).toEqual(values.map(() => refused(fault, code, limit)));
  });

  test.for(['page_url', 'referrer', 'my_link_href', 'curl'])(
    'a string property named %s accepts 1,024 characters',
    (name) => {
      expect(check('string', 'x'.repeat(1024), name)).toEqual({ value: 'x'.repeat(1024) });
      expect(check('string', 'x'.repeat(1025), name)).toEqual(
        refused('must be at most 1024 characters', 'TOO_LONG', 1024),
      );
    },
  );

  test('the message for an enumeration with thousands of options lists only ten', () => {
    const ten = 'must be one of "o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o9"';
    const checked = (length: number) => {
      const options = Array.from({ length }, (_, index) => ({ value: `o${index}` }));
      return checkValue({ name: 'n', type: 'enumeration', options }, 'x');
    };
    expect(checked(10)).toEqual(refused(ten, 'NOT_ALLOWED'));
    expect(checked(5000)).toEqual(refused(`${ten} and 4990 more`, 'NOT_ALLOWED'));
  });
});

test('every number with one decimal is accepted as a number and as text, and is stored exactly', () => {
  const tenths = fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 });
  fc.assert(
    fc.property(tenths, (count) => {
      const value = count / 10;
      expect(check('number', value)).toEqual({ value });
      expect(check('number', String(value))).toEqual({ value });
    }),
  );
});

test('every time is stored to the millisecond, in each accepted format', () => {
  const moments = fc.date({
    min: new Date('0001-01-01T00:00:00.000Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(moments, (moment) => {
      const stored = { value: moment.toISOString() };
      expect(check('datetime', moment.toISOString())).toEqual(stored);
      expect(check('datetime', moment.getTime())).toEqual(stored);
      expect(check('datetime', String(moment.getTime()))).toEqual(stored);
    }),
  );
});

test('no value makes the check throw, and an accepted value is stored in a form that is accepted again unchanged', () => {
  const types = fc.constantFrom<PropertyType>('bool', 'date', 'datetime', 'enumeration', 'number', 'string');
  fc.assert(
    fc.property(types, fc.anything({ withNullPrototype: true }), (type, value) => {
      const result = check(type, value);
      expect('value' in result ? check(type, result.value) : result).toEqual(result);
    }),
  );
});

test('an enumeration looks at each of its options once, however many values are checked', () => {
  let looks = 0;
  const options = Array.from({ length: 5_000 }, (_, index) => ({
    get value() {
      looks += 1;
      return `option ${index}`;
    },
  }));
  const property = { name: 'plan', type: 'enumeration', options } as const;
  for (let index = 0; index < 5_000; index += 1) {
    expect(checkValue(property, `option ${index}`)).toEqual({ value: `option ${index}` });
    expect(checkValue(property, `unknown ${index}`)).toHaveProperty('fault');
  }
  // A message names the first ten options.
  expect(looks).toBe(5_000 + 5_000 * 10);
});
