import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { startLoop } from '../../src/core/background-loop.ts';

const onError = (error: unknown) => expect.unreachable(String(error));

test('a pause leaves nothing behind', async () => {
  const { promise: seen, resolve } = Promise.withResolvers<number>();
  let runs = 0;
  const loop = startLoop(
    async (signal) => {
      runs += 1;
      if (runs === 20) resolve(getEventListeners(signal, 'abort').length);
      return 0;
    },
    { pauseMs: 1, onError },
  );
  expect(await seen).toBe(0);
  await loop.stop();
});

test('a loop that is woken while it runs or pauses runs again', async () => {
  const runs: (() => void)[] = [];
  const loop = startLoop(() => new Promise((resolve) => runs.push(() => resolve(0))), { pauseMs: 3_600_000, onError });
  for (let count = 1; count <= 3; count += 1) {
    await expect.poll(() => runs.length).toBe(count);
    if (count === 2) loop.wake();
    runs.at(-1)?.();
    if (count === 1) await new Promise(setImmediate);
    if (count === 1) loop.wake();
  }
  await loop.stop();
});

test('a loop that is stopped while it runs does not pause again', async () => {
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  const { promise: work, resolve: finish } = Promise.withResolvers<number>();
  const run = () => {
    start();
    return work;
  };
  const loop = startLoop(run, { pauseMs: 3_600_000, onError });
  await started;
  const stopped = loop.stop();
  finish(0);
  expect(await stopped).toBeUndefined();
});
