import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hasOwner, lock } from './lock.ts';
import {
  type Account,
  type PostgresBinaries,
  type Program,
  chooseAccount,
  giveTo,
  isAlive,
  isPostmaster,
  locatePostgres,
  startProgram,
} from './process.ts';

/** A PostgreSQL server for trying and developing. It belongs to this process and is not restarted. */
export interface EmbeddedPostgres {
  /** `postgresql://gateway:…@127.0.0.1:PORT/gateway`: the role owns its database and may create others. */
  readonly url: string;
  readonly pid: number;
  /** Resolves when the server has ended, with a sentence that says how. */
  readonly ended: Promise<string>;
  /** Fast shutdown, which rolls back open transactions; a kill after 10 s. Resolves when the server has ended; may be called again. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Created if missing. Contains `postgres/` (the cluster and its password), `gateway.lock` and `gateway.pid`. */
  readonly dataDir: string;
  /** Called with each line of PostgreSQL's log. */
  readonly log: (line: string) => void;
  /** Server settings, for example `{ fsync: 'off' }` for a temporary cluster in tests. */
  readonly settings?: Record<string, string>;
  /** Password of the role `postgres` in a new cluster, for tests. Without it nobody can log in as a superuser. */
  readonly superuserPassword?: string;
}

/** How long a fast shutdown may take before the server is killed. */
const SHUTDOWN_MS = 10_000;
const POLL_MS = 5;

/**
 * Starts the PostgreSQL server of a data directory, and creates its cluster if necessary. It listens on a free port of 127.0.0.1. A server
 * that a killed owner left behind is stopped first.
 * @throws Error if another gateway uses the directory (the message names its pid), if PostgreSQL cannot run on this
 * machine, or if it does not start (the message has the last error of its log)
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  await mkdir(options.dataDir, { recursive: true });
  // PostgreSQL shows this path in its command line, which identifies a running server.
  const dataDir = await realpath(options.dataDir);
  const unlock = await lock(dataDir);
  try {
    const { launched, url } = await serveCluster(dataDir, options);
    const { server } = launched;
    const interrupt = () => server.kill('SIGINT');
    // For an end of this process that does not call stop(). After a `kill -9` the next start stops the server.
    process.once('exit', interrupt);
    const ended = server.ended.then(async (how) => {
      process.off('exit', interrupt);
      await unlock();
      return sentenceAbout(launched, how);
    });
    const stop = async () => {
      interrupt();
      await Promise.race([ended, delay(SHUTDOWN_MS, undefined, { ref: false })]);
      server.kill('SIGKILL');
      await ended;
    };
    return { url, pid: server.pid, ended, stop };
  } catch (error) {
    await unlock();
    throw error;
  }
}

async function serveCluster(dataDir: string, options: EmbeddedPostgresOptions) {
  const { home, cluster, passwordFile } = layout(dataDir);
  const binaries = await locatePostgres();
  const account = await chooseAccount(binaries, dataDir, existsSync(home) ? cluster : undefined);
  if (!existsSync(home)) await createCluster(dataDir, binaries, account, options);
  const launched = await launch(cluster, binaries, account, options);
  return { launched, url: urlOf(await readFile(passwordFile, 'utf8'), launched.port) };
}

function sentenceAbout({ server: { pid }, failure }: Launched, how: number | NodeJS.Signals): string {
  const end = typeof how === 'number' ? `with status ${how}` : `by ${how}`;
  const reason = failure();
  return `the embedded PostgreSQL (process ${pid}) has ended ${end}${reason === undefined ? '' : `: ${reason}`}`;
}

/**
 * The URL of the server that a running gateway has started in this data directory, or undefined if none is ready.
 * @throws Error if the directory is not readable
 */
export async function findRunningEmbeddedPostgres(dataDir: string): Promise<string | undefined> {
  const { cluster, passwordFile } = layout(await realpath(dataDir).catch(() => dataDir));
  if (!(await hasOwner(dataDir))) return undefined;
  const postmaster = await readPostmaster(cluster);
  if (!postmaster?.ready || !(await isPostmaster(postmaster.pid, cluster))) return undefined;
  return urlOf(await readFile(passwordFile, 'utf8'), postmaster.port);
}

function layout(dataDir: string) {
  const home = join(dataDir, 'postgres');
  return { home, cluster: join(home, 'data'), passwordFile: join(home, 'password') };
}

const urlOf = (password: string, port: number): string => `postgresql://gateway:${password}@127.0.0.1:${port}/gateway`;

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
  await writeFile(join(unfinished, 'password'), password, { mode: 0o600 });

  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = ['--username=postgres', '--auth-local=reject', '--auth-host=scram-sha-256'];
  const sync = settings?.fsync === 'off' ? ['--no-sync'] : [];
  await runToEnd([binaries.initdb, '-D', cluster, ...locale, ...access, ...sync], account);
  // The gateway's role is not a superuser, so injected SQL can neither read files nor run programs.
  const sql = [
    `ALTER ROLE postgres PASSWORD ${superuserPassword === undefined ? 'NULL' : `'${superuserPassword}'`};`,
    `CREATE ROLE gateway LOGIN CREATEDB PASSWORD '${password}';`,
    'CREATE DATABASE gateway OWNER gateway;',
  ].join('\n');
  // Without the last setting, the log would contain failing statements, including the password.
  const single = toFlags({ ...settings, exit_on_error: 'on', log_min_error_statement: 'panic' });
  await runToEnd([binaries.postgres, '--single', '-D', cluster, ...single, 'postgres'], account, `${sql}\n`);
  await rename(unfinished, layout(dataDir).home);
}

