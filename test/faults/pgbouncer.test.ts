import { randomBytes } from 'node:crypto';
import pg, { type Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/core/postgres/connections.ts';
import { DatabaseHealth } from '../../src/core/postgres/health/database-health.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { entities } from '../../src/gateway/modules.ts';
import { tail } from '../support/fixtures/sessions.ts';
import { startWriting } from '../support/oracles/ledger.ts';
import { type WorkerProcess, startWorker } from '../support/processes/jobs.ts';
import { type PgBouncer, hasPgBouncer, startPgBouncer } from '../support/processes/pgbouncer.ts';
import {
  type GatewayProcess,
  call,
  endProcesses,
  graphqlApi,
  issueKey,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';
import { full, proof } from '../support/proof.ts';
import { SUPERUSER_PASSWORD, superuserUrl } from '../support/processes/embedded-postgres.ts';

/** Two gateways and a worker behind a real PgBouncer in transaction mode, which has fewer connections than they have together. */

const isInstalled = hasPgBouncer();
let postgres: EmbeddedPostgres;
let pooler: PgBouncer;
let env: Record<string, string>;
let gateways: [GatewayProcess, GatewayProcess];
let worker: WorkerProcess;
let key: string;
/** Statements that were sent through the pooler, which logs in as `postgres`. */
const pooled: string[] = [];

beforeAll(async () => {
  if (!isInstalled) return;
  const dataDir = await temporaryDirectory();
  postgres = await startEmbeddedPostgres({
    dataDir,
    superuserPassword: SUPERUSER_PASSWORD,
    log: (line) => {
      const statement = /^postgres\|LOG: +((?:statement|execute \S+): .*)/s.exec(line)?.[1];
      if (statement !== undefined) pooled.push(statement);
    },
    settings: { fsync: 'off', log_statement: 'all', log_line_prefix: '%u|' },
  });
  pooler = await startPgBouncer(superuserUrl(postgres.url), { poolSize: 4 });
  env = {
    DATABASE_URL: pooler.through(postgres.url),
    DATABASE_POOLER: 'transaction',
    DATABASE_DIRECT_URL: postgres.url,
    ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    RATE_LIMIT_PER_MINUTE: '0',
    RUN_JOBS: 'false',
  };
  // Both start at the same time on an empty database and migrate it.
  gateways = await Promise.all([startGateway(env), startGateway(env)]);
  worker = await startWorker(env);
  key = await issueKey(env);
});
afterAll(async () => {
  await endProcesses();
  if (!isInstalled) return;
  await pooler.close();
  await postgres.stop();
});

/** Sends requests to the two gateways alternately. */
let requestCount = 0;
const send = (path: string, init: RequestInit) => fetch(`${gateways[(requestCount += 1) % 2]?.url}${path}`, init);

const UNINSTALLED = 'PgBouncer is not installed: apt-get install pgbouncer';

test('writes, tails, locks and jobs work through the pooler, without named prepared statements and session settings', async ({
  skip,
}) => {
  skip(!isInstalled, UNINSTALLED);
  const sessionId = await createSession(graphqlApi(gateways[0].url), key);
  const stream = await tail({ fetch: (path, init) => fetch(`${gateways[1].url}${path}`, init) }, key, sessionId);
  for (let from = 1; from <= 5; from += 1) {
    await append(graphqlApi(gateways[0].url), key, sessionId, eventsOf(1, { from }));
    expect((await stream.nextData())?.id).toBe(String(from));
  }
  await stream.close();
  const ledger = startWriting(send, key, { prefix: 'calm' });
  await ledger.next(full ? 2_000 : 100);
  await ledger.stop();
  expect([...ledger.answers.keys()].toSorted()).toEqual(['200', '201']);
  expect(await ledger.check()).toEqual({ lost: [], doubled: [] });

  const definitions = '/events/2026-03/event-definitions';
  const body = { name: 'purged', label: 'Purged', primaryObject: 'CONTACT' };
  expect((await call(gateways[0].url, key, 'POST', definitions, body)).status).toBe(201);
  expect((await call(gateways[0].url, key, 'DELETE', `${definitions}/purged`)).status).toBe(204);
  await expect.poll(() => worker.output.stdout).toMatch(/"queue":"event-purge".*"job done"/);

  expect(pooled.length).toBeGreaterThan(500);
  expect(pooled.filter((text) => /^execute (?!<unnamed>)/.test(text))).toEqual([]);
  // PgBouncer itself sets the application name of a connection to that of its next client.
  const settings = pooled.filter((text) => /^\S+(?: <unnamed>)?: *set (?!local|application_name=)/i.test(text));
  expect(settings).toEqual([]);
});

test('a pooler whose connections are all in use is busy, not unavailable: waiting requests are answered', async ({
  skip,
}) => {
  skip(!isInstalled, UNINSTALLED);
  const url = pooler.through(postgres.url);
  const waitMs = 8_000;
  const health = new DatabaseHealth({ waitMs, directUrl: postgres.url });
  const database = await openDatabase({ url, entities, isPooled: true, waitMs, health });
  const pool: Pool = await database.driver.getConnection().getNativeClient();
  const holder = new pg.Client(postgres.url);
  await holder.connect();
  await holder.query('select pg_advisory_lock(1)');
  const logins = () => pooler.log().split('login attempt').length;
  const before = logins();
  const asked = Array.from({ length: 6 }, () => pool.query('select pg_advisory_xact_lock_shared(1)'));
  const answers = Promise.allSettled(asked);
  // Each statement needs a login. A liveness check of the database needs two more, so a third belongs to a second check.
  await expect.poll(logins).toBeGreaterThan(before + asked.length + 2);
  await holder.query('select pg_advisory_unlock(1)');
  expect((await answers).map(({ status }) => status)).toEqual(asked.map(() => 'fulfilled'));
  await holder.end();
  await database.close();
});

test('while the pooler is restarted under load, requests get 503; no write is lost or duplicated, and tails continue', async ({
  skip,
}) => {
  skip(!isInstalled, UNINSTALLED);
  const sessionId = await createSession(graphqlApi(gateways[0].url), key, { title: 'Followed' });
  const stream = await tail({ fetch: (path, init) => fetch(`${gateways[1].url}${path}`, init) }, key, sessionId);
  const ledger = startWriting(send, key, { prefix: 'killed' });
  const kills = full ? 30 : 3;
  for (let from = 1; from <= kills; from += 1) {
    await ledger.next(20);
    await pooler.restart();
    await expect
      .poll(() =>
        append(graphqlApi(gateways[0].url), key, sessionId, eventsOf(1, { from }), `followed ${from}`).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect((await stream.nextData())?.id).toBe(String(from));
  }
  await ledger.next(20);
  await ledger.stop();
  await stream.close();
  const result = await ledger.check();
  expect({ ...result, unclear: ledger.unclear }).toEqual({ lost: [], doubled: [], unclear: [] });
  proof('PgBouncer in transaction mode', {
    figures: {
      'connections of the pooler, for two gateways and a worker': 4,
      'statements through it': pooled.length,
      'prepared by name, or set for a session': 0,
      'times killed under load': kills,
      'writes acknowledged meanwhile': ledger.acknowledged(),
      'answered 503 with Retry-After meanwhile': ledger.answers.get('503') ?? 0,
      lost: 0,
      doubled: 0,
    },
  });
});
