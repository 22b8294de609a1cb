// Measures the largest requests within the limits: how long a concurrent small query waits, and how much memory they need.
import { type Socket, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { seed, sessionId } from '../bench/seed.ts';
import { type WidestDocument, widestDocuments } from '../support/fixtures/widest-documents.ts';
import { repeat } from '../support/fixtures/graphql-limits.ts';
import {
  type GatewayProcess,
  endProcesses,
  freshDatabase,
  issueKey,
  startGateway,
} from '../support/processes/process.ts';
import { type Neighbor, startNeighbor } from '../support/processes/neighbor.ts';
import { peakMib, resetPeak } from '../support/processes/resources.ts';
import { proof } from '../support/proof.ts';
import { createMetricsReader } from '../support/processes/metrics.ts';

const metrics = createMetricsReader();

const GOAL_MS = 500;
const GOAL_MIB = 512;
const MIB = 1024 * 1024;

let gateway: GatewayProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let wide: string;
let neighbor: Neighbor;
beforeAll(async () => {
  database = await freshDatabase();
  gateway = await startGateway({ ...database, RATE_LIMIT_PER_MINUTE: '0', RUN_JOBS: 'false', LOG_LEVEL: 'error' });
  wide = await issueKey(database);
  const other = await issueKey(database, { email: 'ned@example.com', organization: 'neighbors' });
  neighbor = startNeighbor(gateway.url, other);
  const client = new pg.Client(database.DATABASE_URL);
  await client.connect();
  const { rows } = await client.query<{ organizationId: string; userId: string }>(
    `select organization_id as "organizationId", user_id as "userId" from api_key k join organization o on o.id = k.organization_id where o.slug = 'acme'`,
  );
  const [owner] = rows;
  if (!owner) throw new Error('there is no key');
  await seed({ url: database.DATABASE_URL, ...owner, events: 20_000 });
  await client.query('update session set description = $1 where id = $2', ['x'.repeat(1_000_000), sessionId(78)]);
  // Events with about 1 MB of text.
  await client.query(
    `update session_event set event_data = jsonb_build_object('type', 'text', 'text', repeat(md5(id::text), 31000)) where session_id = $1 and id <= 32`,
    [sessionId(20)],
  );
  await client.end();
}, 120_000);
afterAll(async () => {
  await neighbor.stop();
  await endProcesses();
});

async function ask(key: string, query: string): Promise<{ status: number; bytes: number; code: string }> {
  const response = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify({ query }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const code = /"code":"(\w+)"/.exec(bytes.subarray(0, 4096).toString())?.[1] ?? '';
  return { status: response.status, bytes: bytes.length, code };
}

/** The longest pause of the gateway's event loop since the last call, from its metrics. */
async function longestPauseMs(): Promise<number> {
  const text = await metrics.fresh(gateway.url);
  return Math.round(Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1000);
}

/** The longest latency of a small query of somebody else during `work`. */
async function worstWait(work: () => Promise<unknown>): Promise<number> {
  await neighbor.wait();
  await work();
  const { worst, failure } = await neighbor.wait();
  expect(failure).toBe('');
  return worst;
}

const LARGE = '7 events of 1 MB';
const special: WidestDocument[] = [
  {
    name: LARGE,
    query: `{ session(id: "${sessionId(20)}") { a: events(first: 4) { nodes { eventDataJson } } b: events(first: 3) { nodes { eventDataJson } } } }`,
    cost: 0,
  },
  {
    name: 'one description of 1,000,000 characters under 8 names',
    query: `{ session(id: "${sessionId(78)}") { ${repeat(8, (index) => `a${index}: description`)} } }`,
    cost: 1,
  },
  {
    name: 'events of 20 sessions, a thousand of each',
    query: `{ ${repeat(19, (n) => `s${n}: session(id: "${sessionId(n + 1)}") { events(first: 1000) { nodes { databaseId eventDataJson } } }`)} }`,
    cost: 0,
  },
  {
    name: 'typed events of 20 sessions, a thousand of each',
    query: `{ ${repeat(6, (n) => `s${n}: session(id: "${sessionId(n + 1)}") { events(first: 1000) { nodes { databaseId eventData { type deltaType } } } }`)} }`,
    cost: 0,
  },
];

test('measures how long others wait for two of the widest documents at once, and how much memory these take', async () => {
  const rows: { name: string; wait: number; pause: number; bytes: number; code: string }[] = [];
  for (const { name, query } of [...widestDocuments(schema), ...special]) {
    const answers: Awaited<ReturnType<typeof ask>>[] = [];
    await longestPauseMs();
    // Four rounds, because a repeated document is compiled.
    const wait = await worstWait(async () => {
      for (let round = 0; round < 4; round += 1)
        answers.push(...(await Promise.all([ask(wide, query), ask(wide, query)])));
    });
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const [first] = answers;
    rows.push({ name, wait, pause: await longestPauseMs(), bytes: first?.bytes ?? 0, code: first?.code ?? '' });
  }
  expect(rows.filter(({ code }) => code !== '' && code !== 'ANSWER_TOO_LARGE')).toEqual([]);
  rows.sort((one, other) => other.wait - one.wait);
  for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
  const peak = Math.round(await peakMib(gateway.pid));
  const figures: Record<string, string | number> = {
    'documents, each twice at once, four times': rows.length,
    'worst wait of a neighbor, ms': rows[0]?.wait ?? 0,
    'by the document': rows[0]?.name ?? '',
    'longest pause of the event loop, ms': Math.max(...rows.map(({ pause }) => pause)),
    'largest answer, MiB': Math.round(Math.max(...rows.map(({ bytes }) => bytes)) / MIB),
    'peak memory, MiB': peak,
  };
  const shortfalls = [
    ...((rows[0]?.wait ?? 0) > GOAL_MS ? [`A neighbor waits more than ${GOAL_MS} ms.`] : []),
    ...(peak > GOAL_MIB ? [`Peak memory is above ${GOAL_MIB} MiB.`] : []),
  ];
  proof('Widest documents', { figures, shortfalls });
}, 600_000);

test('fifty clients that request a large answer and never read it do not end the process; measures its memory and how long others wait', async () => {
  const keys: string[] = [];
  for (let index = 0; index < 5; index += 1)
    keys.push(await issueKey(database, { email: `reader${index}@example.com`, organization: 'acme' }));
  await resetPeak(gateway.pid);
  const { hostname, port } = new URL(gateway.url);
  const sockets: Socket[] = [];
  const query = special.find(({ name }) => name === LARGE)?.query ?? '';
  const wait = await worstWait(async () => {
    for (let index = 0; index < 50; index += 1) {
      const socket = connect(Number(port), hostname);
      sockets.push(socket);
      socket.on('error', () => undefined).pause();
      const body = JSON.stringify({ query });
      socket.write(
        `POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys[index % 5]}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    }
    await delay(4_000);
  });
  const peak = Math.round(await peakMib(gateway.pid));
  for (const socket of sockets) socket.destroy();
  // The process is still running and answers.
  expect((await neighbor.wait()).failure).toBe('');
  const shortfalls = [
    ...(wait > GOAL_MS ? [`A neighbor waits more than ${GOAL_MS} ms.`] : []),
    ...(peak > GOAL_MIB ? [`Peak memory is above ${GOAL_MIB} MiB.`] : []),
  ];
  proof('Readers that never read', {
    figures: { readers: 50, 'answer of each, MiB': 7, 'worst wait of a neighbor, ms': wait, 'peak memory, MiB': peak },
    shortfalls,
  });
}, 120_000);
