import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isAlive } from './process.ts';

/** SQLITE_BUSY of sqlite.org/rescode.html. */
const SQLITE_BUSY = 5;
/** A process that was just killed may not have released its files, and a new owner may not have written its pid. */
const WAIT_MS = 500;

/**
 * Makes this process the owner of the data directory. Node has no flock(2), but its SQLite locks files through the
 * kernel, which releases the lock when the process ends, so no lock survives `kill -9` or a reboot. The file is never
 * removed, because removing it would allow two owners.
 * @returns a function that releases the lock
 * @throws Error if another process owns the directory (the message names its pid), or it is not writable
 */
export async function lock(dataDir: string): Promise<() => Promise<void>> {
  const pidFile = pidFileOf(dataDir);
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(join(dataDir, 'gateway.lock'), { timeout: WAIT_MS });
    file.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    await writeFile(pidFile, `${process.pid}\n`);
  } catch (cause) {
    file?.close();
    const message = cause instanceof Error ? cause.message : String(cause);
    if (!(cause instanceof Error && 'errcode' in cause && cause.errcode === SQLITE_BUSY)) {
      throw new Error(`The data directory ${dataDir} cannot be locked: ${message}.`, { cause });
    }
    throw new Error(
      `Another gateway (process ${await readOwner(dataDir)}) uses the database in ${dataDir}. ` +
        'Stop it, or give this one another DATA_DIR or DATABASE_URL.',
      { cause },
    );
  }
  const locked = file;
  return async () => {
    if (!locked.isOpen) return;
    await rm(pidFile, { force: true });
    locked.close();
  };
}

/** Whether the process that has last locked the data directory still runs. */
export async function hasOwner(dataDir: string): Promise<boolean> {
  const pid = await readOwner(dataDir);
  return pid > 0 && isAlive(pid);
}

const pidFileOf = (dataDir: string) => join(dataDir, 'gateway.pid');

/** 0 if it is unknown. */
const readOwner = async (dataDir: string): Promise<number> =>
  Number(await readFile(pidFileOf(dataDir), 'utf8').catch(() => ''));
