/**
 * `npm run test:conformance`: installs the packages of test/conformance, checks its code and runs its suites. Two of them are long: they run
 * only where what they cover has changed since a recorded run passed. `npm run test:conformance -- --record` runs them in any case and records
 * that they passed, and so does `npm run proof`. Other arguments are vitest's.
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
/** The long suites, and what each is about. */
const RECORDED: Readonly<Record<string, readonly string[]>> = {
  'mcp-client.test.ts': [
    'src/domains/mcp-connections/**/*.ts',
    'src/core/outbound/*.ts',
    'test/conformance/{mcp-client.test,mcp-command,mcp-driver,loopback}.ts',
    'test/conformance/mcp-*.{yml,md}',
    ...SHARED,
  ],
  'openapi-oracle.test.ts': [
    // Made from all inputs and documents of REST.
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

/** npm writes down what it has installed when it is done. Optional packages may be left out, where they are of another system. */
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

/** The names and the bytes of every file that a suite covers. */
function hashOf(patterns: readonly string[]): string {
  const hash = createHash('sha256');
  const files = new Set<string>();
  for (const pattern of patterns) {
    const found = globSync(pattern, { cwd: root });
    // Where files were renamed, the record would go on without them.
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

const run = (command: string, args: readonly string[]): boolean =>
  spawnSync(command, args, { cwd: root, stdio: 'inherit' }).status === 0;

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
  const passed = run('vitest', ['run', '--project', 'conformance', ...files, ...args]);
  if (passed && isRecording) writeFileSync(recordFile, `${JSON.stringify(found, undefined, 2)}\n`);
  if (passed && !isRecording && changed.length > 0) {
    process.stdout.write(
      `${changed.join(' and ')} ran because what they cover has changed; npm run test:conformance -- --record spares the next run.\n`,
    );
  }
  return passed;
}

process.exitCode = main() ? 0 : 1;
