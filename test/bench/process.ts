import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NODE_ENVIRONMENT } from '../support/processes/programs.ts';

/** One of the servers, as a separate process. */
export interface Target {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<void>;
}

export interface TargetOptions {
  readonly name: string;
  readonly command: readonly [file: string, ...args: string[]];
  readonly env: Readonly<Record<string, string>>;
  /** The working directory, if it is not the checkout. */
  readonly root?: string;
  /** The folder for the output file. */
  readonly directory: string;
  /** Where it listens, if it does not print that. */
  readonly url?: string;
}

const STARTING_MS = 60_000;
let started = 0;
let isInterrupted = false;
const running = new Set<ChildProcess>();

/** Ends all started processes and prevents new ones, so that measurements fail and clean up. */
export function interrupt(): void {
  isInterrupted = true;
  for (const child of running) child.kill('SIGTERM');
}

const CHECKOUT = join(import.meta.dirname, '../..');

/** Starts a server and waits until it prints its address. Its variables are those that every program needs and the given ones. */
export async function startTarget({
  name,
  command: [program, ...args],
  env,
  root = CHECKOUT,
  directory,
  url,
}: TargetOptions): Promise<Target> {
  if (isInterrupted) throw new Error('interrupted');
  const file = join(directory, `${name}-${(started += 1)}.log`);
  await using log = await open(file, 'w');
  const { HOME = '' } = process.env;
  const child = spawn(program, args, {
    cwd: root,
    env: { HOME, ...NODE_ENVIRONMENT, ...env },
    stdio: ['ignore', log.fd, log.fd],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  try {
    const address = await (url === undefined ? addressIn(file, child) : answering(url, child));
    return { name, url: address, pid: child.pid ?? 0, stop: () => stop(child) };
  } catch (error) {
    await stop(child);
    throw error;
  }
}

async function addressIn(file: string, child: ChildProcess): Promise<string> {
  for (const deadline = Date.now() + STARTING_MS; Date.now() < deadline && child.exitCode === null; await delay(20)) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(await readFile(file, 'utf8'))?.[0];
    if (url) return url;
  }
  throw new Error(`it did not start:\n${await readFile(file, 'utf8')}`);
}

async function answering(url: string, child: ChildProcess): Promise<string> {
  for (const deadline = Date.now() + STARTING_MS; Date.now() < deadline && child.exitCode === null; await delay(50))
    if (
      await fetch(url).then(
        ({ body }) => body?.cancel().then(() => true),
        () => false,
      )
    )
      return url;
  throw new Error(`nothing listens at ${url}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await once(child, 'exit');
  clearTimeout(timer);
}

/** Ticks of `/proc/PID/stat` a second, on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** What `/proc/PID/stat` (proc(5)) says of a process: its parent, and the user and system time of itself and of its ended children, in ms. */
export async function statOf(pid: number): Promise<{ parent: number; cpuMs: number; childrenMs: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program name in parentheses, which may contain anything; these are the 4th, and the 14th to the 17th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ms = (first: number) => ((Number(fields[first]) + Number(fields[first + 1])) * 1000) / TICKS_PER_SECOND;
  return { parent: Number(fields[1]), cpuMs: ms(11), childrenMs: ms(13) };
}

/** User and system time of the process, in ms. */
export const cpuMs = async (pid: number): Promise<number> => (await statOf(pid)).cpuMs;

/** The largest resident size since the start, or since `forgetPeak`, in MiB. */
export const peakMiB = (pid: number) => statusMiB(pid, 'VmHWM');

/** The resident size now, in MiB. */
export const residentMiB = (pid: number) => statusMiB(pid, 'VmRSS');

async function statusMiB(pid: number, field: 'VmHWM' | 'VmRSS'): Promise<number> {
  const [, size] = new RegExp(`${field}:\\s+(\\d+) kB`).exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(size ?? 0) / 1024;
}

/** Resets the peak (proc(5), `clear_refs`). */
export async function forgetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
}
