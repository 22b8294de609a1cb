import { expect, test } from 'vitest';
import { recent } from '../../../src/gateway/health-pages.ts';

test('a result is reused until it is a second old', async () => {
  let now = 0;
  let found = 0;
  const ask = recent(async () => (found += 1), { maxAgeMs: 1000, clock: () => now });
  expect(await ask()).toBe(1);
  now = 999;
  expect(await ask()).toBe(1);
  now = 1000;
  expect(await ask()).toBe(2);
});

test('concurrent callers wait for the same result, and its age counts from the start of the call', async () => {
  let now = 0;
  const waiting: ((value: string) => void)[] = [];
  const ask = recent(() => new Promise<string>((resolve) => waiting.push(resolve)), {
    maxAgeMs: 1000,
    clock: () => now,
  });
  const asked = [ask(), ask()];
  now = 1500;
  asked.push(ask());
  expect(waiting).toHaveLength(1);
  waiting[0]?.('first');
  expect(await Promise.all(asked)).toEqual(['first', 'first', 'first']);
  const later = ask();
  waiting[1]?.('second');
  expect(await later).toBe('second');
});

test('a failure reaches every waiting caller and no later one', async () => {
  let times = 0;
  const ask = recent(
    async () => {
      times += 1;
      if (times === 1) throw new Error('away');
      return 'back';
    },
    { maxAgeMs: 1000, clock: () => 0 },
  );
  const failed = await Promise.allSettled([ask(), ask()]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await ask()).toBe('back');
});
