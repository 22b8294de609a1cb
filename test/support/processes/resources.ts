import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';

/** What other processes use of the machine, which only Linux shows: elsewhere they have no memory and all of the CPU. */

const isShown = existsSync('/proc/self/schedstat');

async function mibOf(pid: number, what: 'VmRSS' | 'VmHWM'): Promise<number> {
  if (!isShown) return 0;
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) / 1024;
}

export const residentMib = (pid: number) => mibOf(pid, 'VmRSS');

/** The most memory that the process had since the last {@link resetPeak}. */
export const peakMib = (pid: number) => mibOf(pid, 'VmHWM');

export async function resetPeak(pid: number): Promise<void> {
  if (isShown) await writeFile(`/proc/${pid}/clear_refs`, '5');
}

/** How long the main thread of a process ran, and how long it could not because others had the CPU, in ns. */
interface Scheduled {
  readonly ran: number;
  readonly delayed: number;
}

export async function scheduled(pid: number): Promise<Scheduled> {
  if (!isShown) return { ran: 1, delayed: 0 };
  const [ran = 0, delayed = 0] = (await readFile(`/proc/${pid}/schedstat`, 'utf8')).split(' ').map(Number);
  return { ran, delayed };
}

/** The part of the CPU that the process got of what it could have used, from 0 to 1. */
export function shareBetween(before: Scheduled, after: Scheduled): number {
  const [ran, delayed] = [after.ran - before.ran, after.delayed - before.delayed];
  return ran + delayed === 0 ? 1 : ran / (ran + delayed);
}
