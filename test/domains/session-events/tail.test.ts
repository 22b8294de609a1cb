import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { NOTIFICATIONS_ONLY } from '../../support/fixtures/notifications.ts';
import {
  type EventStream,
  type Message,
  append,
  createSession,
  eventsOf,
  moveTo,
  readAll,
  subscribe,
  tail,
} from '../../support/fixtures/sessions.ts';

let gateway: TestGateway;
let peer: TestGateway;
let key: string;
const open = new Set<EventStream>();
beforeAll(async () => {
  gateway = await startTestGateway({}, { timing: NOTIFICATIONS_ONLY });
  peer = await startTestGateway({}, { beside: gateway, timing: NOTIFICATIONS_ONLY });
  ({ key } = await gateway.createKey());
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await Promise.all([...open].map((stream) => stream.close()));
  open.clear();
});
afterAll(async () => {
  await peer.close();
  await gateway.close();
});

async function follow(...given: Parameters<typeof tail>): Promise<EventStream> {
  const stream = await tail(...given);
  open.add(stream);
  return stream;
}

const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => Number(id));
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
/** The last event, whose id is the end of the session. */
const endAt = (id: number) => ({ event: 'end', id: String(id), data: '{}' });

test('the stream consists of a comment, the events with the same JSON as in REST pages, and the end event', async () => {
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(2, { data: { text: 'a\nb\r\u2028' } }));
  await moveTo(gateway, key, id, 'CANCELLED');
  const items = (await gateway.rest<{ items: object[] }>('GET', `/v1/sessions/${id}/events`, { key })).body.items.map(
    (item) => JSON.stringify(item),
  );
  const response = await gateway.fetch(`/v1/sessions/${id}/events`, {
    headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' },
  });
  expect([response.status, response.headers.get('content-type'), response.headers.get('cache-control')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
    'no-store',
  ]);
  expect(await response.text()).toBe(
    `: connected\n\nid: 1\ndata: ${items[0]}\n\nid: 2\ndata: ${items[1]}\n\nevent: end\nid: 2\ndata: {}\n\n`,
  );
});

test('events that are appended by two gateways during the replay follow it, without gaps or duplicates', async () => {
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(700));
  const stream = await follow(gateway, key, id);
  const seen = await stream.take(10);
  await append(gateway, key, id, eventsOf(300, { from: 701 }));
  seen.push(...(await stream.take(600)));
  const rest = stream.take(Number.MAX_SAFE_INTEGER);
  for (let from = 1001; from <= 1100; from += 10)
    await append(from % 20 === 1 ? peer : gateway, key, id, eventsOf(10, { from }));
  await moveTo(peer, key, id, 'CANCELLED');
  seen.push(...(await rest));
  expect(seen.at(-1)).toEqual(endAt(1100));
  expect(idsOf(seen.slice(0, -1))).toEqual(range(1, 1100));
  expect(seen.slice(0, -1).map(({ data }) => JSON.parse(data ?? '') as object)).toEqual(
    await readAll(gateway, key, id, 1000),
  );
});

test('the stream starts after the cursor or Last-Event-ID, of which the header takes precedence; messageId filters the events', async () => {
  const id = await createSession(gateway, key);
  const messageId = randomUUID();
  await append(gateway, key, id, [...eventsOf(5), ...eventsOf(1, { messageId })]);
  await moveTo(gateway, key, id, 'CANCELLED');
  const idsFrom = async (options: Parameters<typeof tail>[3]) =>
    idsOf((await (await follow(gateway, key, id, options)).take(9)).slice(0, -1));
  expect(await idsFrom({})).toEqual([1, 2, 3, 4, 5, 6]);
  expect(await idsFrom({ query: '?cursor=2' })).toEqual([3, 4, 5, 6]);
  expect(await idsFrom({ headers: { 'Last-Event-ID': '4' }, query: '?cursor=2' })).toEqual([5, 6]);
  expect(await idsFrom({ query: '?cursor=6' })).toEqual([]);
  expect(await idsFrom({ query: `?messageId=${messageId}` })).toEqual([6]);
});

