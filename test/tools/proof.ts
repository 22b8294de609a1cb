// Runs every suite in full and writes what they found to docs/proof.md: `npm run proof`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Proof } from '../helpers/proof.ts';

const root = new URL('../..', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'gateway-proof-'));
const scripts = process.argv.slice(2);
let failed = false;
for (const script of scripts.length > 0 ? scripts : ['test', 'test:faults', 'test:browser', 'test:conformance']) {
  const env = { ...process.env, PROOF: 'full', PROOF_RECORD: folder };
  failed = spawnSync('npm', ['run', script], { cwd: root, env, stdio: 'inherit' }).status !== 0 || failed;
}

const proofs = readdirSync(folder)
  .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Proof & { suite: string; full: boolean })
  .toSorted((one, other) => one.suite.localeCompare(other.suite));
const sections = proofs.map(({ suite, figures, shortfalls = [] }) =>
  [
    `## ${suite}`,
    '',
    '| figure | value |',
    '| --- | --- |',
    ...Object.entries(figures).map(([name, value]) => `| ${name} | ${value} |`),
    ...(shortfalls.length > 0 ? ['', 'Falls short:', '', ...shortfalls.map((shortfall) => `- ${shortfall}`)] : []),
  ].join('\n'),
);
const intro =
  '# Proof\n\nWhat suites, clients and faults that were not designed for this gateway found. Printed by `npm run proof`, which runs them in full;\nthe gate (`.ci/run`) runs the same suites, the long ones in a short form.';
writeFileSync(join(root, 'docs/proof.md'), `${[intro, ...sections].join('\n\n')}\n`);
rmSync(folder, { recursive: true });
process.exitCode = failed ? 1 : 0;
