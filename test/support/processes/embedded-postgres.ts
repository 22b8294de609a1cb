// What the tests of the embedded PostgreSQL share: servers in this process, servers of a process to be killed.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { expect, vi } from 'vitest';
import { z } from 'zod';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/core/embedded-postgres.ts';

export const checkout = join(import.meta.dirname, '../../..');

/** In the system's temporary folder, which every user may enter: what other users are tested for depends on it. */
export const base = join(tmpdir(), `embedded-postgres-${randomUUID()}`);

/** The cluster that most tests share, as later starts of a gateway do. */
export const dataDir = join(base, 'data');

const quick = { fsync: 'off' };
const owners = new Set<ChildProcess>();
const servers = new Set<EmbeddedPostgres>();

export async function inProcess(
  directory = dataDir,
  lines: string[] = [],
  settings: Record<string, string> = quick,
  reports: string[] = [],
) {
  const log = (line: string) => lines.push(line);
  const report = (sentence: string) => reports.push(sentence);
  const server = await startEmbeddedPostgres({ dataDir: directory, log, report, settings });
  servers.add(server);
  return server;
}

/** Makes the shared cluster. */
export async function setUp(): Promise<void> {
  await mkdir(base);
  // Whatever the umask.
  await chmod(base, 0o755);
  await (await inProcess()).stop();
}

/** After each test, passed or failed. */
export async function endAll(): Promise<void> {
  await Promise.all([...[...owners].map(killOwner), ...[...servers].map((server) => server.stop())]);
  servers.clear();
}

export const removeBase = () => rm(base, { recursive: true, force: true });

const outcomeLine = z.object({ url: z.string().optional(), pid: z.number().optional(), error: z.string().optional() });
type Outcome = z.output<typeof outcomeLine>;

interface Owning {
  root?: string;
  prefix?: string[];
  settings?: string[];
  uid?: number;
}

/**
 * A Node process, with a process group of its own, that owns the server of a data directory; `outcome` is what it said
 * about its start.
 */
export function own(directory = dataDir, { root = checkout, prefix = [], settings = ['fsync=off'], uid }: Owning = {}) {
  const script = join(root, 'test/support/processes/embedded-postgres-owner.ts');
  const [file = '', ...args] = [...prefix, process.execPath, script, directory, ...settings];
  const ids = uid !== undefined && { uid, gid: uid };
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: root, detached: true, ...ids });
  owners.add(child);
  let log = '';
  child.stderr.on('data', (chunk) => (log += chunk));
  const outcome = new Promise<Outcome>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => resolve(outcomeLine.parse(JSON.parse(line))));
    child.once('close', () => reject(new Error(`said nothing:\n${log}`)));
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

/** The URL and pid of a server that must have started. */
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

/** Whether the process runs; one that ended and that nobody has asked for its status yet does not. */
export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', `${pid}`], { encoding: 'utf8' });
  return /^\s*[^\sZ]/.test(stdout);
}

export async function gone(pid: number): Promise<void> {
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 20_000, interval: 20 });
}

/** Every process whose command line names the text. */
export async function processesOf(text: string): Promise<{ pid: number; line: string }[]> {
  const output = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,args='], { encoding: 'utf8' });
  return output.split('\n').flatMap((row) => {
    const [, pid, line = ''] = /^\s*(\d+) (.*)$/.exec(row) ?? [];
    return line.includes(text) ? [{ pid: Number(pid), line }] : [];
  });
}

export async function watchdogOf(directory: string): Promise<number> {
  const found = (await processesOf(join(directory, 'postgres/data'))).filter(({ line }) => line.startsWith('/bin/sh'));
  expect(found).toHaveLength(1);
  return found[0]?.pid ?? 0;
}
