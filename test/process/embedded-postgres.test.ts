import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { Server, createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type EmbeddedPostgres, findRunningEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import {
  base,
  dataDir,
  stopAll,
  startInProcess,
  isAlive,
  killOwner,
  startOwner,
  processesOf,
  query,
  removeBase,
  setUp,
  started,
} from '../support/processes/embedded-postgres.ts';

beforeAll(setUp);

afterEach(async () => {
  vi.restoreAllMocks();
  await stopAll();
});

afterAll(removeBase);

async function killBackend({ url }: EmbeddedPostgres): Promise<void> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  for (const { pid } of rows) process.kill(pid, 'SIGKILL');
}

describe('the cluster', () => {
  test('is durable, uses UTF-8, listens only on 127.0.0.1, and accepts only the generated password', async () => {
    const directory = join(base, 'durable');
    const lines: string[] = [];
    const server = await startInProcess(directory, lines, {});
    const [row] = await query(
      server.url,
      `SELECT current_database() AS database, current_user AS "user", rolsuper, rolcreatedb,
        current_setting('server_version_num')::int / 10000 AS major, current_setting('fsync') AS fsync,
        current_setting('synchronous_commit') AS synchronous_commit, current_setting('full_page_writes') AS full_page_writes,
        current_setting('data_checksums') AS data_checksums, current_setting('listen_addresses') AS listen_addresses,
        current_setting('password_encryption') AS password_encryption, pg_encoding_to_char(encoding) AS encoding,
        datlocprovider, datlocale, datcollate, pg_get_userbyid(datdba) AS owner
      FROM pg_database, pg_roles WHERE datname = current_database() AND rolname = current_user`,
    );
    expect(row).toEqual({
      database: 'gateway',
      user: 'gateway',
      owner: 'gateway',
      rolsuper: false,
      rolcreatedb: true,
      major: 18,
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      data_checksums: 'on',
      listen_addresses: '127.0.0.1',
      password_encryption: 'scram-sha-256',
      encoding: 'UTF8',
      datlocprovider: 'b',
      datlocale: 'C.UTF-8',
      datcollate: 'C',
    });
    // The superuser has no password, so nobody can log in as superuser, not even with the password of the gateway.
    for (const [user, given] of [
      ['gateway', 'wrong'],
      ['postgres', 'wrong'],
      ['postgres', new URL(server.url).password],
    ] as const) {
      const wrong = new URL(server.url);
      wrong.username = user;
      wrong.password = given;
      await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow(`password authentication failed for user "${user}"`);
    }
    const command = await readFile(join(directory, 'postgres/data/postmaster.opts'), 'utf8');
    expect(command).toMatch(/unix_socket_directories=["']/);
    const { password } = new URL(server.url);
    expect(password).toMatch(/^[\w-]{32}$/);
    expect(lines.join('\n')).not.toContain(password);
    expect((await stat(join(directory, 'postgres/password'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(directory, 'postgres/data'))).mode & 0o777).toBe(0o700);
    await server.stop();
  });

  test('is created once: a later start keeps rows and password and only starts the server', async () => {
    const first = await startInProcess();
    await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    await first.stop();
    const before = await readdir(dataDir);

    const lines: string[] = [];
    const second = await startInProcess(dataDir, lines);
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
    expect(lines[0]).toMatch(/starting PostgreSQL 18/);
    await second.stop();
    expect(before).toEqual(['gateway.lock', 'postgres']);
    expect(await readdir(dataDir)).toEqual(before);
  });

  test('is created anew when a kill -9 interrupted its creation', async () => {
    const directory = join(base, 'interrupted');
    // Delays the last step, the creation of the role, until after the kill.
    const owner = startOwner(directory, { settings: ['fsync=off', 'post_auth_delay=600'] });
    const single = async () => (await processesOf(directory)).filter(({ line }) => line.includes(' --single '));
    await expect.poll(single).not.toEqual([]);
    await killOwner(owner.child);
    expect((await readdir(directory)).join(' ')).toMatch(/^gateway\.lock gateway\.pid postgres\.unfinished-\w+$/);
    const server = await startInProcess(directory);
    expect(await query(server.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await server.stop();
    expect(await readdir(directory)).toEqual(['gateway.lock', 'postgres']);
    // A signal ends the delay.
    for (const { pid } of await single()) process.kill(pid, 'SIGHUP');
    await expect.poll(() => processesOf(directory)).toEqual([]);
  });

  test('the error of a failed start is the last error of the server log, in one line, and the directory can be used again', async () => {
    const start = startInProcess(dataDir, [], { shared_buffers: 'plenty' });
    await expect(start).rejects.toThrow(
      /^PostgreSQL did not start: FATAL: +invalid value for parameter "shared_buffers".*$/,
    );
    await (await startInProcess()).stop();
  });

  test('the server uses another port if another program takes the chosen one first', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    vi.spyOn(Server.prototype, 'address').mockReturnValueOnce(address);
    const lines: string[] = [];
    const server = await startInProcess(dataDir, lines);
    expect(lines.join('\n')).toContain('Address already in use');
    expect(await query(server.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await server.stop();
    taken.close();
  });
});

describe('stopping', () => {
  test('stop() shuts the server down properly, can be called again, and releases the directory', async () => {
    const lines: string[] = [];
    const server = await startInProcess(dataDir, lines);
    const client = new pg.Client({ connectionString: server.url });
    const lost = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(await isAlive(server.pid)).toBe(false);
    expect(await readdir(dataDir)).toEqual(['gateway.lock', 'postgres']);
    await lost;
    await expect.poll(() => lines.at(-1)).toContain('database system is shut down');
    await expect.poll(() => processesOf(dataDir)).toEqual([]);
  });

  test('Ctrl-C, which a terminal sends to the whole process group, does not stop the server; only its owner does', async () => {
    const { child, ...owner } = startOwner();
    const { url, pid } = await started(owner);
    process.kill(-(child.pid ?? 0), 'SIGINT');
    // PostgreSQL handles a pending shutdown before it accepts another connection.
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(await isAlive(pid)).toBe(false);
  });

  test('after kill -9 of the owner, the next start stops the server that is left and has every committed row', async () => {
    const owner = startOwner();
    const { url, pid } = await started(owner);
    await query(url, 'CREATE TABLE survived_owner AS SELECT 1 AS n');
    await killOwner(owner.child);
    expect(await isAlive(pid)).toBe(true);
    expect(await findRunningEmbeddedPostgres(dataDir)).toBeUndefined();

    const lines: string[] = [];
    const server = await startInProcess(dataDir, lines);
    expect(await isAlive(pid)).toBe(false);
    expect(lines[0]).toBe(`stopping PostgreSQL ${pid}, which an earlier gateway left behind (SIGINT)`);
    expect(await query(server.url, 'SELECT n FROM survived_owner')).toEqual([{ n: 1 }]);
    await server.stop();
    await expect.poll(() => processesOf(dataDir)).toEqual([]);
  });

  test('kill -9 of owner and server together loses no committed row', async () => {
    const owner = startOwner(dataDir, { settings: [] });
    const { url, pid } = await started(owner);
    await query(url, 'CREATE TABLE survived_all AS SELECT 1 AS n');
    const holdsOn = new pg.Client({ connectionString: url });
    holdsOn.on('error', () => {});
    await holdsOn.connect();
    holdsOn.query('SELECT pg_sleep(60)').catch(() => {});
    const asleep = `SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'`;
    await expect.poll(() => query(url, asleep)).toHaveLength(1);
    process.kill(pid, 'SIGKILL');
    await killOwner(owner.child);

    const lines: string[] = [];
    const server = await startInProcess(dataDir, lines);
    expect(lines.join('\n')).toContain('automatic recovery in progress');
    expect(await query(server.url, 'SELECT n FROM survived_all')).toEqual([{ n: 1 }]);
    await server.stop();
  });

  test.each([
    ['is killed', 'by SIGKILL', async (server: EmbeddedPostgres) => void process.kill(server.pid, 'SIGKILL')],
    ['loses a backend', 'with status 1', killBackend],
  ])('a server that %s ends, says how, and releases the directory', async (_, how, kill) => {
    const server = await startInProcess();
    await kill(server);
    expect(await server.ended).toBe(`the embedded PostgreSQL (process ${server.pid}) has ended ${how}`);
    await server.stop();
    expect(await readdir(dataDir)).toEqual(['gateway.lock', 'postgres']);
    await (await startInProcess()).stop();
  });

  test('a stale postmaster.pid with the pid of another program does not prevent a start or harm that program', async () => {
    // PostgreSQL itself ignores processes of other users.
    const { uid, gid } = await stat(join(dataDir, 'postgres/data'));
    const bystander = spawn('sleep', ['60'], { uid, gid });
    try {
      await writeFile(
        join(dataDir, 'postgres/data/postmaster.pid'),
        `${bystander.pid}\n${dataDir}\n1\n5432\n\n\n\nready\n`,
      );
      expect(await findRunningEmbeddedPostgres(dataDir)).toBeUndefined();
      await (await startInProcess()).stop();
      expect(await isAlive(bystander.pid ?? 0)).toBe(true);
    } finally {
      bystander.kill();
    }
  });
});

describe('one data directory', () => {
  test('refuses a second gateway immediately with the pid of the first, and can be used after kill -9', async () => {
    const owner = startOwner();
    const { url } = await started(owner);
    const message = `Another gateway (process ${owner.child.pid}) uses the database in ${dataDir}. Stop it, or give this one another DATA_DIR or DATABASE_URL.`;
    await expect(startInProcess()).rejects.toThrow(new Error(message));
    expect(await startOwner().outcome).toEqual({ error: message });
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);

    await killOwner(owner.child);
    // Another program may have the pid of the dead owner.
    await writeFile(join(dataDir, 'gateway.pid'), `${process.pid}\n`);
    await (await startInProcess()).stop();
  });

  test('accepts exactly one of several concurrent first starts', async () => {
    const directory = join(base, 'race');
    const starts = [1, 2, 3, 4].map(() => startOwner(directory));
    const outcomes = await Promise.all(starts.map(({ outcome }) => outcome));
    const winner = starts[outcomes.findIndex(({ url }) => url)];
    const refusal = `Another gateway (process ${winner?.child.pid}) uses the database in ${directory}. `;
    expect(outcomes.filter(({ url }) => url)).toHaveLength(1);
    expect(outcomes.flatMap(({ error }) => error?.slice(0, refusal.length) ?? [])).toEqual([refusal, refusal, refusal]);
    winner?.child.kill('SIGTERM');
    await once(winner?.child ?? process, 'exit');
    expect(await readdir(directory)).toEqual(['gateway.lock', 'postgres']);
  });

  test('publishes the URL of its server only while it runs', async () => {
    expect(await findRunningEmbeddedPostgres(join(base, 'absent'))).toBeUndefined();
    expect(await findRunningEmbeddedPostgres(dataDir)).toBeUndefined();
    const owner = startOwner();
    const { url } = await started(owner);
    expect(await findRunningEmbeddedPostgres(dataDir)).toBe(url);
    owner.child.kill('SIGTERM');
    await once(owner.child, 'exit');
    expect(await findRunningEmbeddedPostgres(dataDir)).toBeUndefined();
  });
});
