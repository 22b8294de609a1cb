import { setTimeout as delay } from 'node:timers/promises';

/** Work that follows the database: it runs again and again in a process, with a pause when there is nothing to do. */
export interface BackgroundLoop {
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
  const running = (async () => {
    while (!signal.aborted) {
      const found = await run(signal).catch((error: unknown) => {
        onError(error);
        return 0;
      });
      if (found === 0) await pause(pauseMs, signal);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Waits, or until the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => undefined);
}
