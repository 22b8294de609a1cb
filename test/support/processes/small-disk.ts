import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory, whenProcessesEnded } from './process.ts';

export const NOT_ALLOWED = 'only root can mount the small file system for this test, and not in every container';

/** Mounts a small file system, so that the machine's is not filled. Undefined if that is not allowed, because it requires root. */
export async function smallDisk(size: string): Promise<string | undefined> {
  const folder = join(await temporaryDirectory(), 'disk');
  mkdirSync(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  whenProcessesEnded(async () => void execFileSync('umount', ['--lazy', folder]));
  return folder;
}

/** Fills the disk to the last block. */
export function fill(file: string): void {
  for (let size = 1024 * 1024; size >= 512;) {
    try {
      appendFileSync(file, Buffer.alloc(size));
    } catch {
      size /= 2;
    }
  }
}
