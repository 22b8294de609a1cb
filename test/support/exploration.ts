import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { full } from './proof.ts';

/** The seed of a run: fixed in `npm test`, random in full runs. `SEED` repeats an earlier run. */
export const seed = Number(process.env['SEED'] ?? (full ? randomInt(2 ** 31) : 20_260_301));

/** Shrinking stops early enough to report its result. */
const EXPLORATION_MS = full ? 700_000 : 45_000;

/** Checks a property with `runs` cases. A failure names the smallest failing case and how to run only that. */
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
