import { expect, test } from 'vitest';
import { cursorId, cursorSchema, idOf } from '../../../src/domains/session-events/cursor.ts';

test('a cursor is the id of an event; ids that JavaScript cannot represent are larger than any stored one', () => {
  expect([cursorId('0', 'after'), cursorId('0042', 'after')]).toEqual([0, 42]);
  expect(cursorId('9007199254740992', 'after')).toBe(9_007_199_254_740_991);
  expect(idOf('9223372036854775807')).toBe(9_007_199_254_740_991);
});

test.each(['9223372036854775808', '9999999999999999999', '10000000000000000000', '0'.repeat(9) + '9'.repeat(400)])(
  '%s is larger than an id can be, and the fault names the bound',
  (cursor) => {
    const message = 'must be at most 9223372036854775807';
    expect(() => cursorId(cursor, 'before')).toThrow(
      expect.objectContaining({ faults: [{ path: ['before'], code: 'TOO_LARGE', message }] }),
    );
    expect(cursorSchema.safeParse(cursor).error?.issues).toEqual([expect.objectContaining({ message })]);
    expect(cursorSchema.safeParse('0'.repeat(400) + '9223372036854775807').success).toBe(true);
  },
);

test.each([null, undefined])('no cursor is %s', (cursor) => {
  expect(cursorId(cursor, 'after')).toBeNull();
});

test.each(['', '-1', '1.5', '1e3', ' 1', 'x1', '1x', '１'])(
  '%j is not a cursor, and the fault names its argument',
  (cursor) => {
    const message = 'must be the id of an event, in decimal digits';
    expect(() => cursorId(cursor, 'before')).toThrow(
      expect.objectContaining({ faults: [{ path: ['before'], code: 'BAD_FORMAT', message }] }),
    );
    expect(cursorSchema.safeParse(cursor).error?.issues).toEqual([expect.objectContaining({ message })]);
  },
);
