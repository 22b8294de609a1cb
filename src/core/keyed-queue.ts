import { settlesWithin } from './settles-within.ts';

/** A mutex per name within this process, in order of arrival. */
export interface KeyedQueue {
  /** Resolves to a function that releases the mutex, once all earlier holders have released it; undefined after `waitMs`. */
  take(name: string, waitMs: number): Promise<(() => void) | undefined>;
}

export function createKeyedQueue(): KeyedQueue {
  /** The completion of the last caller in each queue. */
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
