import { performance } from 'node:perf_hooks';
import { pause } from './background-loop.ts';

/** In a busy process background work pauses so many times as long as it has worked. */
const PAUSE_PER_WORK = 20;
/** A process that uses this share of its time is busy. */
const BUSY = 1 / 4;
const MIN_PAUSE_MS = 5;
const MAX_PAUSE_MS = 20_000;

/** Waits after some work. */
export type PauseAfter = (workedMs: number, signal?: AbortSignal) => Promise<void>;

/**
 * Pauses for background work that shares its process with requests: the busier the process was during the last pause, the longer the next one
 * is, so that requests are hardly slower. An idle process works almost without pauses.
 */
export function createPauses(wait = pause): PauseAfter {
  let utilization = 0;
  return async (workedMs, signal) => {
    const before = performance.eventLoopUtilization();
    await wait(
      Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, workedMs * PAUSE_PER_WORK * Math.min(1, utilization / BUSY))),
      signal,
    );
    ({ utilization } = performance.eventLoopUtilization(before));
  };
}
