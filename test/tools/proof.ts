// Runs suites in full and writes what they found to docs/proof.md: `npm run proof`, or `npm run proof -- test:faults` for some
// of them, which leaves what others found as it stands there.
// `npm run proof -- --from FOLDER` runs nothing, and takes what runs left there (`PROOF_RECORD=FOLDER`).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Proof } from '../support/proof.ts';

const SCRIPTS = [
  'test',
  'test:several',
  'test:pooled',
  'test:faults',
  'test:browser',
  'test:conformance',
  'test:proof',
];
const root = new URL('../..', import.meta.url).pathname;
const document = join(root, 'docs/proof.md');
const { values, positionals } = parseArgs({ options: { from: { type: 'string' } }, allowPositionals: true });

interface Recorded extends Proof {
  readonly suite: string;
  readonly full: boolean;
}

function runInFull(scripts: readonly string[], folder: string): boolean {
  const env = { ...process.env, PROOF: 'full', PROOF_RECORD: folder };
  // Every one of them, also after one has failed.
  const results = scripts.map((script) => spawnSync('npm', ['run', script], { cwd: root, env, stdio: 'inherit' }));
  return results.every(({ status }) => status === 0);
}

function recordedIn(folder: string): Recorded[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recorded)
    .toSorted((one, other) => one.suite.localeCompare(other.suite));
}

function sectionOf({ suite, full, figures, shortfalls = [] }: Recorded): string {
  const rows = Object.entries(figures).map(([name, value]) => `| ${name} | ${value} |`);
  const short = shortfalls.length > 0 ? ['', 'Falls short:', '', ...shortfalls.map((line) => `- ${line}`)] : [];
  return [
    `## ${suite}`,
    '',
    `| figure (${full ? 'in full' : 'short form'}) | value |`,
    '| --- | --- |',
    ...rows,
    ...short,
  ].join('\n');
}

/** What a run of some suites leaves as it is. */
function sectionsOfEarlierRuns(): [suite: string, section: string][] {
  const [, ...sections] = readFileSync(document, 'utf8').trim().split(/^## /m);
  return sections.map((section) => [section.split('\n', 1)[0] ?? '', `## ${section.trim()}`]);
}

const INTRO = `# Proof

What suites, clients and faults that were not designed for this gateway found. Printed by \`npm run proof\`, which runs them in full; the
gate (\`.ci/run\`) runs the same suites in a short form, but for those of test/proof, which measure load, time and memory. Each table says
which of the two it comes from.`;

const folder = values.from ?? mkdtempSync(join(tmpdir(), 'gateway-proof-'));
const passed = values.from !== undefined || runInFull(positionals.length > 0 ? positionals : SCRIPTS, folder);
const sections = new Map(positionals.length > 0 || values.from !== undefined ? sectionsOfEarlierRuns() : []);
for (const recorded of recordedIn(folder)) sections.set(recorded.suite, sectionOf(recorded));
const sorted = [...sections].toSorted(([one], [other]) => one.localeCompare(other)).map(([, section]) => section);
writeFileSync(document, `${[INTRO, ...sorted].join('\n\n')}\n`);
if (values.from === undefined) rmSync(folder, { recursive: true });
process.exitCode = passed ? 0 : 1;
