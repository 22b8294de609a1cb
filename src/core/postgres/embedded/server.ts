import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, open, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LostServerError, keepServer, shutdowns } from './keeper.ts';
import { type Ownership, lock } from './lock.ts';
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
} from './process.ts';

/** A PostgreSQL server that belongs to this process and ends with it. If it ends earlier, it is restarted. */
export interface EmbeddedPostgres {
  /** `postgresql://gateway:…@127.0.0.1:PORT/gateway`: the role owns its database and may create others. Never changes. */
  readonly url: string;
  /** Changes with each restart. */
  readonly pid: number;
  /** Resolves when the server has ended and will not be restarted: it was stopped, or another process has its directory or port. */
  readonly exited: Promise<void>;
  /** Fast shutdown, which rolls back open transactions; harder after 10 s. Resolves when the server has ended; may be called again. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Created if missing. Contains `postgres/` (the cluster and its password), `gateway.lock` and `gateway.pid`. */
  readonly dataDir: string;
  /** Called with each line of PostgreSQL's log. */
  readonly log: (line: string) => void;
  /** Called with a sentence when the server ends unexpectedly, when a restart fails, and when it succeeds. */
  readonly report?: (sentence: string) => void;
  /** Server settings, for example `{ fsync: 'off' }` for a temporary cluster in tests. */
  readonly settings?: Record<string, string>;
  /** Password of the role `postgres` in a new cluster, for tests. Without it nobody can log in as a superuser. */
  readonly superuserPassword?: string;
  /** How often a launch is tried while its port is taken or an earlier server is still ending; 50 unless a test needs less. */
  readonly attempts?: number;
}

/**
 * Starts the PostgreSQL server of a data directory, and creates its cluster if necessary. It listens on a free port of 127.0.0.1. A server
 * that an earlier owner left behind is stopped first.
 * @throws Error if another gateway uses the directory (the message names its pid), if PostgreSQL cannot run on this machine, or if it does not
 * start (the message has the end of its log)
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  await mkdir(options.dataDir, { recursive: true });
  // PostgreSQL shows this path in its command line, which identifies a running server.
  const dataDir = await realpath(options.dataDir);
  const owned = await lock(dataDir);
  try {
    return await serveCluster(dataDir, owned, options);
  } catch (error) {
    await owned.release();
    throw error;
  }
}

async function serveCluster(
  dataDir: string,
  owned: Ownership,
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const { home, cluster, passwordFile } = layout(dataDir);
  const binaries = await locatePostgres();
  const account = await chooseAccount(binaries, dataDir, existsSync(home) ? cluster : undefined);
  if (!existsSync(home)) await createCluster(dataDir, binaries, account, options);
  const password = await readFile(passwordFile, 'utf8');
  let port: number | undefined;
  let lastWords = '';
  const log = (line: string) => {
    lastWords = telling.exec(line)?.[0] ?? lastWords;
    options.log(line);
  };
  const server = await keepServer({
    start: async (onSpawn, signal) => {
      if (!(await owned.isOurs())) throw new LostServerError(`The data directory ${dataDir} is no longer ours`);
      await endOrphan(cluster, log);
      lastWords = '';
      port = await launch({ ...options, cluster, binaries, account, log, port, onSpawn, signal });
    },
    lastWords: () => lastWords,
    report: options.report ?? (() => undefined),
  });
  if (port === undefined) throw new Error('A server that is ready has a port.');
  const exited = server.ended.then(() => owned.release());
  return {
    url: urlOf(password, port),
    get pid() {
      return server.pid;
    },
    exited,
    stop: async () => {
      await server.stop();
      await exited;
    },
  };
}

/** Log lines that explain why PostgreSQL ended. */
const telling = /(?:PANIC|FATAL): +could not .*/;
/** Answers to clients before it is ready. */
const refusal = /FATAL: +the database system is |DETAIL: +Consistent recovery state /;

