import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from './process.ts';

export interface Ownership {
  /** False if the directory was removed, even if another one now has its name. */
  isOurs(): Promise<boolean>;
  release(): Promise<void>;
}

/**
 * Makes this process the owner of the data directory, or throws. Node has no flock(2), but its SQLite locks files through the kernel, which
 * releases the lock when the process ends, so no lock survives `kill -9` or a reboot. The file is empty and never removed, because removing it
 * would allow two owners.
 * @throws Error if another process owns it (the message names its pid), or the directory is not writable
 */
export async function lock(dataDir: string): Promise<Ownership> {
  const pidFile = join(dataDir, 'gateway.pid');
  const lockFile = join(dataDir, 'gateway.lock');
  // Retry shortly: a process that was just killed may not have released its files.
  const file = new DatabaseSync(lockFile, { timeout: 500 });
  try {
    file.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    await writeFile(pidFile, `${process.pid}\n`);
  } catch (cause) {
    file.close();
    const busy = cause instanceof Error && 'errcode' in cause && cause.errcode === sqliteBusy;
    const full = cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC';
    if (full) throw new Error(`The disk of the data directory ${dataDir} is full.`, { cause });
    if (!busy)
      throw new Error(`The data directory ${dataDir} cannot be locked. Check the owner of its files.`, { cause });
    throw new Error(
      `Another gateway (process ${await ownerPid(pidFile)}) uses the database in ${dataDir}. ` +
        'Stop it, or give this one another DATA_DIR or DATABASE_URL.',
      { cause },
    );
  }
  const { ino } = await stat(lockFile);
  const isOurs = () =>
    stat(lockFile).then(
      (found) => found.ino === ino,
      (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
    );
  const release = async () => {
    if (!file.isOpen) return;
    if (await isOurs()) await rm(pidFile, { force: true });
    file.close();
  };
  return { isOurs, release };
}

/** SQLITE_BUSY of sqlite.org/rescode.html. */
const sqliteBusy = 5;

/** The owner may have taken the lock without having written its pid yet. */
async function ownerPid(pidFile: string): Promise<number | 'unknown'> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
    if (pid > 0 && isAlive(pid)) return pid;
    await delay(20);
  }
  return 'unknown';
}
