import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunnerTask, type RunnerTestCase, TestRunner, expect } from 'vitest';

/** True in `npm run proof`, which runs suites in full; false in `npm test`, which runs their short form. */
export const full = process.env['PROOF'] === 'full';

/**
 * Does some work, which in `npm run proof` must take at most `ms`. Other runs compare no times, because other programs may use the machine; a
 * test that waits for what never happens fails at its timeout.
 */
export async function within<Result>(ms: number, work: () => Promise<Result>): Promise<Result> {
  const [result, took] = await timed(work);
  if (full) expect(took).toBeLessThanOrEqual(ms);
  return result;
}

/** Does some work, and measures how many milliseconds it took, for the figures of a suite. */
export async function timed<Result>(work: () => Promise<Result>): Promise<[result: Result, ms: number]> {
  const began = performance.now();
  return [await work(), Math.round(performance.now() - began)];
}

/** The results of a suite for test/proof/results.json: its figures, and its known shortfalls with their reasons. */
export interface Proof {
  figures: Record<string, string | number>;
  shortfalls?: string[];
}

const hasFailed = (task: RunnerTask): boolean =>
  task.result?.state === 'fail' || ('tasks' in task && task.tasks.some(hasFailed));

/**
 * Prints the results of a suite, and writes them to the folder `PROOF_RECORD`, if set, for test/proof/results.json. `suite` is a name of
 * test/tools/proof-suites.ts. Call it after the suite's assertions: nothing is recorded once a test of the same file has failed.
 */
export function proof(suite: string, { figures, shortfalls = [] }: Proof): void {
  if (hasFailed(TestRunner.getCurrentTest<RunnerTestCase>().file)) {
    process.stdout.write(`proof: ${suite}: no figures, because an earlier test failed\n`);
    return;
  }
  const line = Object.entries(figures).map(([name, value]) => `${name}: ${value}`);
  process.stdout.write(`proof: ${suite} (${full ? 'full' : 'short'}): ${line.join(', ')}\n`);
  const folder = process.env['PROOF_RECORD'];
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${suite.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}.json`);
  writeFileSync(file, JSON.stringify({ suite, full, day: new Date().toISOString().slice(0, 10), figures, shortfalls }));
}
