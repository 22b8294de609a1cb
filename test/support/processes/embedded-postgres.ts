// Embedded PostgreSQL servers, started in this process or in a process that can be killed.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { z } from 'zod';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/core/postgres/embedded/server.ts';
import { NODE_ENVIRONMENT } from './programs.ts';

export const checkout = join(import.meta.dirname, '../../..');

/** In the system's temporary folder, which every user may enter. Some tests need that, because they run as other users. */
export const base = join(tmpdir(), `embedded-postgres-${randomUUID()}`);

/** The data directory that most tests share, so that their server starts on existing data. */
export const dataDir = join(base, 'data');

const WITHOUT_FSYNC = { fsync: 'off' };
const owners = new Set<ChildProcess>();
const servers = new Set<EmbeddedPostgres>();

export async function startInProcess(
  directory = dataDir,
  lines: string[] = [],
  settings: Record<string, string> = WITHOUT_FSYNC,
) {
  const server = await startEmbeddedPostgres({ dataDir: directory, log: (line) => lines.push(line), settings });
  servers.add(server);
  return server;
}

/** Creates the shared data directory. */
export async function setUp(): Promise<void> {
  await mkdir(base);
  // `mkdir` applies the umask, so the mode is set separately.
  await chmod(base, 0o755);
  await (await startInProcess()).stop();
}

/** The URL of a server for its superuser. */
export function superuserUrl(serverUrl: string): string {
  const url = new URL(serverUrl);
  url.username = 'postgres';
  url.password = SUPERUSER_PASSWORD;
  return url.href;
}

/** The password of the superuser, in tests that connect as superuser. */
export const SUPERUSER_PASSWORD = 'superuser-of-tests';

/** Stops all servers. Call it after each test. */
export async function stopAll(): Promise<void> {
  await Promise.all([...[...owners].map(killOwner), ...[...servers].map((server) => server.stop())]);
  servers.clear();
}

export async function removeBase(): Promise<void> {
  await killProcessesOf(base);
  await rm(base, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
}

/** Kills servers that killed owners left behind in a folder that is about to be removed. */
export async function killProcessesOf(folder: string): Promise<void> {
  for (const { pid } of await processesOf(`/postgres -D ${folder}/`)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has just ended.
    }
  }
}

const outcomeLine = z.object({ url: z.string().optional(), pid: z.number().optional(), error: z.string().optional() });
type Outcome = z.output<typeof outcomeLine>;

interface OwnerOptions {
  root?: string;
  prefix?: string[];
  settings?: string[];
  uid?: number;
  /** The program that runs the owner. */
  node?: string;
}

/**
 * Starts a Node process, in a separate process group, that owns the server of a data directory. `outcome` is the
 * result of the server's start.
 */
export function startOwner(
  directory = dataDir,
  { root = checkout, prefix = [], settings = ['fsync=off'], uid, node = process.execPath }: OwnerOptions = {},
) {
  const script = join(root, 'test/support/processes/embedded-postgres-owner.ts');
  const [file = '', ...args] = [...prefix, node, script, directory, ...settings];
  const ids = uid !== undefined && { uid, gid: uid };
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: root,
    env: { ...process.env, ...NODE_ENVIRONMENT },
    detached: true,
    ...ids,
  });
  owners.add(child);
  let log = '';
  child.stderr.on('data', (chunk) => (log += chunk));
  const outcome = new Promise<Outcome>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => resolve(outcomeLine.parse(JSON.parse(line))));
    child.once('close', () => reject(new Error(`the owner printed no outcome:\n${log}`)));
  });
  outcome.catch(() => {});
  return { child, outcome };
}

export async function killOwner(child: ChildProcess): Promise<void> {
  owners.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** The URL and pid of a server. Fails if it did not start. */
export async function started({ outcome }: { outcome: Promise<Outcome> }): Promise<{ url: string; pid: number }> {
  const { url, pid, error } = await outcome;
  if (url === undefined || pid === undefined) throw new Error(error);
  return { url, pid };
}

export async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const hasProc = process.platform === 'linux';

/** Whether the process is running. A zombie, which has ended, is not. */
export async function isAlive(pid: number): Promise<boolean> {
  if (!hasProc) return processTable().some((row) => row.pid === pid && !row.state.startsWith('Z'));
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The second field is the program's name in brackets. It may contain brackets and spaces itself.
  return status !== '' && !status.slice(status.lastIndexOf(')')).startsWith(') Z');
}

/** Every process whose command line contains the text. */
export async function processesOf(text: string): Promise<{ pid: number; line: string }[]> {
  if (!hasProc) return processTable().filter(({ line }) => line.includes(text));
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = pids.map(async (pid) => ({
    pid: Number(pid),
    // The file is missing if the process has just ended.
    line: (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' '),
  }));
  return (await Promise.all(lines)).filter(({ line }) => line.includes(text));
}

/** For systems without `/proc`, such as macOS. */
function processTable(): { pid: number; state: string; line: string }[] {
  const output = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,stat=,args='], { encoding: 'utf8' });
  return output.split('\n').flatMap((row) => {
    const [, pid, state = '', line = ''] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(row) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), state, line }];
  });
}
