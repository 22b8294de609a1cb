import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { processesOf } from '../support/processes/embedded-postgres.ts';
import { startWriting } from '../support/oracles/ledger.ts';
import { call, endProcesses, graphqlDoor, startGateway, temporaryDirectory } from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';
import { SEED, random } from '../support/random.ts';
import { append, createSession, eventsOf, tail } from '../support/fixtures/sessions.ts';

afterEach(endProcesses);

/** False where there is none at the moment. */
async function killPostgres(dataDir: string): Promise<boolean> {
  const text = await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(text.split('\n')[0]);
  return pid > 0 && process.kill(pid, 'SIGKILL');
}

/** How many purges of deleted event definitions the process has done. */
async function purges(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const line = /^gateway_job_duration_seconds_count\{queue="event-purge",outcome="done"\} (\d+)$/m;
  return Number(line.exec(metrics)?.[1] ?? 0);
}

test('the embedded database killed under load, again and again: the gateway brings it back, and nothing is lost or doubled', async () => {
  const DATA_DIR = await temporaryDirectory();
  const gateway = await startGateway({ DATA_DIR, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'fatal' });
  const { url, key } = gateway;
  const door = graphqlDoor(url);
  const next = random(SEED);
  const sessionId = await createSession(door, key);
  const stream = await tail({ fetch: (path, init) => fetch(url + path, init) }, key, sessionId);
  const ledger = startWriting((path, init) => fetch(url + path, init), key, { seed: SEED });
  const rounds = full ? 30 : 6;
  let kills = 0;

  for (let round = 1; round <= rounds; round += 1) {
    await delay(300 + next() * 700);
    // At times once more, while it recovers.
    for (let times = next() < 0.3 ? 2 : 1; times > 0; times -= 1) {
      await expect.poll(() => killPostgres(DATA_DIR)).toBe(true);
      kills += 1;
      await delay(next() * 300);
    }
    const appended = () => append(door, key, sessionId, eventsOf(1, { from: round }), `round ${round}`);
    await expect.poll(async () => (await appended()).lastId).toBe(String(round));
    expect((await stream.nextData())?.id).toBe(String(round));
  }
  await ledger.stop();
  await stream.close();
  const unanswered = ledger.answers.get('no answer') ?? 0;
  expect({ ...(await ledger.check()), unclear: ledger.unclear, unanswered, SEED }).toEqual({
    lost: [],
    doubled: [],
    unclear: [],
    unanswered: 0,
    SEED,
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
      seed: SEED,
      kills,
      'writes acknowledged': ledger.acknowledged(),
      'answered 503 with Retry-After meanwhile': ledger.answers.get('503') ?? 0,
      'other errors': 0,
      lost: 0,
      doubled: 0,
      'live tail: missed or doubled': 0,
    },
  });
}, 600_000);
