import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { append, createSession, eventsOf, tail } from '../support/fixtures/sessions.ts';
import { type Ledger, startWriting } from '../support/oracles/ledger.ts';
import { type Cluster, SETTINGS, type Server, missingPrograms, startCluster } from '../support/processes/cluster.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import { type WorkerProcess, startWorker } from '../support/processes/jobs.ts';
import { type GatewayProcess, endProcesses, graphqlApi, issueKey, startGateway } from '../support/processes/process.ts';
import { proof } from '../support/proof.ts';
import { random } from '../support/random.ts';

/**
 * Two gateways and a worker on a real cluster (Patroni, etcd, HAProxy, three PostgreSQL servers, synchronous
 * replication) that repeatedly loses its primary.
 */

const LOSSES = ['machine lost', 'PostgreSQL killed', 'network cut', 'switchover'] as const;
type Loss = (typeof LOSSES)[number];

const KILLS = Number(process.env['FAILOVERS'] ?? 20);
/** First the kills, then the other losses. */
const ROUNDS: readonly Loss[] = [
  ...Array.from({ length: KILLS }, (_, index) => LOSSES[index % 2] ?? 'machine lost'),
  ...Array.from({ length: Math.ceil(KILLS / 5) }, () => ['network cut', 'switchover'] as const).flat(),
];
const WRITERS = 3;
/** Number of rounds between two checks of all acknowledged writes. */
const CHECK_EVERY = 4;
const SEED = Number(process.env['SEED'] ?? 20_261_122);
const missing = missingPrograms();

let cluster: Cluster;
let gateways: readonly [GatewayProcess, GatewayProcess];
let worker: WorkerProcess;
let key: string;

beforeAll(async () => {
  if (missing !== undefined) return;
  cluster = await startCluster();
  const env = {
    DATABASE_URL: cluster.url,
    // All servers. The gateway finds out which of them are standbys.
    DATABASE_REPLICA_URLS: cluster.servers.map(({ url }) => url).join(','),
    ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    RATE_LIMIT_PER_MINUTE: '100000',
    RUN_JOBS: 'false',
  };
  gateways = [await startGateway({ ...env, LOG_LEVEL: 'warn' }), await startGateway({ ...env, LOG_LEVEL: 'warn' })];
  worker = await startWorker(env);
  key = await issueKey(env);
}, 300_000);
afterAll(async () => {
  await endProcesses();
  if (missing === undefined) await cluster.close();
}, 120_000);

let requests = 0;
const acknowledgedAt: number[] = [];
let replayed = 0;

/** Sends to the two gateways alternately, and records when writes are acknowledged. */
async function send(path: string, init: RequestInit): Promise<Response> {
  const gateway = gateways[(requests += 1) % 2];
  const response = await fetch(`${gateway?.url}${path}`, init);
  if (response.ok && init.method === 'POST') acknowledgedAt.push(performance.now());
  if (response.headers.has('idempotent-replayed')) replayed += 1;
  return response;
}

/** Retries a write until it is acknowledged, always with the same idempotency key. */
async function writeUntilAcknowledged(method: string, path: string, body?: unknown): Promise<void> {
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': `${method} ${path} ${JSON.stringify(body)}`,
  };
  for (;;) {
    const response = await send(path, { method, headers, body: JSON.stringify(body) }).catch(() => undefined);
    if (response?.ok) return;
    if (response && response.status !== 503 && response.status !== 409)
      throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    await delay(100);
  }
}

const DEFINITIONS = '/events/2026-03/event-definitions';

/** Deletes a definition with occurrences, which a job then has to delete. */
async function createDeletionJob(name: string): Promise<void> {
  await writeUntilAcknowledged('POST', DEFINITIONS, { name, label: name, primaryObject: 'CONTACT' });
  for (let index = 0; index < 3; index += 1)
    await writeUntilAcknowledged('POST', '/events/2026-03/send', {
      eventName: name,
      email: `a${index}@example.com`,
      properties: {},
      uuid: `${name} ${index}`,
    });
  await writeUntilAcknowledged('DELETE', `${DEFINITIONS}/${name}`);
}

interface Follower {
  readonly sessionId: string;
  /** Appends the next event, and waits until it arrives. */
  next(): Promise<void>;
  readonly seen: () => number;
  close(): Promise<void>;
}

