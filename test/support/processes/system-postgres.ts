// A PostgreSQL server from the system's packages. They include pg_dump and psql, which the embedded PostgreSQL does not have.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.ts';

/** The oldest PostgreSQL version that the gateway supports. */
export const SYSTEM_BIN = '/usr/lib/postgresql/15/bin';

export const hasSystemPostgres = () => existsSync(join(SYSTEM_BIN, 'pg_dump'));

export interface SystemPostgres {
  /** An empty database, whose owner is not a superuser. */
  readonly url: string;
  close(): Promise<void>;
}

export async function startSystemPostgres(): Promise<SystemPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-postgres-'));
  await chmod(folder, 0o755);
  const isRoot = process.getuid?.() === 0;
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  const account = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if (account.uid !== undefined) await chown(folder, account.uid, account.gid);
  const data = join(folder, 'data');
  const call = (program: string, ...args: string[]) =>
    execFileSync(join(SYSTEM_BIN, program), args, { ...account, cwd: folder, stdio: 'pipe' });
  call('initdb', '--pgdata', data, '--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8', '--no-sync');
  const port = await freePort();
  const flags = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`;
  call('pg_ctl', 'start', '--wait', '--pgdata', data, '--log', join(folder, 'log'), '--options', flags);
  const admin = `postgresql://postgres@127.0.0.1:${port}/postgres`;
  const sql = ['create role gateway login', 'create database gateway owner gateway'];
  call('psql', '--no-psqlrc', '--quiet', ...sql.flatMap((statement) => ['--command', statement]), admin);
  return {
    url: `postgresql://gateway@127.0.0.1:${port}/gateway`,
    async close() {
      call('pg_ctl', 'stop', '--wait', '--mode', 'immediate', '--pgdata', data);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
