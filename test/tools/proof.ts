// Runs suites in full and writes their results to docs/proof.md: `npm run proof` for all, `npm run proof --
// test:faults` for some. The results of suites that did not run are kept. `npm run proof -- --from FOLDER` runs nothing
// and takes results that earlier runs wrote to FOLDER (`PROOF_RECORD=FOLDER`).
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Proof } from '../support/proof.ts';
import { SUITES, type Suite } from './proof-suites.ts';

const SCRIPTS = [
  'test',
  'test:several',
  'test:pooled',
  'test:process',
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

function recordedIn(folder: string): Recorded[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recorded);
}

function sectionOf({ suite, full, day, figures, shortfalls = [] }: Recorded): string {
  const rows = Object.entries(figures).map(([name, value]) => `| ${name} | ${value} |`);
  const short = shortfalls.length > 0 ? ['', 'Known shortfalls:', '', ...shortfalls.map((line) => `- ${line}`)] : [];
  const measured = `Measured on ${day}, ${full ? 'in full' : 'short form'}.`;
  return [`### ${suite}`, '', measured, '', '| figure | value |', '| --- | --- |', ...rows, ...short].join('\n');
}

function sectionsOfEarlierRuns(): [suite: string, section: string][] {
  const sections = readFileSync(document, 'utf8')
    .split(/^(?=##+ )/m)
    .filter((section) => section.startsWith('### '));
  return sections.map((section) => [section.slice('### '.length).split('\n', 1)[0] ?? '', section.trim()]);
}

/** As GitHub makes the anchor of a heading. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

function rowOf({ suite, claim, test }: Suite, section: string | undefined): string {
  const measured = section?.match(/^Measured on (\S+, [^.]+)\./m)?.[1] ?? 'no recorded run';
  return `| ${section ? `[${suite}](#${anchorOf(suite)})` : suite} | ${claim} | \`${test}\` | ${measured} |`;
}

const INTRO = `# Proof

Results of the suites that test the gateway with faults, load, random input and third-party software. \`npm run proof\` runs all suites in full, which
takes hours, and writes this page; \`npm run proof -- test:faults\` runs the suites of one script and keeps the other results. To run one test in full:

\`\`\`sh
PROOF=full npx vitest run test/faults/kill.test.ts
\`\`\`

The gate (\`.ci/run\`) runs the same tests in a short form, except for those in \`test/proof\`, which take minutes of load. "Measured" is the day of the
last recorded run, and whether it ran in full or in the short form.`;

function documentOf(sections: ReadonlyMap<string, string>): string {
  const parts = SUITES.flatMap(([title, suites]) => [
    `## ${title}`,
    [
      '| suite | what is proven | test | measured |',
      '| --- | --- | --- | --- |',
      ...suites.map((suite) => rowOf(suite, sections.get(suite.suite))),
    ].join('\n'),
    ...suites.flatMap(({ suite }) => sections.get(suite) ?? []),
  ]);
  return `${[INTRO, ...parts].join('\n\n')}\n`;
}

const folder = values.from ?? mkdtempSync(join(tmpdir(), 'gateway-proof-'));
const passed = values.from !== undefined || runInFull(positionals.length > 0 ? positionals : SCRIPTS, folder);
/** The results of the benchmark are measured apart from the suites. */
const isOfBenchmark = (name: string) =>
  SUITES.some(([, suites]) => suites.some(({ suite, test }) => suite === name && test.startsWith('test/bench/')));
const isPart = positionals.length > 0 || values.from !== undefined;
const sections = new Map(sectionsOfEarlierRuns().filter(([name]) => isPart || isOfBenchmark(name)));
for (const recorded of recordedIn(folder)) sections.set(recorded.suite, sectionOf(recorded));
writeFileSync(document, documentOf(sections));
if (values.from === undefined) rmSync(folder, { recursive: true });
process.exitCode = passed ? 0 : 1;
