import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { full } from './proof.ts';

/** The one seed of a run. The gate makes the same choices every time, the full form new ones; `SEED` repeats those of an earlier run. */
export const seed = Number(process.env['SEED'] ?? (full ? randomInt(2 ** 31) : 20_260_301));

/** Shrinking ends in time to say what it has come to. */
const EXPLORATION_MS = full ? 700_000 : 45_000;

/** Tries a property on `runs` cases; the failure names the smallest case that it was shrunk to, and how to try that alone. */
export async function explore<Case>(
  runs: number,
  cases: fc.Arbitrary<Case>,
  property: (one: Case) => Promise<void>,
): Promise<void> {
  const path = process.env['SEED_PATH'];
  const details = await fc.check(fc.asyncProperty(cases, property), {
    seed,
    numRuns: runs,
    interruptAfterTimeLimit: EXPLORATION_MS,
    ...(path !== undefined && { path, endOnFailure: true }),
  });
  if (!details.failed) return;
  const replay = `Replay with SEED=${seed} SEED_PATH=${details.counterexamplePath ?? ''} before the same command.`;
  throw new Error(`${fc.defaultReportMessage(details)}\n${replay}`, { cause: details.errorInstance });
}
