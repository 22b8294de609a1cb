import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { processesOf } from '../support/processes/embedded-postgres.ts';
import { seed } from '../support/exploration.ts';
import { startWriting } from '../support/oracles/ledger.ts';
import { call, endProcesses, graphqlApi, startGateway, temporaryDirectory } from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';
import { random } from '../support/random.ts';
import { append, createSession, eventsOf, tail } from '../support/fixtures/sessions.ts';

afterEach(endProcesses);

/** The pid of the running server; 0 if none is running. */
async function postmaster(dataDir: string): Promise<number> {
  const text = await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').catch(() => '');
  return Number(text.split('\n')[0]);
}

/** Waits until the next server begins to start; returns its pid. */
async function following(dataDir: string, pid: number): Promise<number> {
  const isAnother = async () => ![0, pid].includes(await postmaster(dataDir));
  await expect.poll(isAnother, { interval: 5 }).toBe(true);
  return postmaster(dataDir);
}

/** The number of purges of deleted event definitions that the process has finished. */
async function purges(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const line = /^gateway_job_duration_seconds_count\{queue="event-purge",outcome="done"\} (\d+)$/m;
  return Number(line.exec(metrics)?.[1] ?? 0);
}

test('the gateway restarts the embedded database each time that it is killed under load, and no write is lost or duplicated', async () => {
  const DATA_DIR = await temporaryDirectory();
  const gateway = await startGateway({ DATA_DIR, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'fatal' });
  const { url, key } = gateway;
  const api = graphqlApi(url);
  const next = random(seed);
  const sessionId = await createSession(api, key);
  const stream = await tail({ fetch: (path, init) => fetch(url + path, init) }, key, sessionId);
  const ledger = startWriting((path, init) => fetch(url + path, init), key, { seed });
  const rounds = full ? 30 : 2;
  let kills = 0;

  for (let round = 1; round <= rounds; round += 1) {
    await ledger.next(1 + Math.floor(next() * (full ? 40 : 10)));
    const pid = await postmaster(DATA_DIR);
    process.kill(pid, 'SIGKILL');
    kills += 1;
    // In every second round it is killed again while it recovers.
    if (round % 2 === 0) {
      process.kill(await following(DATA_DIR, pid), 'SIGKILL');
      kills += 1;
    }
    const appended = () => append(api, key, sessionId, eventsOf(1, { from: round }), `round ${round}`);
    await expect.poll(async () => (await appended()).lastId).toBe(String(round));
    expect((await stream.nextData())?.id).toBe(String(round));
  }
  await ledger.stop();
  await stream.close();
  const unanswered = ledger.answers.get('no answer') ?? 0;
  expect({ ...(await ledger.check()), unclear: ledger.unclear, unanswered, seed }).toEqual({
    lost: [],
    doubled: [],
    unclear: [],
    unanswered: 0,
    seed,
  });

  const ofDefinition = async (method: string, path: string, body?: object) =>
    (await call(url, key, method, `/events/2026-03/${path}`, body)).status;
  expect(await ofDefinition('POST', 'event-definitions', { name: 'kept', label: 'Kept' })).toBe(201);
  const occurrence = { eventName: 'kept', email: 'ada@example.com', properties: {} };
  expect(await ofDefinition('POST', 'send', occurrence)).toBe(204);
  expect(await ofDefinition('DELETE', 'event-definitions/kept')).toBe(204);
  await expect.poll(() => purges(url)).toBe(1);

  expect(await gateway.end('SIGTERM')).toBe(0);
  await expect.poll(() => processesOf(DATA_DIR)).toEqual([]);
  proof('Embedded database killed under load', {
    figures: {
      seed,
      kills,
      'writes acknowledged': ledger.acknowledged(),
      'answered 503 with Retry-After meanwhile': ledger.answers.get('503') ?? 0,
      'other errors': 0,
      lost: 0,
      doubled: 0,
      'live tail: missed or doubled': 0,
    },
  });
});
