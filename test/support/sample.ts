import { type RunnerTestFile, type SuiteAPI, type TestAPI, TestRunner } from 'vitest';
import { full } from './proof.ts';
import { random } from './random.ts';

/**
 * Sweeps try all operations, keys, types or lengths. `npm test` takes a sample of each, chosen by `SAMPLE_SEED`; `npm run test:all` also runs
 * what that sample left out (`SAMPLE_REST`). Without a seed, as in `npx vitest run <file>`, every case runs.
 */
const seed = full ? undefined : process.env['SAMPLE_SEED'];
const isRest = process.env['SAMPLE_REST'] !== undefined;

declare module 'vitest' {
  interface TaskMeta {
    /** How many cases the sweeps of a file have, and how many of them this run left out. */
    sweeps?: { cases: number; leftOut: number };
  }
}

/**
 * The cases of a sweep that run: at most `size` of them in `npm test`, in their order. Of a sweep over pairs, take a sample of the one or of the
 * other, or of the pairs: the rest of both does not have every pair that the sample left out.
 */
export function sampleOf<Case>(cases: readonly Case[], size: number): readonly Case[] {
  if (seed === undefined) return cases;
  const file = fileOfCaller();
  // Another sample for each sweep of a file.
  const taken = indexesOf(cases.length, size, random(hashOf(`${seed} ${file.name} ${file.meta.sweeps?.cases ?? 0}`)));
  const chosen = cases.filter((_, index) => taken.has(index) !== isRest);
  note(file, cases.length, chosen.length);
  return chosen;
}

/** `test.each` or `describe.each` with a sample of its cases: `sampled(test, 4).each([…])`. */
export function sampled<Api extends Pick<TestAPI, 'each' | 'for'> | Pick<SuiteAPI, 'each' | 'for'>>(
  api: Api,
  size: number,
): Pick<Api, 'each' | 'for'> {
  const tables = api as { each(cases: readonly unknown[]): unknown; for(cases: readonly unknown[]): unknown };
  return {
    each: (cases: readonly unknown[]) => tables.each(sampleOf(cases, size)),
    for: (cases: readonly unknown[]) => tables.for(sampleOf(cases, size)),
    // Both have many overloads, which differ in the types of the cases alone.
  } as Pick<Api, 'each' | 'for'>;
}

/** How often a test repeats a race, or how many cases of a property it tries: fewer in `npm test`. */
export function sampledRuns(count: number, few: number): number {
  if (seed === undefined) return count;
  const chosen = isRest ? count : few;
  note(fileOfCaller(), count, chosen);
  return chosen;
}

function note({ meta }: RunnerTestFile, cases: number, chosen: number): void {
  const { sweeps = { cases: 0, leftOut: 0 } } = meta;
  meta.sweeps = { cases: sweeps.cases + cases, leftOut: sweeps.leftOut + cases - chosen };
}

/** One index of each of `size` equal parts: operations of one noun, which are neighbors, are not left out together. */
function indexesOf(length: number, size: number, next: () => number): ReadonlySet<number> {
  const count = Math.min(length, size);
  const start = (part: number) => Math.floor((part * length) / count);
  return new Set(
    Array.from({ length: count }, (_, part) => start(part) + Math.floor(next() * (start(part + 1) - start(part)))),
  );
}

/** The file of the test that runs, or whose tests are being collected. */
function fileOfCaller(): RunnerTestFile {
  const file = TestRunner.getCurrentTest()?.file ?? TestRunner.getCurrentSuite().file;
  if (!file) throw new Error('a sample is taken in a test file');
  return file;
}

/** FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash;
}
