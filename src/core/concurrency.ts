import type { WhileWaiting } from './request-slot.ts';
import { SweptMap } from './swept-map.ts';

/** Runs at most `max` pieces of work at the same time. The others wait, and start in their order. */
export class Concurrency {
  readonly #max: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #onEnd: (() => void) | undefined;

  /** `onEnd` is called after each piece. */
  constructor(max: number, onEnd?: () => void) {
    this.#max = max;
    this.#onEnd = onEnd;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#max) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      return await work();
    } finally {
      this.#onEnd?.();
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

/** Whether a promise settles within this time. Rejects if the promise does so first. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise: tooLate, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, false);
  try {
    return await Promise.race([promise.then(() => true), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** A mutex per name within this process, in order of arrival. */
export interface KeyedQueue {
  /**
   * Resolves to a function that releases the mutex, once all earlier holders have released it; undefined after `waitMs`. A wait runs in
   * `whileWaiting`.
   */
  take(name: string, waitMs: number, whileWaiting?: WhileWaiting): Promise<(() => void) | undefined>;
}

export function createKeyedQueue(): KeyedQueue {
  /** The completion of the last caller in each queue. */
  const tails = new SweptMap<Promise<unknown>>();
  return {
    async take(name, waitMs, whileWaiting = (work) => work()) {
      const before = tails.get(name);
      const { promise, resolve: end } = Promise.withResolvers<void>();
      const tail = Promise.all([before, promise]).then(() => {
        if (tails.get(name) === tail) tails.delete(name);
      });
      tails.set(name, tail);
      if (!before || (await whileWaiting(() => settlesWithin(before, waitMs)))) return end;
      end();
      return undefined;
    },
  };
}

/** Options of a `DataLoader` that collects what is asked for in one iteration of the event loop, and sends it after the last of it has arrived. */
export const BATCH_PER_TICK = { cache: false, batchScheduleFn: (send: () => void) => void setImmediate(send) };
