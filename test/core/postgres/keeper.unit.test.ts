import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { keepServer } from '../../../src/core/postgres/embedded/keeper.ts';
import type { SupervisedProcess } from '../../../src/core/postgres/embedded/process.ts';

const REASON = 'PANIC: could not write to the log: No space left on device';

/** Keeps a server whose first process ends, and delivers its last line, when the test says so. */
async function keep() {
  const exited = Promise.withResolvers<number | null>();
  const closed = Promise.withResolvers<void>();
  const reports: string[] = [];
  let lastWords = '';
  let starts = 0;
  await keepServer({
    start: async (onSpawn) => {
      starts += 1;
      const ends = starts === 1 ? { exited: exited.promise, closed: closed.promise } : endless();
      onSpawn({ pid: starts, stdin: process.stdout, kill: () => undefined, ...ends });
    },
    lastWords: () => lastWords,
    report: (sentence) => reports.push(sentence),
  });
  const end = async () => {
    exited.resolve(1);
    await setImmediate();
  };
  const deliverLastLine = () => {
    lastWords = REASON;
    closed.resolve();
  };
  return { reports, end, deliverLastLine };
}

function endless(): Pick<SupervisedProcess, 'exited' | 'closed'> {
  return { exited: new Promise(() => undefined), closed: new Promise(() => undefined) };
}

test('an unexpected end is reported with its reason, which arrives after the end of the process', async () => {
  const { reports, end, deliverLastLine } = await keep();
  await end();
  expect(reports).toEqual([]);
  deliverLastLine();
  await setImmediate();
  expect(reports[0]).toBe(`PostgreSQL 1 has ended unexpectedly, with status 1: ${REASON}`);
});
