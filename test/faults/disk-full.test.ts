import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import {
  type EmbeddedPostgres,
  findRunningEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/core/postgres/embedded/server.ts';
import { seed } from '../support/exploration.ts';
import { startWriting } from '../support/oracles/ledger.ts';
import { startTcpProxy } from '../support/peers/tcp-proxy.ts';
import { endProcesses, issueKey, run, startGateway } from '../support/processes/process.ts';
import { GATEWAY } from '../support/processes/programs.ts';
import { NOT_ALLOWED, fill, smallDisk } from '../support/processes/small-disk.ts';
import { full, proof } from '../support/proof.ts';

afterEach(endProcesses);

/** Makes PostgreSQL write its log until it needs another file. It ends, because the disk has no space for that file. */
async function endPostgres(findUrl: () => string | undefined | Promise<string | undefined>): Promise<void> {
  for (;;) {
    const url = await findUrl();
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

const NO_LIMIT = { RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'fatal' };

/** A server that is started again, as by a supervisor, whenever it has ended. Clients find it at the same address. */
async function startSupervised(dataDir: string) {
  const launch = () => startEmbeddedPostgres({ dataDir, log: () => undefined });
  let server: EmbeddedPostgres | undefined = await launch();
  const proxy = await startTcpProxy(server.url);
  const ends: string[] = [];
  let isStopping = false;
  const supervision = (async () => {
    while (server) {
      const how = await server.ended;
      server = undefined;
      if (isStopping) return;
      ends.push(how);
      while (!server) server = await launch().catch(() => delay(100, undefined));
      proxy.setTarget(server.url);
    }
  })();
  const close = async () => {
    isStopping = true;
    await server?.stop();
    await supervision;
    await proxy.close();
  };
  return { url: proxy.url, findUrl: () => server?.url, ends, close };
}

async function fillRepeatedly(disk: string) {
  const database = await startSupervised(join(disk, 'data'));
  const { ends } = database;
  const env = { DATABASE_URL: database.url, ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`, ...NO_LIMIT };
  const key = await issueKey(env);
  const gateway = await startGateway(env);
  const ledger = startWriting((path, init) => fetch(gateway.url + path, init), key, { seed });
  const get = async (path: string) => {
    const response = await fetch(gateway.url + path, { headers: { Authorization: `Bearer ${key}` } });
    return response.status === 503 && path.startsWith('/events') && !response.headers.has('retry-after')
      ? '503 without Retry-After'
      : response.status;
  };
  const ballast = join(disk, 'ballast');
  const rounds = full ? 10 : 2;
  const reads = { running: [] as unknown[], ended: [] as unknown[] };
  const health: unknown[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await ledger.next(WRITES);
    const endsBefore = ends.length;
    fill(ballast);
    await ledger.next(WRITES, '503');
    fill(ballast);
    const isToEnd = round % 2 === 1;
    if (isToEnd) await endPostgres(database.findUrl);
    await expect.poll(() => ends.length).toBeGreaterThanOrEqual(endsBefore + (isToEnd ? 1 : 0));
    await ledger.next(WRITES, '503');
    reads[isToEnd ? 'ended' : 'running'].push(await get('/events/2026-03/event-definitions'));
    health.push(await get('/health/live'));
    rmSync(ballast);
  }
  await ledger.next(WRITES);
  await ledger.stop();
  const written = await ledger.check();
  await gateway.end('SIGTERM');
  await database.close();
  return { ledger, written, rounds, reads, health, ends };
}

test('while the disk of the database is full, writes get 503; afterwards the gateway recovers without help, and no write is lost or duplicated', async ({
  skip,
}) => {
  const disk = (await smallDisk('160m')) ?? skip(NOT_ALLOWED);
  const { ledger, written, rounds, reads, health, ends } = await fillRepeatedly(disk);
  const unanswered = ledger.answers.get('no answer') ?? 0;
  expect({ ...written, unclear: ledger.unclear, unanswered, health, seed }).toEqual({
    lost: [],
    doubled: [],
    unclear: [],
    unanswered: 0,
    health: Array.from({ length: rounds }, () => 200),
    seed,
  });
  // PostgreSQL is made to end in every second round, and may end in any round.
  expect(ends.length).toBeGreaterThanOrEqual(rounds / 2);
  for (const how of ends) expect(how).toMatch(REASON);
  expect(reads.running.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(new Set(reads.ended)).toEqual(new Set([503]));
  proof('Disk full', {
    figures: {
      seed,
      'times full': rounds,
      'times PostgreSQL ended because of it': ends.length,
      'reads answered while it ran': `${reads.running.filter((status) => status === 200).length} of ${reads.running.length}, the others 503`,
      'writes acknowledged': ledger.acknowledged(),
      'answered 503 with Retry-After meanwhile': ledger.answers.get('503') ?? 0,
      'other errors': 0,
      lost: 0,
      doubled: 0,
    },
  });
});

/** How PostgreSQL ends on a full disk. */
const REASON = /^the embedded PostgreSQL \(process \d+\) has ended .*No space left on device/;

test('when its embedded database ends on a full disk, the gateway ends with the reason, and does not start; afterwards nothing acknowledged is lost', async ({
  skip,
}) => {
  const disk = (await smallDisk('160m')) ?? skip(NOT_ALLOWED);
  const env = { DATA_DIR: join(disk, 'data'), ...NO_LIMIT };
  const ballast = join(disk, 'ballast');
  let gateway = await startGateway(env);
  const { output } = gateway;
  const { length } = output.stdout;
  const ledger = startWriting((path, init) => fetch(gateway.url + path, init), gateway.key, { seed });
  await ledger.next(WRITES);
  await ledger.stop();
  fill(ballast);
  await endPostgres(() => findRunningEmbeddedPostgres(env.DATA_DIR));
  expect(await gateway.exited).toBe(1);
  expect(JSON.parse(output.stdout.slice(length))).toMatchObject({ msg: expect.stringMatching(REASON) });
  fill(ballast);
  const refused = await run([GATEWAY, 'start'], env);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^DATA_DIR: .*no space left on device/is),
  });
  rmSync(ballast);
  gateway = await startGateway(env);
  expect(await ledger.check()).toEqual({ lost: [], doubled: [] });
});