test('a client that resumes after the end gets 204, which stops an EventSource, even if its filter excludes the last events', async () => {
  const id = await createSession(gateway, key);
  const messageId = randomUUID();
  await append(gateway, key, id, [...eventsOf(1, { messageId }), ...eventsOf(2)]);
  await moveTo(gateway, key, id, 'CANCELLED');
  const query = `?messageId=${messageId}`;
  const seen = await (await follow(gateway, key, id, { query })).take(9);
  expect(seen.map((event) => event.id)).toEqual(['1', '3']);
  expect(seen.at(-1)).toEqual(endAt(3));
  const resumed = await gateway.fetch(`/v1/sessions/${id}/events${query}`, {
    headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', 'Last-Event-ID': '3' },
  });
  expect([resumed.status, await resumed.text()]).toEqual([204, '']);
  // The session goes on, so there is something to follow again.
  await moveTo(gateway, key, id, 'QUEUED');
  const again = await tail(gateway, key, id, { headers: { 'Last-Event-ID': '3' } });
  expect(again.response.status).toBe(200);
  await again.close();
});

test('a request that is refused gets an error status, not a stream', async () => {
  const id = await createSession(gateway, key);
  const stranger = await gateway.createKey();
  const answerOf = async (as: string, sessionId: string, options: Parameters<typeof tail>[3] = {}) => {
    const { response } = await tail(gateway, as, sessionId, options);
    return [response.status, response.headers.get('content-type')?.split(';')[0]];
  };
  const json = 'application/json';
  expect(await answerOf(key, id, { headers: { 'Last-Event-ID': 'x' } })).toEqual([400, json]);
  expect(await answerOf(key, id, { query: '?cursor=x' })).toEqual([400, json]);
  expect(await answerOf(stranger.key, id)).toEqual([404, json]);
  expect(await answerOf(key, randomUUID())).toEqual([404, json]);
  expect(await answerOf('wgk_no', id)).toEqual([401, json]);
});

test('a stream sends a ping comment every 8 s', async () => {
  const id = await createSession(gateway, key);
  // Fakes only intervals, which the pings use; the database client uses other timers.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const closing = new AbortController();
  const stream = await follow(gateway, key, id, { signal: closing.signal });
  expect(await stream.next()).toEqual({ comment: 'connected' });
  for (let round = 0; round < 3; round += 1) {
    const next = stream.next();
    vi.advanceTimersByTime(7_999);
    await append(gateway, key, id, eventsOf(1));
    expect(await next).toMatchObject({ id: String(round + 1) });
    const ping = stream.next();
    vi.advanceTimersByTime(1);
    expect(await ping).toEqual({ comment: 'ping' });
  }
  // Database connections that were opened meanwhile may have intervals, too.
  const timers = vi.getTimerCount();
  closing.abort();
  await stream.take(Infinity);
  // Two intervals end: that of the pings, and that of the poll for all tails, because this was the last tail.
  expect(vi.getTimerCount()).toBe(timers - 2);
});

/** Counts the listeners that are added to the gateway's notifier from now on. */
function countListeners(): { now: number; ever: number } {
  const count = { now: 0, ever: 0 };
  const { notifier } = gateway.dependencies;
  const subscribeTo = notifier.subscribe.bind(notifier);
  vi.spyOn(notifier, 'subscribe').mockImplementation((...given) => {
    const unsubscribe = subscribeTo(...given);
    count.now += 1;
    count.ever += 1;
    return () => {
      count.now -= 1;
      unsubscribe();
    };
  });
  return count;
}

test('no listener remains after a stream that ended, that was canceled, or whose request was aborted', async () => {
  const listeners = countListeners();
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(3));
  const aborted = new AbortController();
  const [one, two, three] = [
    await follow(gateway, key, id),
    await follow(gateway, key, id, { signal: aborted.signal }),
    await follow(gateway, key, id),
  ];
  for (const stream of [one, two, three]) await stream.take(3);
  const idle = three.nextData();
  expect(listeners.now).toBeGreaterThan(0);
  await one.close();
  aborted.abort();
  await moveTo(gateway, key, id, 'CANCELLED');
  expect(await idle).toEqual(endAt(3));
  await expect.poll(() => listeners.now).toBe(0);
  expect(listeners.ever).toBe(6);
});

