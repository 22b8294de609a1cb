import { performance } from 'node:perf_hooks';
import { afterEach, expect, test, vi } from 'vitest';
import { createPauses } from '../../src/core/background-loop.ts';

afterEach(() => vi.restoreAllMocks());

/** How long background work that took so long rests, in a process that is so busy in each step of its rest; the last one stays. */
async function restAfter(workedMs: number, utilizations: readonly number[]): Promise<number> {
  let step = 0;
  vi.spyOn(performance, 'eventLoopUtilization').mockImplementation(() => ({
    idle: 0,
    active: 0,
    utilization: utilizations[Math.min(step, utilizations.length) - 1] ?? 0,
  }));
  let rested = 0;
  const rest = createPauses(async (ms) => {
    step += 1;
    rested += ms;
  });
  await rest(workedMs);
  return rested;
}

test('background work rests the longer the busier the process is meanwhile', async () => {
  expect(await restAfter(100, [0])).toBe(5);
  expect(await restAfter(100, [0.125])).toBe(1000);
  expect(await restAfter(100, [0.5])).toBe(2000);
  expect(await restAfter(2000, [1])).toBe(20_000);
});

test('a rest ends when the process is no longer busy', async () => {
  expect(await restAfter(2000, [1, 1, 0])).toBe(1005);
});

test('a rest begins with what the last one has found', async () => {
  vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue({ idle: 0, active: 0, utilization: 1 });
  const steps: number[] = [];
  const rest = createPauses(async (ms) => void steps.push(ms));
  await rest(10);
  await rest(10);
  expect(steps).toEqual([5, 195, 200]);
});
