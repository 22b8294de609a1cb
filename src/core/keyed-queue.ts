import { setTimeout as delay } from 'node:timers/promises';

/** Lets one after the other do what has the same name, in this process, in the order in which they come. */
export interface Turns {
  /** Resolves when it is this one's turn, with how to end that; undefined when it does not come within `waitMs`. */
  take(name: string, waitMs: number): Promise<(() => void) | undefined>;
}

export function createTurns(): Turns {
  /** When the last one that asked, and all before it, will be done. */
  const tails = new Map<string, Promise<unknown>>();
  return {
    async take(name, waitMs) {
      const before = tails.get(name);
      const { promise, resolve: end } = Promise.withResolvers<void>();
      const tail = Promise.all([before, promise]).then(() => {
        if (tails.get(name) === tail) tails.delete(name);
      });
      tails.set(name, tail);
      if (!before || (await settlesWithin(before, waitMs))) return end;
      end();
      return undefined;
    },
  };
}

async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController();
  const tooLate = delay(ms, false, { signal: timer.signal }).catch(() => false);
  try {
    return await Promise.race([promise.then(() => true), tooLate]);
  } finally {
    timer.abort();
  }
}
