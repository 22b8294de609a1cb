import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { startWorker } from '../support/processes/jobs.ts';
import { call, endProcesses, issueKey, startGateway, temporaryDirectory } from '../support/processes/process.ts';
import { type TcpProxy, startTcpProxy } from '../support/peers/tcp-proxy.ts';
import { full, proof } from '../support/proof.ts';

/** The log entries of a gateway and of a worker about an outage of the database, at the default level. */

let dataDir: string;
let postgres: EmbeddedPostgres;
let proxy: TcpProxy;
beforeAll(async () => {
  dataDir = await temporaryDirectory();
  postgres = await startPostgres();
  proxy = await startTcpProxy(postgres.url);
});
afterAll(async () => {
  await endProcesses();
  await proxy.close();
  await postgres.stop();
});

const startPostgres = () =>
  startEmbeddedPostgres({ dataDir, log: () => undefined, settings: { fsync: 'off', autovacuum: 'off' } });

async function restart(meanwhile: () => Promise<void>): Promise<void> {
  await postgres.stop();
  await meanwhile();
  postgres = await startPostgres();
  proxy.setTarget(postgres.url);
}

interface Line {
  readonly level: number;
  /** ms since 1970 */
  readonly time: number;
  readonly msg: string;
  readonly cause?: string;
}

const WARN = 40;
const warningsOf = (stdout: string): Line[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)
    .filter(({ level }) => level >= WARN);

test('each outage causes two log entries, and at most five per minute, however many requests and jobs fail', async () => {
  const env = { DATABASE_URL: proxy.url, ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}` };
  const gateway = await startGateway({ ...env, RATE_LIMIT_PER_MINUTE: '0' });
  const key = await issueKey(env);
  const worker = await startWorker(env);
  const list = () => call(gateway.url, key, 'GET', '/events/2026-03/event-definitions');
  const sayings = (stdout: string) => warningsOf(stdout).map(({ msg }) => msg);
  let refused = 0;

  async function outage(): Promise<void> {
    await restart(async () => {
      for (let times = 0; times < 50; times += 1) {
        expect((await list()).status).toBe(503);
        refused += 1;
        await fetch(`${gateway.url}/health/ready`);
      }
    });
    await expect.poll(async () => (await list()).status).toBe(200);
  }

  await outage();
  for (const { output } of [gateway, worker])
    await expect.poll(() => sayings(output.stdout)).toEqual(['database away', 'database back']);
  const [away] = warningsOf(gateway.output.stdout);
  expect(away?.cause).toMatch(/ECONNREFUSED|Connection terminated|shutting down|ECONNRESET/);

  // Two entries for each outage: together with the first, these are more than five.
  const others = full ? 4 : 2;
  for (let round = 0; round < others; round += 1) await outage();
  // All entries have been written when the gateway has ended.
  await gateway.end('SIGTERM');
  const lines = warningsOf(gateway.output.stdout);
  expect(lines.filter(({ msg }) => !/^database (?:away|back)$/.test(msg))).toEqual([]);
  const withinAMinute = lines.map(
    ({ time: from }) => lines.filter(({ time }) => time >= from && time < from + 60_000).length,
  );
  expect(withinAMinute.filter((count) => count > 5)).toEqual([]);
  proof('Log of outages', {
    figures: { outages: 1 + others, 'requests refused meanwhile': refused, 'lines at warn or above': lines.length },
  });
});

test('while all connections wait for a lock, other requests get 503, and the log has one entry without a stack, with that lock', async () => {
  const env = { DATABASE_URL: proxy.url, ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}` };
  const gateway = await startGateway({
    ...env,
    DATABASE_POOL_SIZE: '4',
    RUN_JOBS: 'false',
    RATE_LIMIT_PER_MINUTE: '0',
  });
  const key = await issueKey(env, { email: 'ben@example.com', organization: 'beta' });
  const locker = new pg.Client(postgres.url);
  await locker.connect();
  await locker.query('begin; lock table event_definition in access exclusive mode');
  const { rows } = await locker.query<{ pid: number }>('select pg_backend_pid() as pid');
  let refused = 0;
  // Four requests have a connection.
  const requests = Array.from({ length: 12 }, async () => {
    const { status } = await call(gateway.url, key, 'GET', '/events/2026-03/event-definitions');
    if (status === 503) refused += 1;
    return status;
  });
  await expect.poll(() => refused).toBe(8);
  await locker.query('rollback');
  expect((await Promise.all(requests)).filter((status) => status === 200)).toHaveLength(4);
  await locker.end();
  await gateway.end('SIGTERM');
  expect(warningsOf(gateway.output.stdout)).toEqual([
    expect.objectContaining({
      msg: 'all database connections are in use',
      connections: 4,
      lock: 'AccessShareLock on event_definition',
      statements: 4,
      blockedBy: rows[0]?.pid,
      blockerState: 'idle in transaction',
    }),
  ]);
  expect(gateway.output.stdout).not.toContain('timeout exceeded');
});
