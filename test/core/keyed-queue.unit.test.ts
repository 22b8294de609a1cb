import { setImmediate } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import { expect, test } from 'vitest';
import { createKeyedQueue } from '../../src/core/concurrency.ts';

const WAIT_MS = 30_000;
const range = (count: number) => Array.from({ length: count }, (_, index) => index);

test('callers with the same name run one at a time and in order; callers with another name do not wait', async () => {
  const queue = createKeyedQueue();
  const seen: string[] = [];
  await Promise.all(
    range(50).map(async (index) => {
      const end = await queue.take(index % 2 === 0 ? 'even' : 'odd', WAIT_MS);
      seen.push(`${index} begins`);
      // Later callers have less to do, so without a queue they would end first.
      for (let steps = 50 - index; steps > 0; steps -= 1) await setImmediate();
      seen.push(`${index} ends`);
      end?.();
    }),
  );
  for (const half of [0, 1]) {
    const own = seen.filter((line) => Number.parseInt(line, 10) % 2 === half);
    const inOrder = range(25).flatMap((place) => [`${place * 2 + half} begins`, `${place * 2 + half} ends`]);
    expect(own).toEqual(inOrder);
  }
  expect(seen.slice(0, 2)).toEqual(['0 begins', '1 begins']);
});

test('a caller whose wait times out gets no lock, and the callers behind it are not affected', async () => {
  const queue = createKeyedQueue();
  const first = await queue.take('one', WAIT_MS);
  const impatient = queue.take('one', 0);
  const patient = queue.take('one', WAIT_MS);
  expect(await impatient).toBeUndefined();
  const order: string[] = [];
  const later = patient.then((end) => {
    order.push('patient');
    end?.();
  });
  order.push('first');
  first?.();
  await later;
  expect(order).toEqual(['first', 'patient']);
  expect(await queue.take('one', 0)).toBeInstanceOf(Function);
});

test('a release lets only the next caller run', async () => {
  const queue = createKeyedQueue();
  const first = await queue.take('one', WAIT_MS);
  const next = queue.take('one', WAIT_MS);
  first?.();
  const second = await next;
  expect(await queue.take('one', 0)).toBeUndefined();
  second?.();
  expect(await queue.take('one', WAIT_MS)).toBeInstanceOf(Function);
});

test('a caller that was served in time leaves no timer that keeps the process alive', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const queue = createKeyedQueue();
  const before = timers();
  const all = range(100).map(async () => (await queue.take('one', WAIT_MS))?.());
  expect(timers()).toBeGreaterThan(before + 50);
  await Promise.all(all);
  expect(timers()).toBeLessThan(before + 50);
});

test('a name without waiting callers takes no memory', async () => {
  // queryObjects collects garbage before it counts.
  const promises = () => queryObjects(Promise, { format: 'count' });
  const queue = createKeyedQueue();
  const before = promises();
  for (const index of range(1_000)) (await queue.take(`name ${index}`, WAIT_MS))?.();
  await setImmediate();
  expect(promises()).toBeLessThan(before + 500);
  expect(await queue.take('name 0', WAIT_MS)).toBeInstanceOf(Function);
});
