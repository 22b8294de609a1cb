import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROCESS_NAME } from '../../src/core/version.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { seed } from '../support/exploration.ts';
import { startTestGateway } from '../support/fixtures/gateway.ts';
import { type Ledger, startWriting } from '../support/oracles/ledger.ts';
import {
  type GatewayProcess,
  endProcesses,
  issueKey,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';
import { random } from '../support/random.ts';
import { type TcpProxy, startTcpProxy } from '../support/peers/tcp-proxy.ts';

/** Faults of databases and clocks under load: no acknowledged write is lost or duplicated, and the gateway recovers without help. */

let dataDir: string;
let postgres: EmbeddedPostgres;
let proxy: TcpProxy;
let env: Record<string, string>;
let gateway: GatewayProcess;

const startDatabase = () =>
  startEmbeddedPostgres({ dataDir, log: () => undefined, settings: { fsync: 'off', max_connections: '100' } });

beforeAll(async () => {
  dataDir = await temporaryDirectory();
  postgres = await startDatabase();
  proxy = await startTcpProxy(postgres.url);
  env = {
    DATABASE_URL: proxy.url,
    ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
  };
  gateway = await startGateway(env);
});
afterAll(async () => {
  await proxy.close();
  await postgres.stop();
  await endProcesses();
});

async function writing(): Promise<Ledger> {
  const organization = `org-${randomBytes(6).toString('hex')}`;
  const caller = { email: `${organization}@example.com`, organization };
  const key = await issueKey({ ...env, DATABASE_URL: postgres.url }, caller);
  return startWriting((path, init) => fetch(gateway.url + path, init), key, { seed });
}

/** Waits for some more writes, reads everything back, and returns what is wrong. */
async function stopAndCheck(ledger: Ledger) {
  await ledger.next(10);
  await ledger.stop();
  // Only the database is faulty, so the gateway must answer every request.
  return { ...(await ledger.check()), unclear: ledger.unclear, unanswered: ledger.answers.get('no answer') ?? 0, seed };
}

/** The seed is included so that a failure shows it: `SEED=…` repeats the run. */
const allWell = { lost: [], doubled: [], unclear: [], unanswered: 0, seed };

const figuresOf = (ledger: Ledger) => ({
  'writes acknowledged': ledger.acknowledged(),
  'answered 503 with Retry-After meanwhile': ledger.answers.get('503') ?? 0,
  'other errors': 0,
  lost: 0,
  doubled: 0,
});

test('no write is lost or duplicated when the database is stopped or killed and restarted under load', async () => {
  const rounds = full ? 20 : 2;
  const next = random(seed);
  const ledger = await writing();
  for (let round = 0; round < rounds; round += 1) {
    await ledger.next(1 + Math.floor(next() * 40));
    if (round % 2 === 0) process.kill(postgres.pid, 'SIGKILL');
    await postgres.stop();
    await ledger.next(1 + Math.floor(next() * 40), '503');
    postgres = await startDatabase();
    proxy.setTarget(postgres.url);
  }
  expect(await stopAndCheck(ledger)).toEqual(allWell);
  proof('Database restarted under load', { figures: { seed, restarts: rounds, ...figuresOf(ledger) } });
});

test('no write is lost or duplicated when connections are reset by the network or ended by the server under load', async () => {
  const rounds = full ? 200 : 6;
  const next = random(seed);
  const ledger = await writing();
  let cut = 0;
  let hits = 0;
  const server = new pg.Client(postgres.url);
  await server.connect();
  const terminate = async () => {
    const { rowCount } = await server.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${PROCESS_NAME}' and pid <> pg_backend_pid()`,
    );
    return rowCount ?? 0;
  };
  try {
    for (let round = 0; round < rounds; round += 1) {
      // More writes than the eight writers had in progress, so that connections are open again.
      await ledger.next(9 + Math.floor(next() * 10));
      const count = round % 2 === 0 ? proxy.cut() : await terminate();
      cut += count;
      if (count > 0) hits += 1;
    }
    expect(await stopAndCheck(ledger)).toEqual(allWell);
  } finally {
    await server.end();
  }
  expect(hits).toBe(rounds);
  proof('Connections to the database cut under load', {
    figures: { seed, 'connections cut': cut, ...figuresOf(ledger) },
  });
});

test('with a slow database, 100 ms for each statement, every request is answered', async () => {
  const ledger = await writing();
  proxy.setDelay(100);
  try {
    await ledger.next(full ? 1_000 : 20);
  } finally {
    proxy.setDelay(0);
  }
  expect(await stopAndCheck(ledger)).toEqual(allWell);
  expect([...ledger.answers.keys()].filter((status) => Number(status) >= 300)).toEqual([]);
  proof('Slow database', { figures: { 'milliseconds added to each statement': 100, ...figuresOf(ledger) } });
});

test('no write is lost or duplicated when the clock of the gateway is set forward and back under load', async () => {
  const rounds = full ? 100 : 10;
  const next = random(seed);
  const inProcess = await startTestGateway();
  try {
    const { key } = await inProcess.createKey();
    const ledger = startWriting(inProcess.fetch, key, { seed });
    for (let round = 0; round < rounds; round += 1) {
      await ledger.next(1 + Math.floor(next() * 10));
      // Less than the day for which this clock keeps idempotency keys.
      inProcess.setClock(new Date(Date.now() + (next() - 0.5) * 12 * 3_600_000));
    }
    inProcess.setClock(undefined);
    expect(await stopAndCheck(ledger)).toEqual(allWell);
    expect([...ledger.answers.keys()].filter((status) => Number(status) >= 300)).toEqual([]);
    proof('Clock set forward and back', {
      figures: { seed, 'times set, by up to 6 hours': rounds, ...figuresOf(ledger) },
    });
  } finally {
    await inProcess.close();
  }
});
