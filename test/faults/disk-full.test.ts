import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { findRunningEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { seed } from '../support/exploration.ts';
import { startWriting } from '../support/oracles/ledger.ts';
import { checkout, endProcesses, run, startGateway, temporaryDirectory } from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';

const mounts: string[] = [];
afterEach(async () => {
  for (const folder of mounts.splice(0)) execFileSync('umount', ['--lazy', folder]);
  await endProcesses();
});

/** Mounts a small file system, so that the machine's is not filled. Undefined if that is not allowed, because it requires root. */
async function smallDisk(mebibytes: number): Promise<string | undefined> {
  const folder = join(await temporaryDirectory(), 'disk');
  mkdirSync(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=755`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  mounts.push(folder);
  return folder;
}

/** Fills the disk to the last block. */
function fill(file: string): void {
  for (let size = 1024 * 1024; size >= 512;) {
    try {
      appendFileSync(file, Buffer.alloc(size));
    } catch {
      size /= 2;
    }
  }
}

/** Makes PostgreSQL write its log until it needs another file. It ends, because the disk has no space for that file. */
async function endPostgres(dataDir: string): Promise<void> {
  for (;;) {
    const url = await findRunningEmbeddedPostgres(dataDir);
    if (url === undefined) return;
    const client = new pg.Client(url);
    client.on('error', () => undefined);
    try {
      await client.connect();
      for (;;) await client.query(`select pg_logical_emit_message(false, 'test', repeat('x', 1000000), true)`);
    } catch {
      // It has ended, or only this connection has.
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** How many writes are answered before the next step. */
const WRITES = full ? 20 : 5;

/** A gateway with its database on a small disk, and a client that writes. */
async function startOn(disk: string) {
  const dataDir = join(disk, 'data');
  // Entries over the limit per minute are logged at the level debug.
  const env = { DATA_DIR: dataDir, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'debug' };
  let gateway = await startGateway(env);
  const { key } = gateway;
  const ledger = startWriting((path, init) => fetch(gateway.url + path, init), key, { seed });
  const get = async (path: string) => {
    const response = await fetch(gateway.url + path, { headers: { Authorization: `Bearer ${key}` } });
    return response.status === 503 && path.startsWith('/events') && !response.headers.has('retry-after')
      ? '503 without Retry-After'
      : response.status;
  };
  /** How often the gateway has logged that PostgreSQL ended because the disk was full. */
  const ends = () =>
    gateway.output.stdout.match(/PostgreSQL \d+ has ended unexpectedly[^}]*No space left on device/g)?.length ?? 0;
  const stop = () => gateway.end('SIGTERM');
  const startAgain = async () => {
    gateway = await startGateway(env);
  };
  return { dataDir, ballast: join(disk, 'ballast'), env, ledger, get, ends, stop, startAgain };
}

async function fillRepeatedly(disk: string) {
  const { dataDir, ballast, ledger, get, ends } = await startOn(disk);
  const rounds = full ? 10 : 2;
  const reads = { running: [] as unknown[], ended: [] as unknown[] };
  const health: unknown[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await ledger.next(WRITES);
    const endsBefore = ends();
    fill(ballast);
    await ledger.next(WRITES, '503');
    fill(ballast);
    const isToEnd = round % 2 === 1;
    if (isToEnd) await endPostgres(dataDir);
    await expect.poll(ends).toBeGreaterThanOrEqual(endsBefore + (isToEnd ? 1 : 0));
    await ledger.next(WRITES, '503');
    reads[isToEnd ? 'ended' : 'running'].push(await get('/events/2026-03/event-definitions'));
    health.push(await get('/health/live'));
    rmSync(ballast);
  }
  await ledger.next(WRITES);
  await ledger.stop();
  return { ledger, rounds, reads, health, ends: ends() };
}

const NOT_ALLOWED = 'only root can mount the small file system for this test, and not in every container';

test('while the disk of the embedded database is full, requests get 503; afterwards the gateway recovers without help, and no write is lost or duplicated', async ({
  skip,
}) => {
  const disk = (await smallDisk(160)) ?? skip(NOT_ALLOWED);
  const { ledger, rounds, reads, health, ends } = await fillRepeatedly(disk);
  const unanswered = ledger.answers.get('no answer') ?? 0;
  expect({ ...(await ledger.check()), unclear: ledger.unclear, unanswered, health, seed }).toEqual({
    lost: [],
    doubled: [],
    unclear: [],
    unanswered: 0,
    health: Array.from({ length: rounds }, () => 200),
    seed,
  });
  // PostgreSQL is made to end in every second round, and may end in any round.
  expect(ends).toBeGreaterThanOrEqual(rounds / 2);
  expect(reads.running.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(new Set(reads.ended)).toEqual(new Set([503]));
  proof('Disk full', {
    figures: {
      seed,
      'times full': rounds,
      'times PostgreSQL ended because of it': ends,
      'reads answered while it ran': `${reads.running.filter((status) => status === 200).length} of ${reads.running.length}, the others 503`,
      'writes acknowledged': ledger.acknowledged(),
      'answered 503 with Retry-After meanwhile': ledger.answers.get('503') ?? 0,
      'other errors': 0,
      lost: 0,
      doubled: 0,
    },
  });
});

test('while the disk is full, a gateway whose database has ended stops at once and does not start; afterwards nothing acknowledged is lost', async ({
  skip,
}) => {
  const disk = (await smallDisk(160)) ?? skip(NOT_ALLOWED);
  const { dataDir, ballast, env, ledger, ends, stop, startAgain } = await startOn(disk);
  await ledger.next(WRITES);
  await ledger.stop();
  fill(ballast);
  await endPostgres(dataDir);
  await expect.poll(ends).toBeGreaterThanOrEqual(1);
  const began = performance.now();
  expect(await stop()).toBe(0);
  expect(performance.now() - began).toBeLessThanOrEqual(10_000);
  fill(ballast);
  const refused = await run([process.execPath, join(checkout, 'src/main.ts')], env);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^DATA_DIR: .*(?:disk .* is full|No space left on device)/s),
  });
  rmSync(ballast);
  await startAgain();
  expect(await ledger.check()).toEqual({ lost: [], doubled: [] });
});
