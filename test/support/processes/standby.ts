// A primary with a streaming standby: two PostgreSQL servers, the second of which replays the log of the first.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import {
  type Program,
  chooseAccount,
  giveTo,
  locatePostgres,
  startProgram,
} from '../../../src/core/postgres/embedded/process.ts';
import { startEmbeddedPostgres } from '../../../src/core/postgres/embedded/server.ts';
import { freePort } from './ports.ts';
import { startTcpProxy } from '../peers/tcp-proxy.ts';
import { SUPERUSER_PASSWORD, superuserUrl } from './embedded-postgres.ts';

export interface PrimaryWithStandby {
  readonly primaryUrl: string;
  /** The URL of a proxy to the standby. It stays the same after each start. */
  readonly standbyUrl: string;
  /** Statements that the standby has run, without the gateway's checks of its replay position. */
  readonly statements: string[];
  /** Runs a statement as superuser on the primary. */
  onPrimary(statement: string): Promise<void>;
  stopPrimary(): Promise<void>;
  /** Runs a statement as superuser on the standby. */
  onStandby(statement: string): Promise<void>;
  /** Ends the standby immediately, like a crash. */
  killStandby(): Promise<void>;
  startStandby(): Promise<void>;
  close(): Promise<void>;
}

const settings = { fsync: 'off', autovacuum: 'off', max_connections: '100' };

export async function startPrimaryWithStandby(): Promise<PrimaryWithStandby> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-standby-'));
  const dataDir = join(folder, 'primary');
  const start = () =>
    startEmbeddedPostgres({ dataDir, log: () => undefined, settings, superuserPassword: SUPERUSER_PASSWORD });
  await (await start()).stop();
  const cluster = join(folder, 'standby');
  await cp(join(dataDir, 'postgres/data'), cluster, { recursive: true, preserveTimestamps: true });
  const primary = await start();
  const { port: primaryPort } = new URL(primary.url);
  const conninfo = `host=127.0.0.1 port=${primaryPort} user=postgres password=${SUPERUSER_PASSWORD}`;
  await writeFile(join(cluster, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
  await writeFile(join(cluster, 'standby.signal'), '');
  const binaries = await locatePostgres();
  // If root created the files, they must belong to the user as whom PostgreSQL runs.
  const account = await chooseAccount(binaries, folder, cluster);
  await giveTo(account, cluster);
  const proxy = await startTcpProxy(primary.url);
  const statements: string[] = [];
  let standby: Program | undefined;

  async function startStandby(): Promise<void> {
    const port = await freePort();
    const lines = await launch(port);
    if (!standby) throw new Error(`the standby did not start:\n${lines}`);
    proxy.setTarget(withPort(primary.url, port));
  }

  /** Sets `standby` if it becomes ready. Returns its log. */
  async function launch(port: number): Promise<string> {
    const lines: string[] = [];
    const flags = {
      ...settings,
      port: `${port}`,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      log_statement: 'all',
      log_line_prefix: '',
      wal_retrieve_retry_interval: '100ms',
    };
    const args = Object.entries(flags).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const ready = Promise.withResolvers<true>();
    const launched = await startProgram([binaries.postgres, '-D', cluster, ...args], account, (line) => {
      lines.push(line);
      if (line.includes('ready to accept read-only connections')) ready.resolve(true);
      const statement = /^LOG: +(?:statement|execute \S+): +(.*)/s.exec(line)?.[1];
      // The further lines of a statement begin with a tab.
      if (line.startsWith('\t')) statements.push(`${statements.pop() ?? ''} ${line.trim()}`);
      else if (statement !== undefined && !statement.includes('pg_last_wal_replay_lsn')) statements.push(statement);
    });
    if ((await Promise.race([ready.promise, launched.ended])) === true) standby = launched;
    return lines.join('\n');
  }

  async function killStandby(): Promise<void> {
    standby?.kill('SIGQUIT');
    await standby?.ended;
    standby = undefined;
  }

  await startStandby();
  return {
    primaryUrl: primary.url,
    standbyUrl: proxy.url,
    statements,
    onPrimary: (statement) => asSuperuser(primary.url, statement),
    stopPrimary: () => primary.stop(),
    onStandby: (statement) => asSuperuser(proxy.url, statement),
    killStandby,
    startStandby,
    async close() {
      await proxy.close();
      await killStandby();
      await primary.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function asSuperuser(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: superuserUrl(serverUrl) });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function withPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = `${port}`;
  return changed.href;
}
