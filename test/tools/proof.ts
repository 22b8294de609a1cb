// Runs suites in full and writes their results to test/proof/results.json: `npm run proof` for all, `npm run proof --
// test:faults` for some, which keeps the results of the others. `npm run proof -- --from FOLDER` runs nothing and takes
// results that earlier runs wrote to FOLDER (`PROOF_RECORD=FOLDER`).
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import type { Proof } from '../support/proof.ts';
import { SUITES } from './proof-suites.ts';

const SCRIPTS = [
  'test',
  'test:several',
  'test:pooled',
  'test:process',
  'test:faults',
  'test:browser',
  'test:conformance',
  'test:widest',
  'test:proof',
];
const root = fileURLToPath(new URL('../..', import.meta.url));
const file = join(root, 'test/proof/results.json');
const { values, positionals } = parseArgs({ options: { from: { type: 'string' } }, allowPositionals: true });

interface Result extends Proof {
  /** Whether it ran in full or in the short form. */
  readonly full: boolean;
  /** When it was measured, as YYYY-MM-DD. */
  readonly day: string;
}

/** All of the scripts run, even after one has failed. */
function runInFull(scripts: readonly string[], folder: string): boolean {
  const seed = process.env['SEED'] ?? String(randomInt(2 ** 31));
  const env = { ...process.env, PROOF: 'full', PROOF_RECORD: folder, SEED: seed };
  const summary = [`proof: SEED=${seed}; SEED=${seed} npm run proof tries the same cases again`];
  process.stdout.write(`${summary[0]}\n`);
  const results = scripts.map((script) => {
    const passed = spawnSync('npm', ['run', script], { cwd: root, env, stdio: 'inherit' }).status === 0;
    summary.push(`proof: ${script} ${passed ? 'passed' : 'FAILED'}`);
    return passed;
  });
  process.stdout.write(`\n${summary.join('\n')}\n`);
  return results.every(Boolean);
}

function recordedIn(folder: string): [suite: string, result: Result][] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Result & { suite: string })
    .map(({ suite, ...result }) => [suite, result]);
}

const folder = values.from ?? mkdtempSync(join(tmpdir(), 'gateway-proof-'));
const passed = values.from !== undefined || runInFull(positionals.length > 0 ? positionals : SCRIPTS, folder);
/** The results of the benchmark are measured apart from the suites. */
const isOfBenchmark = (name: string) =>
  SUITES.some(({ suite, test }) => suite === name && test.startsWith('test/bench/'));
const isPart = positionals.length > 0 || values.from !== undefined;
const earlier = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, Result>);
const results = new Map(earlier.filter(([name]) => isPart || isOfBenchmark(name)));
for (const [suite, result] of recordedIn(folder)) results.set(suite, result);
const lines = SUITES.filter(({ suite }) => results.has(suite)).map(
  ({ suite }) => `${JSON.stringify(suite)}: ${JSON.stringify(results.get(suite))}`,
);
// A line for each suite, so that a diff shows which ones ran.
writeFileSync(file, `{\n${lines.join(',\n')}\n}\n`);
if (values.from === undefined) rmSync(folder, { recursive: true });
process.exitCode = passed ? 0 : 1;
