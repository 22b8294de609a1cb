import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { seed } from '../support/exploration.ts';
import { type Send, startWriting } from '../support/oracles/ledger.ts';
import { GATEWAY } from '../support/processes/programs.ts';
import {
  type GatewayProcess,
  endProcesses,
  start,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';
import { random } from '../support/random.ts';

afterEach(endProcesses);

const VICTIMS = ['gateway', 'gateway and database', 'database'] as const;
/** How far the start after a kill gets before that process is killed, too. In short there is one round for each victim. */
const STAGES = ['the database starts', 'the lock is taken', 'the database is ready', 'it is ready'] as const;
const ROUNDS = full ? 6 * VICTIMS.length * STAGES.length : VICTIMS.length;

/** At most this many writes are acknowledged between two kills. */
const WRITES = full ? 40 : 10;

const linesOf = async (file: string) => (await readFile(file, 'utf8').catch(() => '')).split('\n');
const pidIn = async (file: string) => Number((await linesOf(file))[0]);

function kill(pid: number): void {
  // The pid is 0 if the file does not exist. A signal to 0 would kill this process.
  if (!(pid > 0)) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

/** Starts a gateway and kills it at a stage of its start, optionally together with its database. */
async function killStart(env: { DATA_DIR: string }, stage: (typeof STAGES)[number], withDatabase: boolean) {
  const postmaster = join(env.DATA_DIR, 'postgres/data/postmaster.pid');
  const earlier = await pidIn(postmaster);
  const command = [GATEWAY, 'start'];
  const { child, exited } = start(command, { PORT: '0', ...env });
  const hasCome = async () => {
    if (stage === 'the lock is taken') return (await pidIn(join(env.DATA_DIR, 'gateway.pid'))) === child.pid;
    const [pid = '', , , , , , , status = ''] = await linesOf(postmaster);
    const isNew = Number(pid) > 0 && Number(pid) !== earlier;
    return isNew && (stage === 'the database starts' || status.trim() === 'ready');
  };
  await expect.poll(hasCome, { interval: 2 }).toBe(true);
  if (withDatabase) kill(await pidIn(postmaster));
  child.kill('SIGKILL');
  await exited;
}

test('no acknowledged write is lost or duplicated when the gateway is killed repeatedly, also with its database and while it starts', async () => {
  const env = { DATA_DIR: await temporaryDirectory(), RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' };
  const next = random(seed);
  let gateway: GatewayProcess | undefined = await startGateway(env);
  const { key } = gateway;
  const send: Send = async (path, init) => {
    while (!gateway) await delay(20);
    return fetch(gateway.url + path, init);
  };
  const ledger = startWriting(send, key, { seed });
  const kills = new Map<string, number>();
  const count = (what: string) => kills.set(what, (kills.get(what) ?? 0) + 1);

  for (let round = 0; round < ROUNDS; round += 1) {
    const victim = VICTIMS[round % VICTIMS.length];
    const stage = STAGES[Math.floor(round / VICTIMS.length + round) % STAGES.length] ?? 'it is ready';
    // The kill happens under load: one write has just been acknowledged, others are in progress.
    await ledger.next(1 + Math.floor(next() * WRITES));
    if (victim !== 'gateway') kill(await pidIn(join(env.DATA_DIR, 'postgres/data/postmaster.pid')));
    // Without its embedded database a gateway ends by itself.
    const status = await (victim === 'database' ? gateway.exited : gateway.end('SIGKILL'));
    expect(status).toBe(victim === 'database' ? 1 : null);
    gateway = undefined;
    count(victim ?? '');
    if (stage !== 'it is ready') {
      await killStart(env, stage, next() < 0.5);
      count(`starting: ${stage}`);
    }
    gateway = await startGateway(env);
  }
  await ledger.next(WRITES / 2);
  await ledger.stop();

  // The seed is included so that a failure shows it: `SEED=…` repeats the same choices.
  expect({ ...(await ledger.check()), unclear: ledger.unclear, seed }).toEqual({
    lost: [],
    doubled: [],
    unclear: [],
    seed,
  });
  proof('kill -9 under load', {
    figures: {
      seed,
      ...Object.fromEntries([...kills].map(([what, times]) => [`killed: ${what}`, times])),
      'writes acknowledged': ledger.acknowledged(),
      'attempts cut off': ledger.answers.get('no answer') ?? 0,
      lost: 0,
      doubled: 0,
    },
  });
});