/** Follows a session through one gateway, while the other gateway writes it. */
async function follow(reader: GatewayProcess, writer: GatewayProcess): Promise<Follower> {
  const sessionId = await createSession(graphqlApi(writer.url), key, { title: `Followed ${reader.url}` });
  const stream = await tail({ fetch: (path, init) => fetch(`${reader.url}${path}`, init) }, key, sessionId);
  let seen = 0;
  return {
    sessionId,
    seen: () => seen,
    close: () => stream.close(),
    async next() {
      const id = seen + 1;
      for (;;) {
        const appended = append(graphqlApi(writer.url), key, sessionId, eventsOf(1, { from: id }), `batch ${id}`);
        if (
          await appended.then(
            () => true,
            () => false,
          )
        )
          break;
        await delay(100);
      }
      expect((await stream.nextData())?.id).toBe(String(id));
      seen = id;
    },
  };
}

/** Reads on both APIs until stopped; counts the answers by status. */
function startReading() {
  const counts = new Map<number, number>();
  let isDone = false;
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const read = async (url: string, init: RequestInit = {}) => {
    while (!isDone) {
      const response = await fetch(url, { headers, ...init });
      const text = await response.text();
      // A GraphQL answer has status 200 even if a field failed.
      const status = text.includes('"code":"INTERNAL"') ? 500 : response.status;
      counts.set(status, (counts.get(status) ?? 0) + 1);
      await delay(100);
    }
  };
  const reading = Promise.all([
    read(`${gateways[0].url}${DEFINITIONS}?limit=1`),
    read(`${gateways[1].url}/graphql`, {
      method: 'POST',
      body: JSON.stringify({ query: '{ viewer { organization { name } } }' }),
    }),
  ]);
  return {
    async stop() {
      isDone = true;
      await reading;
      return counts;
    },
  };
}

async function lose(loss: Loss, primary: Server): Promise<void> {
  if (loss === 'machine lost') await primary.kill();
  else if (loss === 'PostgreSQL killed') await primary.killPostgres();
  else if (loss === 'network cut') primary.isolate();
  else await cluster.switchOver();
}

async function bringBack(loss: Loss, server: Server): Promise<void> {
  if (loss === 'machine lost') await server.start();
  else if (loss === 'network cut') server.rejoin();
}

/** The longest time without an acknowledged write after this moment, in seconds. */
function longestGap(since: number): number {
  const times = acknowledgedAt.filter((at) => at >= since - 1_000);
  return Math.max(...times.map((at, index) => at - (times[index - 1] ?? at))) / 1000;
}

interface Round {
  readonly loss: Loss;
  /** Seconds from the loss until Patroni has another primary. */
  readonly promotion: number;
  readonly seconds: number;
  /** Answers to reads from the loss until writes succeed again, by status. */
  readonly reads: ReadonlyMap<number, number>;
}

async function round(loss: Loss, ledger: Ledger, pause: number): Promise<Round> {
  const primary = await cluster.primary();
  await ledger.next(10);
  await delay(pause);
  const began = performance.now();
  const reads = startReading();
  await lose(loss, primary);
  await expect
    .poll(async () => (await cluster.primary()).name, { timeout: 600_000, interval: 300 })
    .not.toBe(primary.name);
  const promotion = (performance.now() - began) / 1000;
  await ledger.next(10);
  const answers = await reads.stop();
  await bringBack(loss, primary);
  await cluster.healthy();
  return { loss, promotion, seconds: longestGap(began), reads: answers };
}

const seconds = (values: readonly number[]) => {
  const sorted = values.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return `${median.toFixed(1)} s, at most ${Math.max(...values).toFixed(1)} s`;
};

/** The timeouts that make up the longest time without writes. */
function explanation(rounds: readonly Round[]): string {
  const longest = rounds.toSorted((one, other) => other.seconds - one.seconds)[0];
  if (!longest) return '';
  const rest = longest.seconds - longest.promotion;
  return `${longest.loss}: ${longest.promotion.toFixed(1)} s until the leader's lease in etcd has ended (Patroni's ttl, ${SETTINGS.ttl} s) and a standby is promoted; the other ${rest.toFixed(1)} s until writes succeed again: another standby has to confirm them, HAProxy has to check the new primary, and the gateways have to close silent connections`;
}

/** Records progress, also for a run that is not completed. */
function note(line: string): void {
  process.stdout.write(`${line}\n`);
  const folder = process.env['PROOF_RECORD'];
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, 'failover-rounds.txt'), `${line}\n`);
}

/** The log lines of requests that were answered 500, with their causes. */
const internalErrors = () =>
  gateways.flatMap(({ output }) => output.stdout.split('\n').filter((line) => line.includes('"msg":"internal error"')));