test('while one client reads 50 MB, another client that reads nothing makes the gateway load at most two pages', async () => {
  const id = await createSession(gateway, key);
  const text = 'x'.repeat(10_000);
  for (let from = 1; from <= 5000; from += 250) await append(gateway, key, id, eventsOf(250, { from, data: { text } }));
  const run = vi.spyOn(gateway.dependencies, 'run');
  const stream = await follow(gateway, key, id);
  const first = await stream.take(1);
  // Without back pressure, the gateway would load the events for both clients.
  const busy = await follow(peer, key, id);
  expect(idsOf(await busy.take(5000))).toEqual(range(1, 5000));
  // A statement whose page must be cut fails, and is sent again.
  const fetched = await Promise.all(
    run.mock.results.map(({ value }) => (value as Promise<{ eventData?: string }[]>).catch(() => [])),
  );
  const bytes = fetched.flat().reduce((sum, { eventData = '' }) => sum + eventData.length, 0);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(4 * 1024 * 1024);
  run.mockRestore();
  expect(idsOf([...first, ...(await stream.take(4999))])).toEqual(range(1, 5000));
});

test('when a session becomes private, clients who may no longer read it get an error and the end; its creator still gets events', async () => {
  const creator = await gateway.createKey();
  const member = await gateway.createKey({ organization: creator.organization });
  const id = await createSession(gateway, creator.key, { visibility: 'PUBLIC' });
  await append(gateway, creator.key, id, eventsOf(1));
  const [theirs, own] = [await follow(gateway, member.key, id), await follow(gateway, creator.key, id)];
  await Promise.all([theirs.take(1), own.take(1)]);
  await peer.rest('PATCH', `/v1/sessions/${id}`, { key: creator.key, body: { visibility: 'private' } });
  expect(await theirs.take(2)).toEqual([{ event: 'error', data: '{"error":"session not found"}' }]);
  await append(gateway, creator.key, id, eventsOf(1));
  expect((await own.nextData())?.id).toBe('2');
});

test('when the key is revoked, in this process or another, the stream ends with an error', async () => {
  const admin = await gateway.createKey();
  const id = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
  await append(gateway, admin.key, id, eventsOf(1));
  for (const revoker of [gateway, peer]) {
    const reader = await gateway.createKey({ organization: admin.organization });
    const stream = await follow(gateway, reader.key, id);
    await stream.take(1);
    const rest = stream.take(2);
    expect((await revoker.rest('DELETE', `/v1/api-keys/${reader.keyId}`, { key: admin.key })).status).toBe(200);
    expect(await rest).toEqual([{ event: 'error', data: '{"error":"missing or invalid API key"}' }]);
  }
});

test('when the session is deleted, in this process or another, the stream ends', async () => {
  for (const by of [gateway, peer]) {
    const id = await createSession(gateway, key);
    await append(gateway, key, id, eventsOf(1));
    const stream = await follow(gateway, key, id);
    await stream.take(1);
    const rest = stream.take(2);
    expect((await by.rest('DELETE', `/v1/sessions/${id}`, { key })).status).toBe(204);
    expect(await rest).toEqual([endAt(1)]);
  }
});

test('an internal failure ends a live tail with an error without details, and is logged with the request id', async () => {
  const { sql, notifier } = gateway.dependencies;
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(1));
  const rest = await follow(gateway, key, id, { headers: { 'X-Request-Id': 'tail-rest' } });
  const query = 'subscription($id: ID!) { sessionEvents(sessionId: $id) { databaseId } }';
  const graphql = await subscribe(gateway, key, query, { id });
  open.add(graphql);
  await Promise.all([rest.take(1), graphql.take(1)]);
  await sql.query('alter table session_event rename to session_event_away', []);
  notifier.publish(`session:${id}`);
  const internal = 'internal error; quote the request id to the operator';
  expect(await rest.take(2)).toEqual([{ event: 'error', data: JSON.stringify({ error: internal }) }]);
  const [last] = await graphql.take(1);
  expect(JSON.parse(last?.data ?? '')).toMatchObject({
    errors: [{ message: internal, extensions: { code: 'INTERNAL' } }],
  });
  await sql.query('alter table session_event_away rename to session_event', []);
  const failures = gateway.logged.filter((line) => line.includes('"msg":"internal error"'));
  expect(failures).toHaveLength(2);
  expect(failures.join('')).toContain('session_event');
  expect(failures.map((line) => (JSON.parse(line) as { requestId: string }).requestId)).toContain('tail-rest');
});
