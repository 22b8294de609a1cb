import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from './process.ts';

export interface Ownership {
  /** Not when the directory was removed, even if there is another of its name: that is somebody else's. */
  isOurs(): Promise<boolean>;
  release(): Promise<void>;
}

/**
 * Makes this process the owner of the data directory, or throws. Node has no flock(2), but the SQLite in it locks a
 * file through the kernel, which gives the lock to one of many at once and takes it back when the process ends, so
 * no lock outlives `kill -9` or a reboot. The file stays empty and stays there: to remove it would let two own it.
 *
 * @throws Error when another process owns it (the message names its pid), or the directory cannot be written
 */
export async function lock(dataDir: string): Promise<Ownership> {
  const pidFile = join(dataDir, 'gateway.pid');
  const lockFile = join(dataDir, 'gateway.lock');
  // A moment of patience: a process that was just killed may not have let go of its files yet.
  const file = new DatabaseSync(lockFile, { timeout: 500 });
  try {
    file.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    await writeFile(pidFile, `${process.pid}\n`);
  } catch (cause) {
    file.close();
    const busy = cause instanceof Error && 'errcode' in cause && cause.errcode === sqliteBusy;
    const full = cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC';
    if (full) throw new Error(`The disk of the data directory ${dataDir} is full.`, { cause });
    if (!busy) throw new Error(`The data directory ${dataDir} cannot be locked. Who owns its files?`, { cause });
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

/** The owner may have the lock already and not yet have written its pid. */
async function ownerPid(pidFile: string): Promise<number | 'unknown'> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
    if (pid > 0 && isAlive(pid)) return pid;
    await delay(20);
  }
  return 'unknown';
}
