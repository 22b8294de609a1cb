import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, open, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Account,
  type PostgresBinaries,
  type SupervisedProcess,
  chooseAccount,
  giveTo,
  isAlive,
  isPostmaster,
  locatePostgres,
  spawnSupervised,
} from './embedded-postgres-process.ts';

/** A PostgreSQL server that belongs to this process and ends with it, however that ends. */
export interface EmbeddedPostgres {
  /** `postgresql://gateway:…@127.0.0.1:PORT/gateway`: a role that owns its database and may create others. */
  readonly url: string;
  readonly pid: number;
  /** Resolves when the server ends, wanted or not. */
  readonly exited: Promise<void>;
  /** Fast shutdown: open transactions are rolled back; harder after 10 s. Resolves when the server has ended; may be called again. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Created when absent. Holds `postgres/` (the cluster and its password), `gateway.lock` and `gateway.pid`. */
  readonly dataDir: string;
  /** Gets PostgreSQL's own log, line by line. */
  readonly log: (line: string) => void;
  /** Server settings, for example `{ fsync: 'off' }` for a cluster that may be lost, as tests have them. */
  readonly settings?: Record<string, string>;
}

/**
 * Starts the PostgreSQL server of a data directory, creating its cluster the first time. It listens on a free port of
 * 127.0.0.1. A server that an earlier owner left behind is stopped first.
 *
 * @throws Error when another gateway uses the directory (the message names its pid), when PostgreSQL cannot run on
 * this machine, or when it does not start (the message carries the end of its log)
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  await mkdir(options.dataDir, { recursive: true });
  // PostgreSQL shows this path in its command line, by which a running server is recognised.
  const dataDir = await realpath(options.dataDir);
  const release = await lock(dataDir);
  try {
    const { home, cluster, passwordFile } = layout(dataDir);
    const binaries = await locatePostgres();
    const account = await chooseAccount(binaries, dataDir, existsSync(home) ? cluster : undefined);
    if (!existsSync(home)) await createCluster(dataDir, binaries, account, options);
    await endOrphan(cluster, options.log);
    const password = await readFile(passwordFile, 'utf8');
    const { server, port } = await launch(cluster, binaries, account, options);
    const exited = server.exited.then(release);
    let stopping: Promise<void> | undefined;
    const stop = () => (stopping ??= end(server, exited));
    return { url: urlOf(password, port), pid: server.pid, exited, stop };
  } catch (error) {
    await release();
    throw error;
  }
}

/**
 * URL of the server that a running gateway keeps in this data directory, or undefined when none is ready there.
 *
 * @throws Error when the directory may not be read
 */
export async function findRunningEmbeddedPostgres(dataDir: string): Promise<string | undefined> {
  const { cluster, passwordFile } = layout(await realpath(dataDir).catch(() => dataDir));
  const postmaster = await readPostmaster(cluster);
  if (!postmaster?.ready || !(await isPostmaster(postmaster.pid, cluster))) return undefined;
  return urlOf(await readFile(passwordFile, 'utf8'), postmaster.port);
}

function layout(dataDir: string) {
  const home = join(dataDir, 'postgres');
  return { home, cluster: join(home, 'data'), passwordFile: join(home, 'password') };
}

function urlOf(password: string, port: number): string {
  return `postgresql://gateway:${password}@127.0.0.1:${port}/gateway`;
}

/**
 * Makes this process the owner of the data directory, or throws. Node has no flock(2), but the SQLite in it locks a
 * file through the kernel, which gives the lock to one of many at once and takes it back when the process ends, so
 * no lock outlives `kill -9` or a reboot. The file stays empty and stays there: to remove it would let two own it.
 */
async function lock(dataDir: string): Promise<() => Promise<void>> {
  const pidFile = join(dataDir, 'gateway.pid');
  // A moment of patience: a process that was just killed may not have let go of its files yet.
  const file = new DatabaseSync(join(dataDir, 'gateway.lock'), { timeout: 500 });
  try {
    file.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    await writeFile(pidFile, `${process.pid}\n`);
  } catch (cause) {
    file.close();
    const busy = cause instanceof Error && 'errcode' in cause && cause.errcode === sqliteBusy;
    if (!busy) throw new Error(`The data directory ${dataDir} cannot be locked. Who owns its files?`, { cause });
    throw new Error(
      `Another gateway (process ${await ownerPid(pidFile)}) uses the database in ${dataDir}. ` +
        'Stop it, or give this one a DATA_DIR or a DATABASE_URL of its own.',
      { cause },
    );
  }
  return async () => {
    if (!file.isOpen) return;
    await rm(pidFile, { force: true });
    file.close();
  };
}

/** SQLITE_BUSY of sqlite.org/rescode.html. */
const sqliteBusy = 5;

/** The owner may have the lock already and not yet have written its pid. */
async function ownerPid(pidFile: string): Promise<number | 'unknown'> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
    if (pid > 0 && isAlive(pid)) return pid;
    await delay(20);
  }
  return 'unknown';
}

