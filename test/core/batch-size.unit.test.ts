import { expect, test } from 'vitest';
import { BatchSize, WORK } from '../../src/core/work-budget.ts';

test('batches follow what the last one took: slow ones shrink at once, fast ones at most double, both within bounds', async () => {
  let clock = 0;
  const batch = new BatchSize(1000, () => clock);
  const takes = (times: number) =>
    batch.measure(async (size) => {
      clock += WORK.batchMs * times;
      return size;
    });
  const sizes: number[] = [];
  for (const times of [1, 0.5, 0, 0, 0, 0.9, 4, 0.8, 100, 100, 0.25, 1]) sizes.push(await takes(times));
  expect(sizes).toEqual([100, 100, 200, 400, 800, 1000, 1000, 250, 313, 50, 50, 100]);
});
