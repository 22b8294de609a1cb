import { expect, test } from 'vitest';
import { causesOf } from '../../src/core/errors.ts';

test('an error and its causes are listed from the outermost, up to five', () => {
  const chain = (length: number): unknown =>
    length === 0 ? 'not an error' : new Error(`${length}`, { cause: chain(length - 1) });
  const messages = (error: unknown) => causesOf(error).map(({ message }) => message);
  expect(messages(chain(2))).toEqual(['2', '1']);
  expect(messages(chain(7))).toEqual(['7', '6', '5', '4', '3']);
  expect(messages('not an error')).toEqual([]);
});