/** In a folder of its own, which is renamed when it is complete: an interrupted creation leaves nothing to mistake. */
async function createCluster(
  dataDir: string,
  binaries: PostgresBinaries,
  account: Account | undefined,
  { log, settings }: EmbeddedPostgresOptions,
): Promise<void> {
  const prefix = 'postgres.unfinished-';
  const leftovers = (await readdir(dataDir)).filter((name) => name.startsWith(prefix));
  await Promise.all(leftovers.map((name) => rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 5 })));

  log(`creating a PostgreSQL cluster in ${dataDir}`);
  const unfinished = await mkdtemp(join(dataDir, prefix));
  const cluster = join(unfinished, 'data');
  const password = randomBytes(24).toString('base64url');
  await chmod(unfinished, 0o711);
  await mkdir(cluster, { mode: 0o700 });
  await giveTo(account, cluster);
  await writeFile(join(unfinished, 'password'), password, { mode: 0o600, flush: true });

  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = ['--username=postgres', '--auth-local=reject', '--auth-host=scram-sha-256'];
  const sync = settings?.fsync === 'off' ? ['--no-sync'] : [];
  await runToEnd([binaries.initdb, '-D', cluster, ...locale, ...access, ...sync], account, '');
  // The gateway's role is no superuser: SQL that it is tricked into can neither read files nor run programs.
  const sql = [
    `ALTER ROLE postgres PASSWORD '${password}';`,
    `CREATE ROLE gateway LOGIN CREATEDB PASSWORD '${password}';`,
    'CREATE DATABASE gateway OWNER gateway;',
  ].join('\n');
  // Without the last setting a failing statement, password included, would stand in the log.
  const single = toFlags({ ...settings, exit_on_error: 'on', log_min_error_statement: 'panic' });
  await runToEnd([binaries.postgres, '--single', '-D', cluster, ...single, 'postgres'], account, `${sql}\n`);

  await syncDirectory(unfinished);
  await rename(unfinished, layout(dataDir).home);
  await syncDirectory(dataDir);
}

async function runToEnd(command: [string, ...string[]], account: Account | undefined, input: string): Promise<void> {
  const lines: string[] = [];
  const child = await spawnSupervised(command, account, (line) => lines.push(line));
  child.stdin.end(input);
  await child.closed;
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed:\n${lines.slice(-20).join('\n')}`);
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path);
  await directory.sync();
}

/**
 * Ends the server of an owner that is gone: nobody but the holder of the lock may own one. Its watchdog has sent the
 * same SIGINT already, unless it was killed too.
 */
async function endOrphan(cluster: string, log: (line: string) => void): Promise<void> {
  const postmaster = await readPostmaster(cluster);
  if (!postmaster) return;
  const { pid } = postmaster;
  for (const { signal, patienceMs } of shutdowns) {
    if (!(await isPostmaster(pid, cluster))) break;
    log(`stopping PostgreSQL ${pid}, which an earlier gateway left behind (${signal})`);
    process.kill(pid, signal);
    const deadline = Date.now() + patienceMs;
    while (Date.now() < deadline && (await isPostmaster(pid, cluster))) await delay(20);
  }
  if (await isPostmaster(pid, cluster)) throw new Error(`PostgreSQL ${pid} on ${cluster} cannot be stopped.`);
  // PostgreSQL itself takes any living process with the pid of a dead server for that server, and would not start.
  if (isAlive(pid)) await rm(join(cluster, 'postmaster.pid'), { force: true });
}

/** Fast, immediate (recovers at the next start), and for a process that is stopped or hangs. */
const shutdowns = [
  { signal: 'SIGINT', patienceMs: 10_000 },
  { signal: 'SIGQUIT', patienceMs: 10_000 },
  { signal: 'SIGKILL', patienceMs: 5_000 },
] as const;

async function end(server: SupervisedProcess, exited: Promise<void>): Promise<void> {
  const ended = exited.then(() => true);
  for (const { signal, patienceMs } of shutdowns) {
    server.kill(signal);
    if (await Promise.race([ended, delay(patienceMs, false, { ref: false })])) return;
  }
  await exited;
}

/** Faults that pass: another program took the port first, or sessions of a killed server are still ending. */
const passing = /could not create any TCP\/IP sockets|pre-existing shared memory block/;

async function launch(
  cluster: string,
  { postgres }: PostgresBinaries,
  account: Account | undefined,
  { log, settings }: EmbeddedPostgresOptions,
): Promise<{ server: SupervisedProcess; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const lines: string[] = [];
    const ready = Promise.withResolvers<true>();
    const server = await spawnSupervised([postgres, '-D', cluster, ...serverFlags(port, settings)], account, (line) => {
      lines.push(line);
      if (lines.length > 20) lines.shift();
      if (line.includes('database system is ready to accept connections')) ready.resolve(true);
      log(line);
    });
    server.stdin.end();
    if (await Promise.race([ready.promise, server.closed])) return { server, port };
    const output = lines.join('\n');
    if (attempt === 50 || !passing.test(output)) throw new Error(`PostgreSQL did not start:\n${output}`);
    await delay(100);
  }
}

function serverFlags(port: number, settings: Record<string, string> | undefined): string[] {
  return toFlags({
    ...settings,
    port: `${port}`,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    // The line that says "ready" has to reach us, whatever postgresql.conf says.
    logging_collector: 'off',
    log_destination: 'stderr',
    lc_messages: 'C',
  });
}

function toFlags(settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('A TCP server has a port.');
  return address.port;
}

/** The lines of postmaster.pid: pid, data directory, start time, port, socket directory, address, memory, status. */
async function readPostmaster(cluster: string): Promise<{ pid: number; port: number; ready: boolean } | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return '';
  });
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  return pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' } : undefined;
}
