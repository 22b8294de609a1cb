/**
 * `npm run test:conformance` installs the packages of test/conformance, checks its code and runs its suites. Two suites are long: they run
 * only if the files that they cover have changed since the last recorded run. `npm run test:conformance -- --record` and `npm run proof`
 * always run them and record success. Other arguments are passed to vitest.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'test/conformance');
const recordFile = join(folder, 'recorded.json');

const SHARED = ['test/conformance/package-lock.json', 'test/support/fixtures/{gateway,workspace}.ts'];
/** The long suites, and the files that each covers. */
const RECORDED: Readonly<Record<string, readonly string[]>> = {
  'mcp-client.test.ts': [
    'src/domains/mcp-connections/**/*.ts',
    'src/core/outbound/*.ts',
    'test/conformance/{mcp-client.test,mcp-command,mcp-driver,loopback}.ts',
    'test/conformance/mcp-*.{yml,md}',
    ...SHARED,
  ],
  'openapi-oracle.test.ts': [
    // Generated from all REST inputs and answers.
    'openapi.json',
    'src/core/{validation,errors}.ts',
    'src/core/http/*.ts',
    'src/gateway/rest/*.ts',
    'test/conformance/openapi-oracle.test.ts',
    'test/conformance/openapi/*.ts',
    ...SHARED,
  ],
};

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

interface Lock {
  readonly packages: Readonly<Record<string, { readonly optional?: boolean; readonly dependencies?: unknown }>>;
}

/** Compares with the file in which npm records what it has installed. Optional packages for other systems may be missing. */
function isInstalled(): boolean {
  try {
    const { '': manifest, ...wanted } = (readJson(join(folder, 'package-lock.json')) as Lock).packages;
    const { packages: found } = readJson(join(folder, 'node_modules/.package-lock.json')) as Lock;
    const { dependencies } = readJson(join(folder, 'package.json')) as { dependencies: unknown };
    return (
      isDeepStrictEqual(manifest?.dependencies, dependencies) &&
      Object.keys(found).every((name) => name in wanted) &&
      Object.entries(wanted).every(([name, one]) =>
        name in found ? isDeepStrictEqual(found[name], one) : one.optional,
      )
    );
  } catch {
    return false;
  }
}

/** The hash of names and contents of all files that a suite covers. */
function hashOf(patterns: readonly string[]): string {
  const hash = createHash('sha256');
  const files = new Set<string>();
  for (const pattern of patterns) {
    const found = globSync(pattern, { cwd: root });
    // Fails if files were renamed, because the record would no longer cover them.
    if (found.length === 0) throw new Error(`${pattern} in test/tools/conformance.ts names no file`);
    for (const file of found) files.add(file);
  }
  for (const file of [...files].toSorted())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

const run = (command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): boolean =>
  spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } }).status === 0;

function main(): boolean {
  const given = process.argv.slice(2);
  const isRecording = given.includes('--record') || process.env['PROOF'] === 'full';
  const args = given.filter((arg) => arg !== '--record');
  if (isRecording && args.some((arg) => arg === '-t' || arg.startsWith('--testNamePattern')))
    throw new Error('--record needs all tests of a suite');
  if (!isInstalled() && !run('npm', ['ci', '--silent', '--prefix', folder])) return false;
  if (!run('oxlint', ['-c', join(folder, 'oxlint.json'), folder]) || !run('tsc', ['-p', folder])) return false;

  const recorded = readJson(recordFile) as Record<string, string>;
  const found = Object.fromEntries(Object.entries(RECORDED).map(([suite, patterns]) => [suite, hashOf(patterns)]));
  const changed = Object.keys(RECORDED).filter((suite) => recorded[suite] !== found[suite]);
  const suites = globSync('*.test.ts', { cwd: folder }).filter(
    (suite) => !(suite in RECORDED) || isRecording || changed.includes(suite),
  );
  const files = suites.map((suite) => `test/conformance/${suite}`);
  const kept = Object.keys(RECORDED).filter((suite) => !suites.includes(suite));
  const notRun = `Not run: ${kept.join(', ')} of test/conformance: what they cover is as at their last recorded run. They run with: npm run test:conformance -- --record`;
  const env = { ...(kept.length > 0 && { NOT_RUN: notRun }) };
  const passed = run('vitest', ['run', '--project', 'conformance', ...files, ...args], env);
  if (passed && isRecording) writeFileSync(recordFile, `${JSON.stringify(found, undefined, 2)}\n`);
  if (passed && !isRecording && changed.length > 0) {
    process.stdout.write(
      `${changed.join(' and ')} ran because what they cover has changed; npm run test:conformance -- --record spares the next run.\n`,
    );
  }
  return passed;
}

process.exitCode = main() ? 0 : 1;
