import { expect, test } from 'vitest';
import { Backlog } from '../../src/core/backlog.ts';

/** A backlog, and runs that end when they are told to. */
function create() {
  const backlog = new Backlog<string>();
  const runs: { end(): void; fail(): void }[] = [];
  const finish = (id: string) =>
    backlog.finish(id, async () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      runs.push({ end: resolve, fail: () => reject(new Error('away')) });
      return promise;
    });
  return { backlog, runs, finish };
}

test('who asks for what another one does already waits for it', async () => {
  const { backlog, runs, finish } = create();
  backlog.add('a', 3);
  const both = Promise.all([finish('a'), finish('a')]);
  runs[0]?.end();
  await both;
  expect(runs.length).toBe(1);
  expect(backlog.leftOf('a')).toBe(0);
});

test('what is added meanwhile is not what another one does', async () => {
  const { backlog, runs, finish } = create();
  backlog.add('a', 3);
  const first = finish('a');
  backlog.add('a', 2);
  const second = finish('a');
  expect(runs.length).toBe(2);
  runs[0]?.end();
  await first;
  expect(backlog.leftOf('a')).toBe(2);
  runs[1]?.end();
  await second;
  expect(backlog.leftOf('a')).toBe(0);
});

test('after an error the work is left, and others are next', async () => {
  const { backlog, runs, finish } = create();
  backlog.add('a', 3);
  backlog.add('b', 1);
  const failed = finish('a');
  runs[0]?.fail();
  await expect(failed).rejects.toThrow('away');
  expect(backlog.leftOf('a')).toBe(3);
  expect(backlog.next).toBe('b');
});

test('who has waited for one that fails does it, and has only an error of its own', async () => {
  const { backlog, runs, finish } = create();
  backlog.add('a', 3);
  const all = Promise.allSettled([finish('a'), finish('a'), finish('a')]);
  runs[0]?.fail();
  while (runs.length < 2) await Promise.resolve();
  runs[1]?.end();
  expect((await all).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(runs.length).toBe(2);
  expect(backlog.leftOf('a')).toBe(0);
});