async function runToEnd(command: [string, ...string[]], account: Account | undefined, input?: string): Promise<void> {
  const program = await startProgram(command, account, () => undefined, input);
  if ((await program.ended) !== 0) throw new Error(`${basename(command[0])} failed: ${reasonOf(program)}`);
}

/** Why a program has ended, in one line: its last error, with the details and hints that follow it. */
function reasonOf({ lastLines }: Program): string {
  const last = lastLines.findLastIndex((line) => /\b(?:PANIC|FATAL|ERROR|error):/.test(line));
  const more = lastLines.slice(last + 1).filter((line) => /\b(?:DETAIL|HINT|detail|hint):|^\t/.test(line));
  const lines = last < 0 ? lastLines.slice(-1) : [lastLines[last] ?? '', ...more];
  // Without the time and the process id.
  return lines.map((line) => line.replace(/^[-\d]+ [\d:.]+ \w+ \[\d+\] /, '').trim()).join(' ');
}

/** Stops the server of a killed owner; the caller has the lock. */
async function stopLeftover(cluster: string, log: (line: string) => void): Promise<void> {
  const { pid } = (await readPostmaster(cluster)) ?? {};
  if (pid === undefined) return;
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    if (!(await isPostmaster(pid, cluster))) break;
    log(`stopping PostgreSQL ${pid}, which an earlier gateway left behind (${signal})`);
    process.kill(pid, signal);
    const deadline = performance.now() + SHUTDOWN_MS;
    while (performance.now() < deadline && (await isPostmaster(pid, cluster))) await delay(POLL_MS);
  }
  if (await isPostmaster(pid, cluster)) throw new Error(`PostgreSQL ${pid} on ${cluster} cannot be stopped.`);
  // PostgreSQL treats any living process with the pid of a dead server as that server, and would not start.
  if (isAlive(pid)) await rm(join(cluster, 'postmaster.pid'), { force: true });
}

/**
 * Temporary errors: another program has just taken the port, sessions of a killed server are still ending, or a killed
 * owner was just starting a server.
 */
const PASSING =
  /could not create any TCP\/IP sockets|pre-existing shared memory block|lock file "postmaster.pid" already exists/;
const ATTEMPTS = 50;

interface Launched {
  readonly server: Program;
  readonly port: number;
  /** The last line that says why the server could not go on. Those of refused connections may follow it. */
  readonly failure: () => string | undefined;
}

const FAILURE = /(?:PANIC|FATAL): +could not /;

/** Resolves when the server is ready. */
async function launch(
  cluster: string,
  binaries: PostgresBinaries,
  account: Account | undefined,
  { log, settings }: EmbeddedPostgresOptions,
): Promise<Launched> {
  for (let attempt = 1; ; attempt++) {
    await stopLeftover(cluster, log);
    const port = await freePort();
    let failure: string | undefined;
    const onLine = (line: string) => {
      if (FAILURE.test(line)) failure = line;
      log(line);
    };
    const command: [string, ...string[]] = [binaries.postgres, '-D', cluster, ...serverFlags(port, settings)];
    const server = await startProgram(command, account, onLine);
    if (await isReady(server, cluster)) return { server, port, failure: () => failure };
    const output = server.lastLines.join('\n');
    if (attempt === ATTEMPTS || !PASSING.test(output))
      throw new Error(`PostgreSQL did not start: ${reasonOf(server)} (LOG_LEVEL=debug shows its log)`);
    await delay(100);
  }
}

/** Resolves to true when the server accepts connections, and to false when it has ended before. */
async function isReady(server: Program, cluster: string): Promise<boolean> {
  const hasEnded = server.ended.then(() => true);
  do {
    const postmaster = await readPostmaster(cluster);
    if (postmaster?.pid === server.pid && postmaster.ready) return true;
  } while (!(await Promise.race([hasEnded, delay(POLL_MS, false)])));
  return false;
}

const serverFlags = (port: number, settings: Record<string, string> | undefined): string[] =>
  toFlags({
    ...settings,
    port: `${port}`,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    // After a crash of a backend the server ends, and the gateway with it. PostgreSQL 18 can hang in a restart of its own on a full disk.
    restart_after_crash: 'off',
    // Its log must arrive here, in English, whatever postgresql.conf contains.
    logging_collector: 'off',
    log_destination: 'stderr',
    lc_messages: 'C',
  });

const toFlags = (settings: Record<string, string>): string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

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
