// A PostgreSQL cluster as operators run it: three servers with Patroni, etcd, and HAProxy, which connects clients to
// the primary. Each server can be killed or isolated from all others.
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { type TcpProxy, startTcpProxy } from '../peers/tcp-proxy.ts';
import { freePort } from './ports.ts';

const PROGRAMS = ['/usr/bin/patroni', '/usr/bin/etcd', '/usr/sbin/haproxy', '/usr/lib/postgresql/15/bin/postgres'];

/** The reason why a cluster cannot be started here; undefined if it can. */
export function missingPrograms(): string | undefined {
  const missing = PROGRAMS.filter((program) => !existsSync(program));
  if (missing.length === 0) return undefined;
  return `not installed: ${missing.join(', ')} (apt-get install patroni etcd-server haproxy postgresql)`;
}

export const SETTINGS = { ttl: 20, loop_wait: 5, retry_timeout: 5 };

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

export interface Server {
  readonly name: string;
  /** The URL of this server through a proxy, which all clients and servers use. */
  readonly url: string;
  /** Kills Patroni and PostgreSQL, like the loss of the machine. */
  kill(): Promise<void>;
  /** Kills only PostgreSQL. */
  killPostgres(): Promise<void>;
  start(): Promise<void>;
  /** Cuts the network of this server: to clients, standbys and etcd. */
  isolate(): void;
  rejoin(): void;
}

export interface Cluster {
  /** The URL of the current primary. */
  readonly url: string;
  readonly servers: readonly Server[];
  /** The server that is the primary now. */
  primary(): Promise<Server>;
  /** The synchronous standby. */
  standby(): Promise<Server>;
  /**
   * Resolves when one server is the primary and the others follow it, one of them synchronously. A standby that does
   * not recover by itself is reinitialized, as the operator's guide says.
   */
  healthy(): Promise<void>;
  /** The names of servers that were reinitialized. */
  readonly reinitialized: readonly string[];
  /** Copies the primary to a server again, with the operator's command. */
  reinitialize(name: string): Promise<void>;
  /** A planned switchover: a standby becomes the primary, and the former primary follows it. */
  switchOver(): Promise<void>;
  close(): Promise<void>;
}

/** Process priority, if allowed, so that leases do not expire because the machine is busy. */
const PRIORITY = -5;
/** A standby whose state has not changed for this time is reinitialized. A rewind takes only seconds here. */
const PATIENCE_MS = 120_000;
/** The state that Patroni reports for a server that is being copied. */
const COPYING = 'creating replica';

