import pg from 'pg';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { PROCESS_NAME } from '../../src/core/version.ts';
import { serve } from '../../src/gateway/http/server.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { NOTIFICATIONS_ONLY, startListening } from '../support/fixtures/notifications.ts';
import { append, createSession, eventsOf, moveTo, subscribe, tail } from '../support/fixtures/sessions.ts';

let gateway: TestGateway;
let key: string;
let id: string;
beforeEach(async () => {
  gateway = await startTestGateway({}, { timing: NOTIFICATIONS_ONLY });
  ({ key } = await gateway.createKey());
  id = await createSession(gateway, key);
});
afterEach(() => gateway.close());

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const database = () => new URL(gateway.databaseUrl).pathname.slice(1);

async function onServer<Row extends object>(statement: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client(inject('serverUrl'));
  await client.connect();
  try {
    return (await client.query<Row>(statement, values)).rows;
  } finally {
    await client.end();
  }
}

/** Terminates every connection of the gateway, including the one for notifications. */
const cutAll = () =>
  onServer<{ listening: boolean }>(
    `select application_name = '${PROCESS_NAME} listener' as listening, pg_terminate_backend(pid) from pg_stat_activity where datname = $1`,
    [database()],
  );

const listeners = () =>
  onServer(`select 1 from pg_stat_activity where datname = $1 and application_name = '${PROCESS_NAME} listener'`, [
    database(),
  ]);

/** Retries an append until it is acknowledged, like a runner with a batch id. */
async function appendWithRetries(index: number): Promise<void> {
  const attempt = () => append(gateway, key, id, eventsOf(1, { from: index }), `b${index}`).catch(() => undefined);
  await expect.poll(attempt, { interval: 20 }).toMatchObject({ __typename: 'AppendSessionEventsPayload' });
}

test('tails on both APIs continue without gaps or duplicates when all database connections are terminated repeatedly', async () => {
  await append(gateway, key, id, eventsOf(1), 'b1');
  const rest = await tail(gateway, key, id);
  const graphql = await subscribe(
    gateway,
    key,
    'subscription($id: ID!) { sessionEvents(sessionId: $id) { databaseId } }',
    { id },
  );
  const seen = Promise.all([rest.take(Number.MAX_SAFE_INTEGER), graphql.take(Number.MAX_SAFE_INTEGER)]);
  const cut: { listening: boolean }[] = [];
  for (const index of range(2, 9)) await appendWithRetries(index);
  for (const first of [10, 30, 50]) {
    // The connection for notifications is reopened a little later than the others.
    await expect.poll(listeners).toHaveLength(1);
    cut.push(...(await cutAll()));
    for (const index of range(first, Math.min(first + 19, 60))) await appendWithRetries(index);
  }
  await moveTo(gateway, key, id, 'CANCELLED');
  const [messages, results] = await seen;
  expect(cut.filter(({ listening }) => listening).length).toBeGreaterThanOrEqual(2);
  expect(messages.pop()).toMatchObject({ event: 'end', data: '{}' });
  expect(messages.map((message) => Number(message.id))).toEqual(range(1, 60));
  expect(
    messages.map(({ data = '' }) => (JSON.parse(data) as { eventData: { index: number } }).eventData.index),
  ).toEqual(range(1, 60));
  const nexts = results.filter(({ event }) => event === 'next').map(({ data = '' }) => JSON.parse(data) as unknown);
  expect(nexts).toEqual(range(1, 60).map((databaseId) => ({ data: { sessionEvents: { databaseId } } })));
});

test('after the connection for notifications was lost, events of a writer in another process are delivered again', async () => {
  const peer = await startTestGateway({}, { beside: gateway });
  try {
    await startListening(gateway);
    const stream = await tail(gateway, key, id);
    await append(peer, key, id, eventsOf(1));
    await stream.take(1);
    await onServer(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = '${PROCESS_NAME} listener'`,
      [database()],
    );
    // No event is missed, whenever the connection is lost.
    for (const n of range(2, 31)) {
      await append(peer, key, id, eventsOf(1));
      expect((await stream.nextData())?.id).toBe(String(n));
    }
    await stream.close();
  } finally {
    await peer.close();
  }
});

test('a client whose connection breaks 20 times continues with Last-Event-ID without gaps or duplicates', async () => {
  const server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  const remote = { fetch: (path: string, init?: RequestInit) => fetch(`${server.url}${path}`, init) };
  const writing = (async () => {
    for (const index of range(1, 100)) await append(gateway, key, id, eventsOf(5, { from: index * 5 - 4 }));
    await moveTo(gateway, key, id, 'CANCELLED');
  })();
  const seen: number[] = [];
  for (let round = 1; ; round += 1) {
    const aborted = new AbortController();
    const stream = await tail(remote, key, id, {
      headers: seen.length > 0 ? { 'Last-Event-ID': String(seen.at(-1)) } : {},
      signal: aborted.signal,
    });
    const messages = await stream.take(round <= 20 ? 12 : Number.MAX_SAFE_INTEGER);
    seen.push(
      ...messages.flatMap(({ id: eventId, event }) =>
        eventId === undefined || event === 'end' ? [] : [Number(eventId)],
      ),
    );
    if (messages.at(-1)?.event === 'end') break;
    aborted.abort();
  }
  await writing;
  expect(seen).toEqual(range(1, 500));
  await server.stop(100);
});

test('while one client reads 60 MB, the gateway reads only a few pages for a client that does not read its socket', async () => {
  const text = 'x'.repeat(50_000);
  for (const batch of range(0, 24))
    await append(gateway, key, id, eventsOf(50, { from: batch * 50 + 1, data: { text } }));
  const peer = await startTestGateway({}, { beside: gateway });
  const server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  const aborted = new AbortController();
  const response = await fetch(`${server.url}/v1/sessions/${id}/events`, {
    headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' },
    signal: aborted.signal,
  });
  expect(response.status).toBe(200);
  const isPage = (statement: string) => statement.includes('left join lateral') && !statement.includes('session_fold');
  const pages = () => gateway.statements.filter(isPage).length;
  // Without backpressure, the gateway would read all pages for both clients meanwhile.
  expect(await (await tail(peer, key, id)).take(1250)).toHaveLength(1250);
  // Of about 60 pages of a megabyte, only those that fill the buffers of the two sockets, and one more.
  expect(pages()).toBeLessThan(30);
  expect((await gateway.rest('GET', `/v1/sessions/${id}/events?limit=1`, { key })).status).toBe(200);
  aborted.abort();
  await server.stop(100);
  await peer.close();
});
