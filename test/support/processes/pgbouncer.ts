// A real PgBouncer in transaction mode with default settings, so it refuses most startup parameters.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from './ports.ts';

export interface PgBouncer {
  /** The URL of a database through the pooler. */
  through(databaseUrl: string): string;
  /** Kills it and starts it again on the same port. */
  restart(): Promise<void>;
  /** Its log. */
  readonly log: () => string;
  close(): Promise<void>;
}

/** PgBouncer refuses to run as root. */
const NOBODY = 65_534;
const PROGRAM = '/usr/sbin/pgbouncer';

export const hasPgBouncer = () => spawnSync(PROGRAM, ['--version']).status === 0;

/** @throws Error if it is not installed, because then nothing would be tested. */
export async function startPgBouncer(serverUrl: string, { poolSize = 5 } = {}): Promise<PgBouncer> {
  if (!hasPgBouncer()) throw new Error('PgBouncer is not installed: apt-get install pgbouncer');
  const { hostname, port: serverPort, username, password } = new URL(serverUrl);
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${serverPort} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 500
`,
  );
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const path of [folder, file]) await chown(path, NOBODY, NOBODY);
  let child: ChildProcess | undefined;
  let log = '';

  async function start(): Promise<void> {
    const ids = isRoot && { uid: NOBODY, gid: NOBODY };
    child = spawn(PROGRAM, [file], { stdio: ['ignore', 'ignore', 'pipe'], ...ids });
    child.stderr?.on('data', (chunk) => (log += chunk));
    await untilAccepting();
  }

  async function untilAccepting(): Promise<void> {
    for (;;) {
      if (child?.exitCode !== null) throw new Error(`PgBouncer has ended:\n${log}`);
      const client = new pg.Client(`postgresql://any@127.0.0.1:${port}/postgres`);
      client.on('error', () => undefined);
      try {
        await client.connect();
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20));
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }

  async function end(): Promise<void> {
    if (!child || child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  await start();
  return {
    through(databaseUrl) {
      const url = new URL(databaseUrl);
      url.host = `127.0.0.1:${port}`;
      return url.href;
    },
    restart: async () => {
      await end();
      await start();
    },
    log: () => log,
    async close() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
