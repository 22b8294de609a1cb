/**
 * `npm run test:all`: every test, the quickest parts first. `npm test` is the first; then come what its sample left out and the other suites,
 * three at a time: each waits now and then for processes, browsers and timeouts, while others compute. Ends with the minutes of each part,
 * what did not run and why, what failed, and "N passed, N failed"; exits with 0 only if every part passed and ran tests.
 */
import { spawn } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasPgBouncer } from '../support/processes/pgbouncer.ts';
import type { TestSummary } from './closing-lines.ts';

interface Part {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether vitest runs it. */
  readonly hasTests: boolean;
}

interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly failures: readonly string[];
  readonly notRun: readonly string[];
  readonly minutes: string;
}

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'gateway-test-all-'));
// Only the first two parts take a sample.
const { SAMPLE_SEED = String(Math.floor(Date.now() / 1000)), ...ENV } = process.env;
/** Parts that run at once. */
const LANES = 3;
const BESIDE_ANOTHER = '--maxWorkers=2';

const filesWithSweeps = () =>
  globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] }).filter((file) =>
    readFileSync(join(root, file), 'utf8').includes("/support/sample.ts'"),
  );

const scriptOf = (script: string): Part => ({
  name: `npm run ${script}`,
  command: ['npm', 'run', script, '--', BESIDE_ANOTHER],
  hasTests: true,
});
const SAMPLE: Part = { name: 'npm test', command: ['npm', 'test'], env: { SAMPLE_SEED }, hasTests: true };
const REST: Part = {
  name: 'what npm test left out',
  command: ['vitest', 'run', '--project', 'unit', '--project', 'behavior', BESIDE_ANOTHER, ...filesWithSweeps()],
  env: { SAMPLE_SEED, SAMPLE_REST: 'true' },
  hasTests: true,
};
const SMOKE: Part = { name: 'npm run bench:smoke', command: ['npm', 'run', 'bench:smoke'], hasTests: false };
const COUNTS: Part = { name: 'npm run test:counts', command: ['npm', 'run', 'test:counts'], hasTests: false };

const outcomes = new Map<string, Outcome>();

async function run({ name, command: [program = '', ...args], env, hasTests }: Part, isAlone = false): Promise<void> {
  const summaries = join(folder, name.replaceAll(/\W/g, '-'));
  mkdirSync(summaries);
  const began = Date.now();
  const child = spawn(program, args, {
    cwd: root,
    env: { ...ENV, ...env, TEST_SUMMARIES: summaries },
    stdio: ['ignore', isAlone ? 'inherit' : 'pipe', isAlone ? 'inherit' : 'pipe'],
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => output.push(chunk));
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  const found = readdirSync(summaries).map(
    (file) => JSON.parse(readFileSync(join(summaries, file), 'utf8')) as TestSummary,
  );
  const sum = (count: 'passed' | 'failed') => found.reduce((total, summary) => total + summary[count], 0);
  const isBroken = status !== 0 || (hasTests && sum('passed') === 0);
  const outcome = {
    passed: sum('passed'),
    failed: isBroken ? Math.max(1, sum('failed')) : 0,
    failures: found.flatMap(({ failures }) => failures),
    notRun: found.flatMap(({ notRun }) => notRun),
    minutes: minutesSince(began),
  };
  outcomes.set(name, outcome);
  // Parts that run beside each other are printed whole, as soon as they end.
  process.stdout.write(`\n== ${name}: ${outcome.failed > 0 ? 'FAILED' : 'passed'} in ${outcome.minutes}\n`);
  for (const chunk of output) process.stdout.write(chunk);
}

function minutesSince(began: number): string {
  const seconds = Math.round((Date.now() - began) / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

async function lane(parts: Part[]): Promise<void> {
  for (let part = parts.shift(); part; part = parts.shift()) await run(part);
}

function closingLines(began: number): string {
  const width = Math.max(...[...outcomes.keys()].map((name) => name.length));
  const minutes = [...outcomes].map(
    ([name, outcome]) =>
      `${name.padEnd(width)} ${outcome.minutes.padStart(5)}  ${outcome.failed > 0 ? 'FAILED' : 'passed'}`,
  );
  const notRun = new Set([...outcomes.values()].flatMap((outcome) => outcome.notRun));
  if (!hasPgBouncer())
    notRun.add('Not run: npm run test:pooled: PgBouncer is not installed: apt-get install pgbouncer');
  const sum = (count: 'passed' | 'failed') => [...outcomes.values()].reduce((total, each) => total + each[count], 0);
  if (sum('failed') > 0) process.exitCode = 1;
  return [
    '\n== minutes',
    ...minutes,
    `${'in all'.padEnd(width)} ${minutesSince(began).padStart(5)}\n`,
    ...notRun,
    ...[...outcomes.values()].flatMap(({ failures }) => failures),
    `SAMPLE_SEED=${SAMPLE_SEED} npm run test:all takes the same sample first.\n`,
    `${sum('passed')} passed, ${sum('failed')} failed\n`,
  ].join('\n');
}

async function main(): Promise<void> {
  const began = Date.now();
  try {
    await run(SAMPLE, true);
    const pooled = hasPgBouncer() ? ['test:pooled'] : [];
    // The longest parts begin early, so that short ones fill the time at the end.
    const scripts = [
      'test:browser',
      'test:process',
      'test:faults',
      'test:widest',
      'test:conformance',
      ...pooled,
      'test:several',
    ];
    const queue = [REST, SMOKE, ...scripts.map(scriptOf)];
    // Only one part runs beside what is counted: how often jobs look for work depends on the time that it takes.
    const others = run(COUNTS).then(() => Promise.all(Array.from({ length: LANES - 1 }, () => lane(queue))));
    await Promise.all([lane(queue), others]);
    process.stdout.write(closingLines(began));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

await main();
