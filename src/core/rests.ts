import { performance } from 'node:perf_hooks';
import { pause } from './background-loop.ts';

/** So many times as long as it has worked, background work rests in a busy process. */
const RESTS_PER_WORK = 20;
/** A process that uses this share of its time is busy. */
const BUSY = 1 / 4;
const MIN_REST_MS = 5;
const MAX_REST_MS = 20_000;

/** Waits after some work. */
export type Rest = (workedMs: number, signal?: AbortSignal) => Promise<void>;

/**
 * Rests for background work that shares its process with requests: the busier the process was during the last rest, the longer the next one
 * is, so that requests are hardly slower. An idle process works almost without rests.
 */
export function createRests(wait = pause): Rest {
  let utilization = 0;
  return async (workedMs, signal) => {
    const before = performance.eventLoopUtilization();
    await wait(
      Math.min(MAX_REST_MS, Math.max(MIN_REST_MS, workedMs * RESTS_PER_WORK * Math.min(1, utilization / BUSY))),
      signal,
    );
    ({ utilization } = performance.eventLoopUtilization(before));
  };
}
