/** One process at a time sends transcripts. */

import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { say } from './common.ts';
import { isRunning } from './spool.ts';

/** The holder writes its lock anew so often, and one that is older than the second is not held: its id can be that of another process now. */
const TOUCH_MS = 10_000;
const STALE_MS = 60_000;
const WAIT_MS = 500;

function isHeld(lock: string) {
  try {
    if (Date.now() - fs.statSync(lock).mtimeMs > STALE_MS) return false;
    const pid = Number(fs.readFileSync(lock, 'utf8'));
    // It is empty for a moment, while it is created.
    return pid === 0 || isRunning(pid);
  } catch {
    return false;
  }
}

/** Lets the process that holds the lock do its work once more. @returns whether there is one */
export function leaveToOther(base: string): boolean {
  const lock = join(base, 'sync.lock');
  if (!isHeld(lock)) return false;
  fs.writeFileSync(join(base, 'sync.again'), '');
  // It can have ended before it saw that.
  return isHeld(lock);
}

/** @returns whether this process holds it now */
function take(lock: string): boolean {
  const own = `${lock}.${randomUUID()}`;
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch {
    if (isHeld(lock)) return false;
  }
  try {
    // Of several processes that find an old lock, one moves it away.
    fs.renameSync(lock, own);
    if (isHeld(own)) {
      // It was the new lock of another one.
      fs.renameSync(own, lock);
      return false;
    }
    fs.rmSync(own);
  } catch {
    // Another one has.
  }
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}

/** Runs the work unless another process does; that one then does it once more, so that nothing of this call is left. Work that is another one waits. */
export async function locked(base: string, work: () => Promise<void>, waits = false) {
  const [lock, again] = [join(base, 'sync.lock'), join(base, 'sync.again')];
  fs.mkdirSync(base, { recursive: true, mode: 0o700 });
  do {
    if (waits && !take(lock)) {
      say('another process sends transcripts; this one waits for its end');
      while (!take(lock)) await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    } else if (!waits && !take(lock)) {
      fs.writeFileSync(again, '');
      // The other one can have ended before it saw that.
      if (!take(lock)) return;
    }
    const touching = setInterval(() => fs.utimes(lock, new Date(), new Date(), () => undefined), TOUCH_MS);
    touching.unref();
    try {
      fs.rmSync(again, { force: true });
      await work();
    } finally {
      clearInterval(touching);
      fs.rmSync(lock, { force: true });
    }
  } while (fs.existsSync(again));
}
