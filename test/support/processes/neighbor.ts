import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';

const ASK_EVERY_MS = 20;

/** The longest latency of a small query of somebody else that is sent every 20 ms during `work`. */
export async function worstWaitBeside(ask: () => Promise<number>, work: () => Promise<unknown>): Promise<number> {
  const waits: Promise<number>[] = [];
  const statuses = new Set<number>();
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const began = performance.now();
      waits.push(
        ask().then((status) => {
          statuses.add(status);
          return performance.now() - began;
        }),
      );
      await delay(ASK_EVERY_MS);
    }
  })();
  try {
    await work();
  } finally {
    isOver = true;
    await asking;
  }
  const worst = Math.round(Math.max(...(await Promise.all(waits))));
  expect([...statuses]).toEqual([200]);
  return worst;
}