test('when the primary is lost repeatedly under load, no acknowledged write is lost or duplicated, live tails and jobs continue, and no process is restarted', async ({
  skip,
}) => {
  skip(missing !== undefined, missing);
  const next = random(SEED);
  const ledger = startWriting(send, key, { writers: WRITERS, seed: SEED });
  const followers = [await follow(gateways[0], gateways[1]), await follow(gateways[1], gateways[0])];
  const rounds: Round[] = [];
  let errors = 0;
  async function check(): Promise<void> {
    const { lost, doubled } = await ledger.check();
    note(
      `after ${rounds.length} rounds: lost ${lost.length}, doubled ${doubled.length}, unclear answers ${ledger.unclear.length}`,
    );
    expect({ lost, doubled, unclear: ledger.unclear }).toEqual({ lost: [], doubled: [], unclear: [] });
  }
  for (const [index, loss] of ROUNDS.entries()) {
    await createDeletionJob(`job_${index}`);
    const deleting = createDeletionJob(`late_job_${index}`);
    const following = Promise.all(followers.map((follower) => follower.next()));
    const seen = await round(loss, ledger, next() * 2_000);
    rounds.push(seen);
    await Promise.all([deleting, following]);
    for (const follower of followers) await follower.next();
    note(
      `round ${index + 1}, ${loss}: ${seen.seconds.toFixed(1)} s without writes, another primary after ${seen.promotion.toFixed(1)} s, ` +
        `reads ${JSON.stringify(Object.fromEntries(seen.reads))}, ${ledger.acknowledged()} writes acknowledged`,
    );
    for (const line of internalErrors().slice(errors)) note(line);
    errors = internalErrors().length;
    if ((index + 1) % CHECK_EVERY === 0) await check();
  }
  // The documented step for a standby that does not rejoin.
  await cluster.reinitialize((await cluster.standby()).name);
  await cluster.healthy();
  await ledger.next(10);
  await ledger.stop();
  await Promise.all(followers.map((follower) => follower.close()));
  await check();

  // The first worker has done every job.
  const unfinished = `select count(*)::int as count from pgboss.job where name = 'event-purge' and state <> 'completed'`;
  await expect.poll(() => query(cluster.url, unfinished), { timeout: 120_000, interval: 500 }).toEqual([{ count: 0 }]);
  expect(await query(cluster.url, 'select count(*)::int as count from event_occurrence')).toEqual([{ count: 0 }]);
  expect(worker.output.stdout.split('"job done"').length).toBeGreaterThan(ROUNDS.length);
  const states = await Promise.all(gateways.map(async ({ url }) => (await fetch(`${url}/health/ready`)).status));
  expect(states).toEqual([200, 200]);

  const of = (...losses: readonly Loss[]) => rounds.filter(({ loss }) => losses.includes(loss));
  const reads = of('machine lost').flatMap((each) => [...each.reads]);
  const sum = (...statuses: readonly number[]) =>
    reads.filter(([status]) => statuses.includes(status)).reduce((total, [, count]) => total + count, 0);
  const warnings = gateways.map(
    ({ output }) => output.stdout.split('\n').filter((line) => line.startsWith('{')).length,
  );
  proof('Failover of a Patroni cluster', {
    figures: {
      seed: SEED,
      'kills of the primary in a row (machine and PostgreSQL alternately)': of('machine lost', 'PostgreSQL killed')
        .length,
      'network partitions of the primary': of('network cut').length,
      'switchovers on purpose': of('switchover').length,
      'writes acknowledged': ledger.acknowledged(),
      'answered 503 with Retry-After meanwhile': ledger.answers.get('503') ?? 0,
      'retries that found their write done': replayed,
      ...Object.fromEntries(
        LOSSES.flatMap((loss) => [
          [`without writes, ${loss}: median`, seconds(of(loss).map((each) => each.seconds))],
          [`of it until Patroni promotes, ${loss}: median`, seconds(of(loss).map((each) => each.promotion))],
        ]),
      ),
      'what explains the longest': explanation(rounds),
      'reads while a machine was lost: answered, of all': `${sum(200)} of ${reads.reduce((total, [, count]) => total + count, 0)}`,
      'events seen by live tails, each once and in order': followers.reduce((total, { seen }) => total + seen(), 0),
      'jobs done': ROUNDS.length * 2,
      'restarts of a gateway or the worker': 0,
      'standbys that did not come back by themselves': cluster.reinitialized.length,
      'standbys copied anew on purpose, by patronictl reinit': 1,
      'checks of all that was acknowledged': Math.floor(ROUNDS.length / CHECK_EVERY) + 1,
      'lines at warn or above in the log of each gateway': warnings.join(', '),
      lost: 0,
      doubled: 0,
    },
  });
  expect(sum(500)).toBe(0);
  expect(internalErrors()).toEqual([]);
}, 7_200_000);
