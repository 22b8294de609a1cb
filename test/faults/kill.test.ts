import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { type Send, startWriting } from '../support/oracles/ledger.ts';
import { type GatewayProcess, endProcesses, startGateway, temporaryDirectory } from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';
import { SEED, random } from '../support/random.ts';

afterEach(endProcesses);

const ROUNDS = full ? 50 : 8;

const pidIn = async (file: string) => Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]);

function kill(pid: number): void {
  // There was no such file: to a pid of 0 the signal would be for ourselves.
  if (!(pid > 0)) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

test('killed again and again, with its database and in the middle of its start: nothing acknowledged is lost, nothing doubled', async () => {
  const env = { DATA_DIR: await temporaryDirectory(), RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' };
  const postmaster = join(env.DATA_DIR, 'postgres/data/postmaster.pid');
  const next = random(SEED);
  let gateway: GatewayProcess | undefined = await startGateway(env);
  const { key } = gateway;
  const send: Send = async (path, init) => {
    while (!gateway) await delay(20);
    return fetch(gateway.url + path, init);
  };
  const ledger = startWriting(send, key, { seed: SEED });
  const kills = { gateway: 0, 'gateway and database': 0, 'while starting': 0 };
  let acknowledged = 0;

  for (let round = 0; round < ROUNDS; round += 1) {
    // The kill falls among writes: one has been acknowledged since the start, others are under way.
    await expect.poll(ledger.acknowledged, { interval: 20 }).toBeGreaterThan(acknowledged);
    await delay(next() * 900);
    if (next() < 0.5) {
      kill(await pidIn(postmaster));
      kills['gateway and database'] += 1;
    } else {
      kills.gateway += 1;
    }
    await gateway.end('SIGKILL');
    gateway = undefined;
    if (next() < 0.4) {
      const starting = startGateway(env);
      const [, pid] = await Promise.all([
        starting.then(
          () => undefined,
          () => undefined,
        ),
        delay(200 + next() * 1500).then(async () => {
          const owner = await pidIn(join(env.DATA_DIR, 'gateway.pid'));
          if (next() < 0.5) kill(await pidIn(postmaster));
          kill(owner);
          return owner;
        }),
      ]);
      if (pid > 0) kills['while starting'] += 1;
      await starting.then((started) => started.end('SIGKILL')).catch(() => undefined);
    }
    acknowledged = ledger.acknowledged();
    gateway = await startGateway(env);
  }
  await expect.poll(ledger.acknowledged).toBeGreaterThan(acknowledged);
  await ledger.stop();

  // The seed stands there to be seen when something is wrong: `SEED=…` makes the same choices again.
  expect({ ...(await ledger.check()), unclear: ledger.unclear, SEED }).toEqual({
    lost: [],
    doubled: [],
    unclear: [],
    SEED,
  });
  proof('kill -9 under load', {
    figures: {
      seed: SEED,
      ...Object.fromEntries(Object.entries(kills).map(([what, times]) => [`killed: ${what}`, times])),
      'writes acknowledged': ledger.acknowledged(),
      'attempts cut off': ledger.answers.get('no answer') ?? 0,
      lost: 0,
      doubled: 0,
    },
  });
}, 900_000);
