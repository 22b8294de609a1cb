/**
 * `npm run release`: makes what a release consists of, in `release/`: the source, the bill of materials, the image for both architectures, and
 * their checksums. It says what it cannot make on this machine, and ends with status 1 if the checkout is not that of a release.
 */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION, commitOf } from '../../src/core/version.ts';
import { DATA_FILE } from '../support/fixtures/release-data.ts';
import { CONTRACT_FILE, RELEASES } from './released.ts';

const root = join(import.meta.dirname, '../..');
const NAME = `workspace-gateway-${VERSION}`;
const PLATFORMS = 'linux/amd64,linux/arm64';

const say = (line: string) => process.stdout.write(`${line}\n`);
const run = (command: string, ...args: string[]): SpawnSyncReturns<string> =>
  spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 });

/** Why this checkout is no release. */
function faults(): string[] {
  const changes = run('git', 'status', '--porcelain').stdout;
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  return [
    ...(changes === '' ? [] : ['the checkout has changes that are not committed']),
    ...(changelog.includes(`\n## [${VERSION}] - `) ? [] : [`CHANGELOG.md has no section with the day of ${VERSION}`]),
    ...[CONTRACT_FILE, DATA_FILE].flatMap((file) =>
      existsSync(join(RELEASES, VERSION, file)) ? [] : [`test/releases/${VERSION}/${file} is missing`],
    ),
  ];
}

interface Product {
  readonly file: string;
  readonly what: string;
  /** The command that writes the file, or whose output it is. */
  readonly made: (path: string) => SpawnSyncReturns<string>;
  readonly isOutput?: true;
}

const build = commitOf(root) ?? 'unknown';
const PRODUCTS: readonly Product[] = [
  {
    file: `${NAME}.tar.gz`,
    what: 'the source',
    made: (path) => run('git', 'archive', '--format=tar.gz', `--prefix=${NAME}/`, `--output=${path}`, 'HEAD'),
  },
  {
    file: `${NAME}.cdx.json`,
    what: 'the bill of materials (CycloneDX) of what the image contains',
    isOutput: true,
    made: () => run('npm', 'sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--omit=dev', '--omit=optional'),
  },
  {
    file: `${NAME}.oci.tar`,
    what: `the image for ${PLATFORMS}, which Docker with buildx builds`,
    made: (path) =>
      run(
        'docker',
        'buildx',
        'build',
        `--platform=${PLATFORMS}`,
        `--build-arg=BUILD=${build}`,
        `--tag=workspace-gateway:${VERSION}`,
        `--output=type=oci,dest=${path}`,
        '.',
      ),
  },
];

function make(folder: string): void {
  const sums: string[] = [];
  for (const { file, what, made, isOutput } of PRODUCTS) {
    const path = join(folder, file);
    const { status, stdout, stderr, error } = made(path);
    if (status === 0 && isOutput) writeFileSync(path, stdout);
    if (status !== 0 || !existsSync(path)) {
      const [reason = ''] = (error?.message ?? stderr).trim().split('\n');
      say(`MISSING  ${file}: ${what}: ${reason}`);
      continue;
    }
    sums.push(`${createHash('sha256').update(readFileSync(path)).digest('hex')}  ${file}\n`);
    say(`made     ${file}: ${what}`);
  }
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
  say('made     SHA256SUMS: check with sha256sum --check SHA256SUMS');
}

const found = faults();
for (const fault of found) say(`not a release: ${fault}`);
if (found.length === 0) {
  const folder = join(root, 'release');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  say(`${VERSION}, build ${build}`);
  make(folder);
}
process.exitCode = found.length === 0 ? 0 : 1;
