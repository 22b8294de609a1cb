import { expect, test } from 'vitest';
import { recent } from '../../../src/gateway/http/recent.ts';

test('what is at most a second old is not looked for again; older is', async () => {
  let now = 0;
  let found = 0;
  const ask = recent(async () => (found += 1), { maxAgeMs: 1000, clock: () => now });
  expect(await ask()).toBe(1);
  now = 999;
  expect(await ask()).toBe(1);
  now = 1000;
  expect(await ask()).toBe(2);
});

test('whoever asks while it is looked for waits for the same, and its age counts from the beginning', async () => {
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

test('a failure reaches everyone who waits for it, and nobody else', async () => {
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
