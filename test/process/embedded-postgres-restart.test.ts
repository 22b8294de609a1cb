import { once } from 'node:events';
import { readdir, rename } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { EmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import {
  base,
  dataDir,
  isAlive,
  killOwner,
  processesOf,
  query,
  removeBase,
  setUp,
  startInProcess,
  startOwner,
  started,
  stopAll,
} from '../support/processes/embedded-postgres.ts';

beforeAll(setUp);
afterEach(stopAll);
afterAll(removeBase);

/** The first message of a client (https://www.postgresql.org/docs/18/protocol-message-formats.html), which PostgreSQL answers. */
const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex');

const kill = (server: EmbeddedPostgres) => process.kill(server.pid, 'SIGKILL');
const rows = (url: string) => query(url, 'SELECT n FROM kept').catch(() => undefined);

/** Moves a file away without which PostgreSQL does not start on the data directory. */
async function whileItCannotStart(action: () => Promise<void>): Promise<void> {
  const version = join(dataDir, 'postgres/data/PG_VERSION');
  await rename(version, `${version}.aside`);
  await action();
  await rename(`${version}.aside`, version);
}

test('the server is restarted each time at the same URL with every committed row, until it is stopped', async () => {
  const reports: string[] = [];
  const server = await startInProcess(join(base, 'killed'), [], {}, reports);
  await query(server.url, 'CREATE TABLE kept AS SELECT 1 AS n');
  const pids = [server.pid];
  for (let round = 0; round < 2; round += 1) {
    kill(server);
    await expect.poll(() => pids.includes(server.pid)).toBe(false);
    await expect.poll(() => rows(server.url)).toEqual([{ n: 1 }]);
    pids.push(server.pid);
  }
  expect(reports).toEqual(
    [0, 1].flatMap((round) => [
      `PostgreSQL ${pids[round]} has ended unexpectedly, by a signal`,
      `PostgreSQL runs again, as process ${pids[round + 1]}`,
    ]),
  );
  await server.stop();
  await server.exited;
  await expect.poll(() => processesOf(join(base, 'killed'))).toEqual([]);
  expect(reports).toHaveLength(4);
});

test('when one of its backends crashes, the server ends, and a new process is started', async () => {
  const reports: string[] = [];
  const server = await startInProcess(dataDir, [], {}, reports);
  const { pid } = server;
  const client = new pg.Client(server.url);
  client.on('error', () => {});
  await client.connect();
  const { rows: backends } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  for (const backend of backends) process.kill(backend.pid, 'SIGKILL');
  await expect.poll(() => reports).toHaveLength(2);
  expect(reports).toEqual([
    `PostgreSQL ${pid} has ended unexpectedly, with status 1`,
    `PostgreSQL runs again, as process ${server.pid}`,
  ]);
  expect(server.pid).not.toBe(pid);
  await server.stop();
});

test('the start of a server is retried until it succeeds', async () => {
  const reports: string[] = [];
  const server = await startInProcess(dataDir, [], {}, reports);
  await query(server.url, 'CREATE TABLE IF NOT EXISTS kept AS SELECT 1 AS n');
  await whileItCannotStart(async () => {
    kill(server);
    await expect.poll(() => reports.length).toBeGreaterThan(3);
  });
  expect(reports[1]).toMatch(/^PostgreSQL did not start:[^]*is not a valid data directory/);
  await expect.poll(() => rows(server.url)).toEqual([{ n: 1 }]);
  expect(reports.at(-1)).toBe(`PostgreSQL runs again, as process ${server.pid}`);
  await server.stop();
});

/** What PostgreSQL has logged, from the kill on, at some moments of the restart that follows. */
const MOMENTS: [string, RegExp][] = [
  ['before the new process exists', /^/],
  ['when it has found an interrupted server', /database system was interrupted/],
  ['during its recovery', /automatic recovery in progress/],
  ['when it is ready', /automatic recovery in progress[^]*ready to accept connections/],
];

test.each([...MOMENTS, ['when the new process exists', undefined] as const])(
  'stop() during a restart, %s, leaves no server and releases the directory',
  async (_, moment) => {
    const lines: string[] = [];
    const reports: string[] = [];
    const server = await startInProcess(dataDir, lines, {}, reports);
    lines.length = 0;
    const { pid } = server;
    const isReached = () => (moment ? moment.test(lines.join('\n')) : server.pid !== pid);
    kill(server);
    await expect.poll(() => reports.length > 0 && isReached(), { interval: 1 }).toBe(true);
    await server.stop();
    await server.exited;
    expect(lines.join('\n')).not.toContain('immediate shutdown');
    await expect.poll(() => processesOf(dataDir)).toEqual([]);
    expect(await readdir(dataDir)).toEqual(['gateway.lock', 'postgres']);
    await (await startInProcess()).stop();
  },
);

test.each(MOMENTS)('kill -9 of the owner during a restart, %s, leaves no server', async (_, moment) => {
  const owner = startOwner();
  const { pid } = await started(owner);
  let logged = '';
  owner.child.stderr.on('data', (chunk: Buffer) => (logged += chunk.toString()));
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => logged, { interval: 1 }).toMatch(moment);
  await killOwner(owner.child);
  await (await startInProcess()).stop();
  await expect.poll(() => processesOf(dataDir)).toEqual([]);
});

test('the server is not restarted if its directory was moved away, and a new directory of the same name is not touched', async () => {
  const directory = join(base, 'moved');
  const first = await startInProcess(directory);
  await rename(directory, `${directory}-away`);
  const owner = startOwner(directory);
  const { url, pid } = await started(owner);
  kill(first);
  await first.exited;
  await first.stop();
  expect(await isAlive(pid)).toBe(true);
  expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  expect(await readdir(directory)).toEqual(['gateway.lock', 'gateway.pid', 'postgres']);
});

test('the server is not restarted if another program keeps its port, because clients know only that port', async () => {
  const reports: string[] = [];
  const server = await startInProcess(dataDir, [], {}, reports, 3);
  const port = Number(new URL(server.url).port);
  // The connection stays open, because otherwise the system could assign the port to any program.
  const holder = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  holder.write(SSL_REQUEST);
  await once(holder, 'data');
  const other = createServer();
  await whileItCannotStart(async () => {
    kill(server);
    await expect.poll(() => reports.at(-1)).toMatch(/^PostgreSQL did not start:/);
    other.listen(port, '127.0.0.1');
    await once(other, 'listening');
  });
  await server.exited;
  await server.stop();
  expect(reports.at(-1)).toContain('Address already in use');
  expect(holder.readyState).toBe('writeOnly');
  holder.destroy();
  other.close();
  const next = await startInProcess();
  expect(next.url).not.toBe(server.url);
  await next.stop();
});
