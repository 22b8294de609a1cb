import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import {
  type GatewayProcess,
  SMALL_HEAP,
  SMALL_HEAP_MIB,
  call,
  endProcesses,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import { proof } from '../support/proof.ts';
import { random } from '../support/random.ts';
import { subscribe, tail } from '../support/fixtures/sessions.ts';

afterEach(endProcesses);

/** Number of requests that compile code and fill pools before the measurement; an idle machine answers about as many in 60 s. */
const WARM_UP_REQUESTS = 20_000;
const MAX_WARM_UP_MS = 180_000;
const MEASURED_MS = 600_000;
/** The first and the last part of the measurement, which are compared. */
const WINDOW_MS = 120_000;

interface Sample {
  readonly at: number;
  readonly value: number;
}

const APPEND = `mutation($input: AppendSessionEventsInput!) { appendSessionEvents(input: $input) {
  ... on AppendSessionEventsPayload { lastId } } }`;
const CREATE = `mutation($title: String!) { createSession(input: {title: $title}) {
  ... on CreateSessionPayload { session { databaseId } } } }`;
const READ = `query($id: ID!) { node(id: $id) { ... on Session { title events(last: 50) { nodes { eventType eventDataJson } } } }
  viewer { organization { sessions(first: 20) { nodes { title state { current } } } eventDefinitions(first: 20) { nodes { name label } } } } }`;
const FOLLOW = 'subscription($id: ID!) { sessionEvents(sessionId: $id) { databaseId } }';

/** Starts clients that run until they are stopped: they read, write, follow sessions, and send invalid requests. */
function startClients(gateway: GatewayProcess, sessions: string[]) {
  const { url, key } = gateway;
  const latencies: Sample[] = [];
  const statuses = new Map<string, number>();
  let isStopped = false;
  const stopping = new AbortController();

  async function ask(
    kind: string,
    path: string,
    init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
  ): Promise<string> {
    const began = performance.now();
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...init.headers };
    const response = await fetch(url + path, { ...init, headers });
    const text = await response.text();
    const at = performance.now();
    if (kind === 'read') latencies.push({ at, value: at - began });
    const status = `${kind} ${response.status}`;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    return text;
  }
  const graphql = (kind: string, query: string, variables: object, headers = {}) =>
    ask(kind, '/graphql', { method: 'POST', headers, body: JSON.stringify({ query, variables }) });

  type Action = (pick: () => number, index: number) => Promise<unknown>;
  const sessionOf = (pick: () => number) => sessions[Math.floor(pick() * sessions.length)] ?? '';
  const read: Action = (pick) => {
    const session = sessionOf(pick);
    if (pick() < 0.5) return ask('read', `/v1/sessions/${session}/events?limit=50&cursor=${Math.floor(pick() * 500)}`);
    return graphql('read', READ, { id: Buffer.from(`Session:${session}`).toString('base64') });
  };
  const record: Action = (pick, index) => {
    const events = Array.from({ length: 1 + Math.floor(pick() * 20) }, () => ({
      eventType: 'text',
      provider: 'anthropic',
      eventData: { type: 'text', text: 'x'.repeat(Math.floor(pick() * 2000)) },
    }));
    return graphql('write', APPEND, { input: { sessionId: sessionOf(pick), batchId: `b${pick()}${index}`, events } });
  };
  const change: Action = (pick, index) => {
    if (pick() < 0.3)
      return graphql('write', CREATE, { title: `t${index}` }, { 'Idempotency-Key': `c${pick()}${index}` });
    return ask('write', `/v1/sessions/${sessionOf(pick)}`, {
      method: 'PATCH',
      body: JSON.stringify({ title: `title ${index}` }),
    });
  };
  const follow: Action = async (pick) => {
    const fetcher = { fetch: (path: string, init?: RequestInit) => fetch(url + path, init) };
    const session = sessionOf(pick);
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(2000)]);
    try {
      const stream =
        pick() < 0.5
          ? await tail(fetcher, key, session, { signal })
          : await subscribe(fetcher, key, FOLLOW, { id: session }, signal);
      await stream.take(200);
      await stream.close();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
  // Every document is new, so that all caches of documents are filled.
  const invalid: Action = (pick, index) => {
    const mark = `a${Math.floor(pick() * 1e9)}x${index}`;
    const requests = [
      () => ask('invalid', '/graphql', { method: 'POST', body: `{"query": "${mark}` }),
      () => graphql('invalid', `{ ${mark}: viewer { nothing } }`, {}),
      () => graphql('invalid', `{ ${mark}: __typename ${'{ a '.repeat(50)} `, {}),
      () => graphql('invalid', READ, { id: mark.repeat(1000), [mark]: 1 }),
      () => graphql('invalid', `{ ${mark}: __typename }`, {}),
      () => ask('invalid', `/v1/sessions/${mark}/events?limit=9999`),
      () => ask('invalid', `/nowhere/${mark}`),
      () => ask('invalid', '/graphql', { method: 'POST', headers: { Authorization: `Bearer ${mark}` }, body: '{}' }),
    ];
    return requests[Math.floor(pick() * requests.length)]?.() ?? Promise.resolve();
  };

  async function repeat(action: Action, seed: number, pauseMs: number): Promise<void> {
    const pick = random(seed);
    for (let index = 0; !isStopped; index += 1) {
      await action(pick, index);
      await delay(pauseMs);
    }
  }
  const running = [
    ...[1, 2, 3, 4].map((seed) => repeat(read, seed, 10)),
    ...[5, 6].map((seed) => repeat(record, seed, 30)),
    repeat(change, 7, 50),
    ...[8, 9, 10].map((seed) => repeat(follow, seed, 10)),
    ...[11, 12].map((seed) => repeat(invalid, seed, 20)),
  ];
  return {
    latencies,
    statuses,
    answered: () => [...statuses.values()].reduce((sum, times) => sum + times, 0),
    async stop() {
      isStopped = true;
      stopping.abort();
      await Promise.all(running);
    },
  };
}

