import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunnerTask, type RunnerTestCase, TestRunner } from 'vitest';

/** Whether suites run in full, as `npm run proof` does, or in the short form of the gate. */
export const full = process.env['PROOF'] === 'full';

/** What a suite found: the figures that are in docs/proof.md, and what falls short, with its reason. */
export interface Proof {
  figures: Record<string, string | number>;
  shortfalls?: string[];
}

const hasFailed = (task: RunnerTask): boolean =>
  task.result?.state === 'fail' || ('tasks' in task && task.tasks.some(hasFailed));

/**
 * Prints what a suite found, and keeps it for docs/proof.md when `PROOF_RECORD` names a folder.
 * Call it after the suite's assertions: figures of a failed run are not proof, and neither are those after a failed test of the same file.
 */
export function proof(suite: string, { figures, shortfalls = [] }: Proof): void {
  if (hasFailed(TestRunner.getCurrentTest<RunnerTestCase>().file)) {
    process.stdout.write(`proof: ${suite}: no figures, since a test before has failed\n`);
    return;
  }
  const line = Object.entries(figures).map(([name, value]) => `${name}: ${value}`);
  process.stdout.write(`proof: ${suite} (${full ? 'full' : 'short'}): ${line.join(', ')}\n`);
  const folder = process.env['PROOF_RECORD'];
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${suite.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}.json`);
  writeFileSync(file, JSON.stringify({ suite, full, figures, shortfalls }));
}
