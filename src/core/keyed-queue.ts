import { setTimeout as delay } from 'node:timers/promises';

/** Lets one after the other do what has the same name, in this process, in the order in which they come. */
export interface KeyedQueue {
  /** Resolves when all before have ended, with the function that ends this one; undefined when that takes longer than `waitMs`. */
  take(name: string, waitMs: number): Promise<(() => void) | undefined>;
}

export function createKeyedQueue(): KeyedQueue {
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
