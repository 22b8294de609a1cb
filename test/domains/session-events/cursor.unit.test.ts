import { expect, test } from 'vitest';
import { cursorId, cursorSchema, idOf } from '../../../src/domains/session-events/cursor.ts';

test('a cursor is the id of an event; ids larger than any stored one are the same', () => {
  expect([cursorId('0', 'after'), cursorId('0042', 'after')]).toEqual([0, 42]);
  expect(cursorId('9007199254740992', 'after')).toBe(9_007_199_254_740_991);
  expect(idOf('9'.repeat(400))).toBe(9_007_199_254_740_991);
});

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