/** Records sessions that are longer than any page, so that reading a page costs the same during the whole test. */
async function recordSessions({ url, key }: GatewayProcess): Promise<string[]> {
  type Created = { data: { createSession: { session: { databaseId: string } } } };
  const sessions: string[] = [];
  for (let index = 0; index < 20; index += 1) {
    const created = await call(url, key, 'POST', '/graphql', { query: CREATE, variables: { title: `s${index}` } });
    const sessionId = (created.body as Created).data.createSession.session.databaseId;
    const event = { eventType: 'text', provider: 'anthropic', eventData: { type: 'text', text: 'x'.repeat(1000) } };
    const input = { sessionId, events: Array.from({ length: 600 }, () => event) };
    await call(url, key, 'POST', '/graphql', { query: APPEND, variables: { input } });
    sessions.push(sessionId);
  }
  return sessions;
}

/** The current time of a fixed piece of work in ms, because other programs also use this machine. */
function speedOfMachine(): number {
  const began = performance.now();
  createHash('sha256').update(WORK).digest();
  return performance.now() - began;
}

const WORK = Buffer.alloc(4 * 1024 * 1024);

/** Fills the cache of parsed documents up to its maximum of 32 MiB, which small documents would reach only after a long time. */
async function fillDocumentCache({ url, key }: GatewayProcess): Promise<void> {
  const fields = '__typename '.repeat(1500);
  for (let index = 0; index < 100; index += 1)
    await call(url, key, 'POST', '/graphql', { query: `{ a${index}: ${fields}}` });
}

const residentMiB = (pid: number) =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', `${pid}`], { encoding: 'utf8' })) / 1024;

const within = (samples: readonly Sample[], from: number, to: number) =>
  samples.filter(({ at }) => at >= from && at < to).map(({ value }) => value);

const median = (values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;

test('under mixed load for a long time, memory stays bounded, latency does not grow, and only invalid requests are refused', async () => {
  const gateway = await startGateway({
    DATA_DIR: await temporaryDirectory(),
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'warn',
    ...SMALL_HEAP,
  });
  const sessions = await recordSessions(gateway);
  const clients = startClients(gateway, sessions);
  const warmUp = async () => {
    const end = performance.now() + MAX_WARM_UP_MS;
    while (clients.answered() < WARM_UP_REQUESTS && performance.now() < end) await delay(100);
  };
  await Promise.all([fillDocumentCache(gateway), warmUp()]);
  const began = performance.now();
  const memory: Sample[] = [];
  const speed: Sample[] = [];
  while (performance.now() < began + MEASURED_MS) {
    const at = performance.now();
    memory.push({ at, value: residentMiB(gateway.pid) });
    speed.push({ at, value: speedOfMachine() });
    await delay(500);
  }
  const end = performance.now();
  await clients.stop();

  const windows = { first: [began, began + WINDOW_MS], last: [end - WINDOW_MS, end] } as const;
  const peak = {
    first: Math.max(...within(memory, ...windows.first)),
    last: Math.max(...within(memory, ...windows.last)),
  };
  const growth = (samples: readonly Sample[]) =>
    median(within(samples, ...windows.last)) / median(within(samples, ...windows.first));
  const latency = growth(clients.latencies) / growth(speed);
  const count = (kind: string) =>
    [...clients.statuses].reduce((sum, [status, times]) => sum + (status.startsWith(kind) ? times : 0), 0);
  const refused = [...clients.statuses.keys()].filter((status) => !/^(?:read|write) 200$/.test(status));
  expect(refused.filter((status) => !/^invalid [24]\d\d$/.test(status))).toEqual([]);
  expect(peak.last / peak.first).toBeLessThanOrEqual(1.2);
  expect(latency).toBeLessThanOrEqual(1.5);
  expect(gateway.output.stderr).toBe('');
  proof('Soak', {
    figures: {
      'seconds of mixed load': Math.round((end - began) / 1000),
      reads: count('read'),
      'writes and batches of events': count('write'),
      'invalid requests': count('invalid'),
      'heap it may use (MiB)': SMALL_HEAP_MIB,
      'peak memory, first window (MiB)': Math.round(peak.first),
      'peak memory, last window (MiB)': Math.round(peak.last),
      'peak memory, last to first': (peak.last / peak.first).toFixed(2),
      'median latency of reads, last to first, by the speed of the machine': latency.toFixed(2),
      'without regard to that': growth(clients.latencies).toFixed(2),
    },
  });
});
