import { setTimeout as delay } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';

/** Work that follows the database: it runs again and again in a process, with a pause when there is nothing to do. */
export interface BackgroundLoop {
  /** Ends a pause: there is something to do. */
  wake(): void;
  /** Ends at the next safe point. */
  stop(): Promise<void>;
}

/** @param run returns how much it has found; 0 begins a pause. An error is reported, and is followed by a pause too. */
export function startLoop(
  run: (signal: AbortSignal) => Promise<number>,
  { pauseMs, onError }: { readonly pauseMs: number; readonly onError: (error: unknown) => void },
): BackgroundLoop {
  const stopping = new AbortController();
  const { signal } = stopping;
  let waking = new AbortController();
  const running = (async () => {
    while (!signal.aborted) {
      waking = new AbortController();
      const found = await run(signal).catch((error: unknown) => {
        onError(error);
        return 0;
      });
      if (found === 0 && !signal.aborted) await pause(pauseMs, waking.signal);
    }
  })();
  return {
    wake: () => waking.abort(),
    async stop() {
      stopping.abort();
      waking.abort();
      await running;
    },
  };
}

/** Waits, or until the signal aborts. */
async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => undefined);
}

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
