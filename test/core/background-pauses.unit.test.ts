import { performance } from 'node:perf_hooks';
import { afterEach, expect, test, vi } from 'vitest';
import { createPauses } from '../../src/core/background-loop.ts';

afterEach(() => vi.restoreAllMocks());

test('background work rests the longer the busier the process was during its last rest', async () => {
  const rests: number[] = [];
  const rest = createPauses(async (ms) => void rests.push(ms));
  let utilization = 0;
  vi.spyOn(performance, 'eventLoopUtilization').mockImplementation(() => ({ idle: 0, active: 0, utilization }));
  for (utilization of [0, 0.125, 0.5, 1, 0, 0]) await rest(utilization === 1 ? 2000 : 100);
  expect(rests).toEqual([5, 5, 1000, 20_000, 2000, 5]);
});
