import { expect, test } from 'vitest';
import { wholePercents } from '../../src/console/parts/amounts.ts';

test.each([
  [[6, 2, 2, 6], 16, [38, 13, 12, 37]],
  [[1, 1, 1], 3, [34, 33, 33]],
  [[1, 1], 3, [34, 33]],
  [[0, 5], 5, [0, 100]],
  [[0, 0], 0, [0, 0]],
])('%j of %i are %j percent, which add up', (counts, total, percents) => {
  expect(wholePercents(counts, total)).toEqual(percents);
});