export async function startCluster(): Promise<Cluster> {
  const account = accountOf('postgres');
  const folder = await mkdtemp(join(tmpdir(), 'gateway-cluster-'));
  await chmod(folder, 0o755);
  const processes = new Set<ChildProcess>();
  const proxies: TcpProxy[] = [];

  function run(program: string, args: readonly string[], log: string): ChildProcess {
    const child = spawn('/bin/sh', ['-c', `exec "$0" "$@" >>"${log}" 2>&1`, program, ...args], {
      stdio: 'ignore',
      cwd: folder,
      ...account,
      env: { PATH: '/usr/lib/postgresql/15/bin:/usr/bin:/bin', HOME: folder, LC_ALL: 'C.UTF-8' },
    });
    if (account && child.pid !== undefined) setPriority(child.pid, PRIORITY);
    processes.add(child);
    child.once('exit', () => processes.delete(child));
    return child;
  }

  async function owned(name: string): Promise<string> {
    const path = join(folder, name);
    await mkdir(path, { mode: 0o700 });
    if (account) await chown(path, account.uid, account.gid);
    return path;
  }

  async function proxyTo(port: number): Promise<TcpProxy> {
    const proxy = await startTcpProxy(`postgresql://postgres:postgres@127.0.0.1:${port}/postgres`);
    proxies.push(proxy);
    return proxy;
  }

  if (account) await chown(folder, account.uid, account.gid);
  const etcd = { client: await freePort(), peer: await freePort() };
  const address = (port: number) => `http://127.0.0.1:${port}`;
  run(
    '/usr/bin/etcd',
    [
      `--data-dir=${await owned('etcd')}`,
      `--listen-client-urls=${address(etcd.client)}`,
      `--advertise-client-urls=${address(etcd.client)}`,
      `--listen-peer-urls=${address(etcd.peer)}`,
      `--initial-advertise-peer-urls=${address(etcd.peer)}`,
      `--initial-cluster=default=${address(etcd.peer)}`,
    ],
    join(folder, 'etcd.log'),
  );

  async function prepareServer(name: string): Promise<Server & { readonly port: number; readonly restPort: number }> {
    const [postgresPort, restPort] = [await freePort(), await freePort()];
    const inbound = await proxyTo(postgresPort);
    const rest = await proxyTo(restPort);
    const outbound = await proxyTo(etcd.client);
    const data = join(await owned(name), 'data');
    const file = join(folder, `${name}.yml`);
    const portOf = ({ url }: TcpProxy) => Number(new URL(url).port);
    const configuration = configurationOf({
      name,
      data,
      postgresPort,
      restPort,
      etcdPort: portOf(outbound),
      connectPort: portOf(inbound),
      connectRestPort: portOf(rest),
    });
    await writeFile(file, JSON.stringify(configuration));
    const links = [inbound, rest, outbound];
    let patroni: ChildProcess | undefined;

    const postmaster = async () => {
      const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
      return Number(text.split('\n', 1)[0]);
    };

    async function killPostgres(): Promise<void> {
      const pid = await postmaster();
      if (!pid) return;
      // The postmaster is killed first, because it would restart its children.
      const children = spawnSync('ps', ['-o', 'pid=', '--ppid', `${pid}`], { encoding: 'utf8' }).stdout.split('\n');
      for (const each of [pid, ...children.map(Number).filter(Boolean)]) killIfAlive(each);
    }

    return {
      name,
      url: inbound.url,
      port: portOf(inbound),
      restPort: portOf(rest),
      killPostgres,
      async kill() {
        const child = patroni;
        patroni = undefined;
        if (child?.exitCode === null) {
          child.kill('SIGKILL');
          await once(child, 'exit');
        }
        await killPostgres();
      },
      async start() {
        patroni = run('/usr/bin/patroni', [file], join(folder, `${name}.log`));
      },
      isolate: () => links.forEach((link) => link.stopForwarding()),
      rejoin: () => links.forEach((link) => link.resumeForwarding()),
    };
  }

  const servers = [await prepareServer('one'), await prepareServer('two'), await prepareServer('three')];
  const frontPort = await freePort();
  const haproxy = join(folder, 'haproxy.cfg');
  await writeFile(haproxy, haproxyConfiguration(frontPort, servers));

  async function members(): Promise<Member[]> {
    for (const { restPort } of servers) {
      try {
        const response = await fetch(`${address(restPort)}/cluster`, { signal: AbortSignal.timeout(1_000) });
        return ((await response.json()) as { members: Member[] }).members;
      } catch {
        // Another server answers.
      }
    }
    return [];
  }

  const reinitialized: string[] = [];

  async function reinitialize(name: string): Promise<void> {
    const other = servers.find((server) => server.name !== name);
    const args = ['-c', join(folder, `${other?.name}.yml`), 'reinit', 'gateway', name, '--force', '--wait'];
    await promisify(execFile)('/usr/bin/patronictl', args, { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' } });
  }

  async function healthy(): Promise<void> {
    let deadline = performance.now() + PATIENCE_MS;
    let seen = '';
    for (;;) {
      const all = await members();
      const roles = all.map(({ role }) => role).toSorted();
      const behind = all.filter(({ state }) => state !== 'running' && state !== 'streaming');
      if (roles.join() === 'leader,replica,sync_standby' && behind.length === 0) return;
      const states = all.map(({ name, state }) => `${name} ${state}`).join();
      if (states !== seen) deadline = performance.now() + PATIENCE_MS;
      seen = states;
      const stuck = performance.now() > deadline ? behind.filter(({ state }) => state !== COPYING) : [];
      for (const { name, state } of stuck) {
        reinitialized.push(`${name} (${state})`);
        await reinitialize(name);
      }
      await delay(200);
    }
  }

  async function serverOf(wanted: 'leader' | 'sync_standby'): Promise<Server> {
    for (;;) {
      const member = (await members()).find(({ role }) => role === wanted);
      const server = servers.find(({ name }) => name === member?.name);
      if (server) return server;
      await delay(200);
    }
  }
  const primary = () => serverOf('leader');
  const standby = () => serverOf('sync_standby');

  const [first, ...others] = servers;
  await first?.start();
  await untilAccepting(first?.url ?? '');
  for (const server of others) await server.start();
  await healthy();
  run('/usr/sbin/haproxy', ['-f', haproxy], join(folder, 'haproxy.log'));
  const url = `postgresql://postgres:postgres@127.0.0.1:${frontPort}/postgres`;
  await untilAccepting(url);

  return {
    url,
    servers,
    primary,
    standby,
    healthy,
    reinitialized,
    reinitialize,
    async switchOver() {
      const [leader, candidate] = await Promise.all([primary(), standby()]);
      const body = JSON.stringify({ leader: leader.name, candidate: candidate.name });
      const { restPort } = servers.find(({ name }) => name === leader.name) ?? { restPort: 0 };
      const response = await fetch(`${address(restPort)}/switchover`, { method: 'POST', body });
      if (!response.ok) throw new Error(`switchover: ${response.status} ${await response.text()}`);
    },
    async close() {
      for (const server of servers) await server.kill();
      await Promise.all([...processes].map(end));
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    },
  };
}

/** PostgreSQL and Patroni do not run as root; then they run as the system user `postgres`. */
function accountOf(user: string): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

async function untilAccepting(url: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return;
    } catch {
      await delay(200);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

interface ServerAddresses {
  readonly name: string;
  readonly data: string;
  readonly postgresPort: number;
  readonly restPort: number;
  readonly etcdPort: number;
  readonly connectPort: number;
  readonly connectRestPort: number;
}

/** JSON is YAML. */
function configurationOf({
  name,
  data,
  postgresPort,
  restPort,
  etcdPort,
  connectPort,
  connectRestPort,
}: ServerAddresses) {
  return {
    scope: 'gateway',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${connectRestPort}` },
    // Does not use the addresses that etcd announces, because they bypass the proxy.
    etcd3: { hosts: [`127.0.0.1:${etcdPort}`], use_proxies: true },
    bootstrap: {
      dcs: {
        ...SETTINGS,
        maximum_lag_on_failover: 1_048_576,
        // Patroni does not wait for the restart of a crashed primary.
        primary_start_timeout: 0,
        master_start_timeout: 0,
        synchronous_mode: true,
        // No commit is acknowledged without the confirmation of a standby.
        synchronous_mode_strict: true,
        postgresql: {
          use_pg_rewind: true,
          remove_data_directory_on_rewind_failure: true,
          remove_data_directory_on_diverged_timelines: true,
          parameters: {
            wal_log_hints: 'on',
            max_connections: 100,
            shared_buffers: '64MB',
            // A former primary can be rewound only as far back as it has its log.
            wal_keep_size: '1GB',
            // The servers of the test would share one socket directory.
            unix_socket_directories: '',
          },
        },
      },
      initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
    },
    postgresql: {
      listen: `127.0.0.1:${postgresPort}`,
      connect_address: `127.0.0.1:${connectPort}`,
      data_dir: data,
      bin_dir: '/usr/lib/postgresql/15/bin',
      pgpass: `${data}.pgpass`,
      // By default a copy waits for a checkpoint that takes minutes.
      basebackup: [{ checkpoint: 'fast' }],
      authentication: {
        superuser: { username: 'postgres', password: 'postgres' },
        replication: { username: 'replicator', password: 'replicator' },
        rewind: { username: 'rewind', password: 'rewind' },
      },
      pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256'],
    },
  };
}

/** The configuration of Patroni's documentation with shorter intervals. A server that is no longer the primary loses its connections. */
function haproxyConfiguration(port: number, servers: readonly { name: string; port: number; restPort: number }[]) {
  const lines = servers.map(
    ({ name, port: serverPort, restPort }) =>
      `  server ${name} 127.0.0.1:${serverPort} maxconn 100 check port ${restPort}`,
  );
  return `global
  maxconn 1000
defaults
  mode tcp
  retries 1
  timeout client 30m
  timeout server 30m
  timeout connect 2s
  timeout check 2s
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${lines.join('\n')}
`;
}
