import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool, PoolClient } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { CONNECTION_WAIT_MS, openDatabase } from '../../src/core/postgres/connections.ts';
import { onFailure } from '../../src/core/postgres/driver/statement-channels.ts';
import { migrate } from '../../src/core/postgres/migrations.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { entities } from '../../src/gateway/modules.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { full, proof, timed } from '../support/proof.ts';
import { append, createSession, eventsOf, tail } from '../support/fixtures/sessions.ts';

let dataDir: string;
let postgres: EmbeddedPostgres | undefined;
let relay: Awaited<ReturnType<typeof startRelay>>;
let gateway: TestGateway;
let key: string;
let sessionId: string;
const figures: Record<string, string> = {};

/** A constant address for the server, which has another port after each start. */
async function startRelay() {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const port = postgres && Number(new URL(postgres.url).port);
    if (!port) {
      socket.destroy();
      return;
    }
    const other = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [socket, other],
      [other, socket],
    ] as const) {
      open.add(from);
      from.on('error', () => undefined).on('close', () => (open.delete(from), to.destroy()));
      from.pipe(to);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

const start = async () =>
  (postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined, settings: { fsync: 'off' } }));
const stop = async () => {
  const running = postgres;
  postgres = undefined;
  await running?.stop();
};

/** Sends a signal to all processes of PostgreSQL, first to the postmaster, because it would start new ones. */
function signalAll(signal: NodeJS.Signals): void {
  const pid = postgres?.pid ?? 0;
  process.kill(pid, signal);
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  for (const child of children.split('\n').map(Number).filter(Boolean)) signalIfRunning(child, signal);
}

/** Workers of PostgreSQL end by themselves. */
function signalIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'gateway-away-'));
  relay = await startRelay();
  const database = await openDatabase({ url: (await start()).url, entities });
  await migrate(database);
  await database.close(true);
});
afterAll(async () => {
  relay.close();
  await stop();
  await rm(dataDir, { recursive: true, force: true });
});

beforeEach(async () => {
  const url = new URL(postgres?.url ?? (await start()).url);
  url.port = String(relay.port);
  gateway = await startTestGateway({}, { url: url.href, databaseWaitMs: CONNECTION_WAIT_MS });
  ({ key } = await gateway.createKey());
  sessionId = await createSession(gateway, key);
});
afterEach(() => gateway.close());

const REQUESTS = [
  ['GET', () => `/v1/sessions/${sessionId}/events`, undefined],
  ['PATCH', () => `/v1/sessions/${sessionId}`, { title: 'Another' }],
  ['GET', () => '/events/2026-03/event-definitions', undefined],
  ['POST', () => '/graphql', { query: '{ viewer { organization { sessions { nodes { id } } } } }' }],
  ['POST', () => '/graphql', { query: 'mutation { createOrganization(input: { name: "A" }) { __typename } }' }],
] as const;

/** Sends each kind of request; returns the status and `Retry-After`. */
async function askAll() {
  return Promise.all(
    REQUESTS.map(async ([method, path, body]) => {
      const { status, headers, text } = await gateway.rest(method, path(), { key, body });
      return { status, retryAfter: headers.get('retry-after'), text };
    }),
  );
}

/** Returns the time in ms. */
async function expectUnavailable(reason = 'the database is unreachable; try again'): Promise<number> {
  const [answers, took] = await timed(askAll);
  for (const { status, retryAfter, text } of answers) {
    expect({ status, retryAfter, text }).toMatchObject({ status: 503, retryAfter: '1' });
    expect(text).toContain(reason);
  }
  return took;
}

const health = async (path: string) => (await gateway.rest('GET', `/health/${path}`)).status;

/** Waits until the gateway is ready again; returns the time in ms. */
async function readyAgain(): Promise<number> {
  const [, took] = await timed(async () => {
    while ((await health('ready')) !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await askAll()).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });
  return took;
}

const ms = (time: number) => `${time} ms`;

test('while all connections are in use, requests on both APIs get 503 after a limited wait, and are served when a connection is free', async () => {
  const pool: Pool = await gateway.dependencies.database.driver.getConnection().getNativeClient();
  const held: PoolClient[] = [];
  for (let n = 0; n < (pool.options.max ?? 0); n += 1) held.push(await pool.connect());
  figures['all connections in use: 503 after'] = ms(await expectUnavailable('the database is too busy; try again'));
  const waiting = askAll();
  for (const client of held) client.release();
  expect((await waiting).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  // The connections were not closed, because the database answered all the time.
  expect(pool.totalCount).toBe(held.length);
});

test('while the database is stopped, requests get 503 immediately; after its start the gateway is ready without a restart, and tails continue without gaps or duplicates', async () => {
  await append(gateway, key, sessionId, eventsOf(3));
  const stream = await tail(gateway, key, sessionId);
  expect((await stream.take(3)).map(({ id }) => id)).toEqual(['1', '2', '3']);
  for (let round = 0; round < (full ? 3 : 1); round += 1) {
    await stop();
    figures['database stopped: 503 after'] = ms(await expectUnavailable());
    expect([await health('ready'), await health('live')]).toEqual([503, 200]);
    await start();
    figures['database back: ready after'] = ms(await readyAgain());
    await append(gateway, key, sessionId, eventsOf(1, { from: 4 + round }));
    expect((await stream.nextData())?.id).toBe(String(4 + round));
  }
  await stream.close();
});

test('while the database is paused, running and new requests get 503; afterwards the gateway serves again', async () => {
  const pool: Pool = await gateway.dependencies.database.driver.getConnection().getNativeClient();
  await append(gateway, key, sessionId, eventsOf(1));
  const stream = await tail(gateway, key, sessionId);
  await stream.take(1);
  for (let round = 0; round < (full ? 2 : 1); round += 1) {
    signalAll('SIGSTOP');
    try {
      const underWay = await expectUnavailable();
      // What ran before has failed when its connections are gone.
      await expect.poll(() => pool.totalCount, { interval: 20 }).toBe(0);
      // Later requests do not wait, because the gateway knows that the database does not answer: no connection is tried for them.
      const failures: string[] = [];
      onFailure(pool, ({ error }) => failures.push(String(error)));
      const later = await expectUnavailable();
      expect(new Set(failures)).toEqual(new Set(['DatabaseSilentError: the database does not answer']));
      figures['database paused: 503 after'] = ms(underWay);
      figures['still paused: 503 after'] = ms(later);
      expect([await health('ready'), await health('live')]).toEqual([503, 200]);
    } finally {
      signalAll('SIGCONT');
    }
    figures['database goes on: ready after'] = ms(await readyAgain());
    await append(gateway, key, sessionId, eventsOf(1, { from: 2 + round }));
    expect((await stream.nextData())?.id).toBe(String(2 + round));
  }
  await stream.close();
  proof('Database away', { figures });
});