/**
 * The URL of the server that a running gateway has started in this data directory, or undefined if none is ready.
 * @throws Error if the directory is not readable
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

/** Creates it in a temporary folder, which is renamed when it is complete, so that an interrupted creation leaves no partial cluster. */
async function createCluster(
  dataDir: string,
  binaries: PostgresBinaries,
  account: Account | undefined,
  { log, settings, superuserPassword }: EmbeddedPostgresOptions,
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
  // The gateway's role is not a superuser, so injected SQL can neither read files nor run programs.
  const sql = [
    `ALTER ROLE postgres PASSWORD ${superuserPassword === undefined ? 'NULL' : `'${superuserPassword}'`};`,
    `CREATE ROLE gateway LOGIN CREATEDB PASSWORD '${password}';`,
    'CREATE DATABASE gateway OWNER gateway;',
  ].join('\n');
  // Without the last setting, the log would contain failing statements, including the password.
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

/** Stops the server of a dead owner; the caller has the lock. Its watchdog has already sent the same SIGINT, unless that was killed, too. */
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
  // PostgreSQL treats any living process with the pid of a dead server as that server, and would not start.
  if (isAlive(pid)) await rm(join(cluster, 'postmaster.pid'), { force: true });
}

const portTaken = /could not create any TCP\/IP sockets/;
/** Temporary errors: sessions of a killed server are still ending, or a killed owner was just starting a server. */
const passing = /pre-existing shared memory block|lock file "postmaster.pid" already exists/;

interface Launch extends Pick<EmbeddedPostgresOptions, 'attempts' | 'log' | 'settings'> {
  readonly cluster: string;
  readonly binaries: PostgresBinaries;
  readonly account: Account | undefined;
  /** The port of an earlier launch, which clients know; otherwise any free port. */
  readonly port: number | undefined;
  readonly onSpawn: (server: SupervisedProcess) => void;
  readonly signal: AbortSignal;
}

/** Resolves to the port when the server is ready. */
async function launch(options: Launch): Promise<number> {
  const { cluster, binaries, account, attempts = 50, settings, log, onSpawn, signal } = options;
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    const lines: string[] = [];
    const ready = Promise.withResolvers<true>();
    signal.throwIfAborted();
    const command: [string, ...string[]] = [binaries.postgres, '-D', cluster, ...serverFlags(port, settings)];
    const server = await spawnSupervised(command, account, (line) => {
      if (!refusal.test(line)) lines.push(line);
      if (lines.length > 20) lines.shift();
      if (line.includes('database system is ready to accept connections')) ready.resolve(true);
      log(line);
    });
    onSpawn(server);
    server.stdin.end();
    if (await Promise.race([ready.promise, server.closed])) {
      await becomeFindable(cluster, server);
      return port;
    }
    const output = lines.join('\n');
    const isTaken = portTaken.test(output);
    if (attempt === attempts || !(isTaken || passing.test(output))) {
      const Reason = isTaken && options.port !== undefined ? LostServerError : Error;
      throw new Reason(`PostgreSQL did not start:\n${output}`);
    }
    await delay(100);
  }
}

/**
 * PostgreSQL reports that it is ready just before it writes that to `postmaster.pid`, where other processes look for it. Resolves when it is
 * written, or the server has ended.
 */
async function becomeFindable(cluster: string, server: SupervisedProcess): Promise<void> {
  let hasEnded = false;
  void server.exited.then(() => (hasEnded = true));
  while (!hasEnded && !(await readPostmaster(cluster))?.ready) await delay(1);
}

function serverFlags(port: number, settings: Record<string, string> | undefined): string[] {
  return toFlags({
    ...settings,
    port: `${port}`,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    // After a crash of a backend we start a new server. PostgreSQL 18 can hang if its own restart fails because the disk is full.
    restart_after_crash: 'off',
    // We must receive the line that contains "ready", whatever postgresql.conf contains.
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
