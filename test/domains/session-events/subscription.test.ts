import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type RunningServer, serve } from '../../../src/gateway/http/server.ts';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { NOTIFICATIONS_ONLY } from '../../support/fixtures/notifications.ts';
import {
  type EventStream,
  type Message,
  append,
  createSession,
  eventsOf,
  moveTo,
  subscribe,
} from '../../support/fixtures/sessions.ts';

let gateway: TestGateway;
let peer: TestGateway;
let server: RunningServer;
let key: string;
const open = new Set<EventStream>();
beforeAll(async () => {
  gateway = await startTestGateway({}, { timing: NOTIFICATIONS_ONLY });
  peer = await startTestGateway({}, { beside: gateway, timing: NOTIFICATIONS_ONLY });
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  ({ key } = await gateway.createKey());
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all([...open].map((stream) => stream.close().catch(() => undefined)));
  open.clear();
});
afterAll(async () => {
  await server.stop(100);
  await peer.close();
  await gateway.close();
});

const QUERY = `subscription($id: ID!, $after: ID, $filter: SessionEventFilter) {
  sessionEvents(sessionId: $id, after: $after, filter: $filter) { databaseId eventType eventDataJson } }`;

/** Subscribes over a real socket, like a client in another process. */
async function follow(
  variables: object,
  {
    as = key,
    query = QUERY,
    signal,
    lastEventId,
  }: { as?: string; query?: string; signal?: AbortSignal; lastEventId?: string } = {},
): Promise<EventStream> {
  const headers: Record<string, string> = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
  const stream = await subscribe(
    {
      fetch: (path, init) =>
        fetch(`${server.url}${path}`, {
          ...init,
          headers: { ...(init?.headers as Record<string, string>), ...headers },
        }),
    },
    as,
    query,
    variables,
    signal,
  );
  open.add(stream);
  return stream;
}

interface Next {
  readonly data?: { readonly sessionEvents: { readonly databaseId: number; readonly eventDataJson: object } } | null;
  readonly errors?: { readonly message: string; readonly extensions?: { readonly code?: string } }[];
}

const nextOf = ({ data = '' }: Message): Next => JSON.parse(data) as Next;
const idsOf = (messages: readonly Message[]) =>
  messages.map((message) => nextOf(message).data?.sessionEvents.databaseId);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

test('a subscription replays stored events, follows appends through both processes, and completes when the session is finished', async () => {
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(300, { data: { more: [1] } }));
  const stream = await follow({ id: Buffer.from(`Session:${id}`).toString('base64') });
  expect([stream.response.status, stream.response.headers.get('content-type')?.split(';')[0]]).toEqual([
    200,
    'text/event-stream',
  ]);
  const seen = await stream.take(5);
  expect(seen[0]).toEqual({
    event: 'next',
    id: '1',
    data: JSON.stringify({
      data: {
        sessionEvents: { databaseId: 1, eventType: 'text', eventDataJson: { type: 'text', index: 1, more: [1] } },
      },
    }),
  });
  for (let from = 301; from <= 360; from += 10)
    await append(from % 20 === 1 ? peer : gateway, key, id, eventsOf(10, { from }));
  seen.push(...(await stream.take(355)));
  expect(idsOf(seen)).toEqual(range(1, 360));
  await moveTo(peer, key, id, 'CANCELLED');
  expect(await stream.nextData()).toMatchObject({ event: 'complete' });
  expect(await stream.next()).toBeUndefined();
});

test('each event is sent with its id; Last-Event-ID continues after it and takes precedence over `after`', async () => {
  const id = await createSession(gateway, key);
  await append(gateway, key, id, [...eventsOf(2), ...eventsOf(2, { eventType: 'tool' }), ...eventsOf(1)]);
  const bare = 'subscription($id: ID!, $after: ID) { sessionEvents(sessionId: $id, after: $after) { __typename } }';
  const idsSent = (messages: readonly Message[]) => messages.map((message) => message.id);
  const first = await follow({ id }, { query: bare });
  expect(idsSent(await first.take(3))).toEqual(['1', '2', '3']);
  const again = await follow({ id, after: '1' }, { query: bare, lastEventId: '3' });
  expect(idsSent(await again.take(2))).toEqual(['4', '5']);
  const filtered = await follow({ id, filter: { eventTypes: ['tool'] } }, { lastEventId: '3' });
  expect(idsSent(await filtered.take(1))).toEqual(['4']);
  await append(peer, key, id, eventsOf(1));
  expect(idsSent(await again.take(1))).toEqual(['6']);
  await moveTo(peer, key, id, 'CANCELLED');
  expect(await again.nextData()).toEqual({ event: 'complete', id: '6', data: '' });
  // A client that reconnects by itself is told to stop.
  for (const lastEventId of ['6', 'end']) {
    const query = `subscription { sessionEvents(sessionId: "${id}", filter: { eventTypes: ["tool"] }) { id } }`;
    const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', 'Last-Event-ID': lastEventId };
    const { status } = await fetch(`${server.url}/graphql?${new URLSearchParams({ query })}`, { headers });
    expect(status).toBe(204);
  }
  const [wrong = {}] = await (await follow({ id }, { lastEventId: 'x' })).take(1);
  expect(nextOf(wrong)).toMatchObject({
    errors: [
      {
        message: 'Last-Event-ID: must be the id of an event, in decimal digits',
        extensions: { code: 'INVALID_INPUT' },
      },
    ],
  });
});

test('`after` is the id of an event, and filters also apply to live events', async () => {
  const id = await createSession(gateway, key);
  await append(gateway, key, id, [...eventsOf(3), ...eventsOf(2, { eventType: 'tool' })]);
  const stream = await follow({ id, after: '1', filter: { eventTypes: ['tool'], providers: ['anthropic'] } });
  const plain = await follow({ id, after: '3' });
  expect(idsOf(await stream.take(2))).toEqual([4, 5]);
  await append(peer, key, id, [...eventsOf(500), ...eventsOf(1, { eventType: 'tool' })]);
  expect(idsOf(await stream.take(1))).toEqual([506]);
  expect(idsOf(await plain.take(503))).toEqual(range(4, 506));
});

test.each([
  ['a missing session', () => ({ id: randomUUID() }), 'session not found', 'NOT_FOUND'],
  ['a text that is no id', () => ({ id: 'x' }), 'session not found', 'NOT_FOUND'],
  [
    'an invalid cursor',
    (id: string) => ({ id, after: 'x' }),
    'after: must be the id of an event, in decimal digits',
    'INVALID_INPUT',
  ],
  [
    'a filter out of bounds',
    (id: string) => ({ id, filter: { eventTypes: ['\0'] } }),
    'filter.eventTypes.0: must be well-formed text without NUL characters',
    'INVALID_INPUT',
  ],
])('%s is an error that ends the subscription', async (_, variablesOf, message, code) => {
  const stream = await follow(variablesOf(await createSession(gateway, key)));
  const [first = {}] = await stream.take(1);
  expect(nextOf(first)).toMatchObject({ errors: [{ message, extensions: { code } }] });
  expect(await stream.nextData()).toEqual({ event: 'complete', id: 'end', data: '' });
  expect(await stream.next()).toBeUndefined();
});

test("another user's session gets the same error as a missing one; without the scope it is FORBIDDEN", async () => {
  const id = await createSession(gateway, key);
  const stranger = await gateway.createKey();
  const [first = {}] = await (await follow({ id }, { as: stranger.key })).take(1);
  expect(nextOf(first)).toMatchObject({
    errors: [{ message: 'session not found', extensions: { code: 'NOT_FOUND' } }],
  });
  const bare = await gateway.createKey({ scopes: ['sessions.record'] });
  const [second = {}] = await (await follow({ id }, { as: bare.key })).take(1);
  expect(nextOf(second)).toMatchObject({
    errors: [{ message: 'the API key lacks the scope sessions.read', extensions: { code: 'FORBIDDEN' } }],
  });
});

test('the documented limits apply to subscriptions, and their cost is recorded', async () => {
  const id = await createSession(gateway, key);
  const aliases = Array.from({ length: 101 }, (_, index) => `a${index}: eventType`).join(' ');
  const query = `subscription($id: ID!) { sessionEvents(sessionId: $id) { ${aliases} } }`;
  const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', 'Content-Type': 'application/json' };
  const refused = await gateway.fetch('/graphql', {
    method: 'POST',
    headers,
    body: JSON.stringify({ query, variables: { id } }),
  });
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringContaining('"code":"TOO_MANY_ALIASES","limit":100'),
  ]);
  const cost = vi.spyOn(gateway.dependencies.metrics.cost, 'observe');
  await append(gateway, key, id, eventsOf(1));
  cost.mockClear();
  await (
    await follow(
      { id },
      { query: 'subscription($id: ID!) { sessionEvents(sessionId: $id) { eventData { scope { kind } } } }' },
    )
  ).take(1);
  expect(cost.mock.calls).toEqual([[3]]);
});

test('the subscription ends with an error when its key is revoked or the session becomes private', async () => {
  const admin = await gateway.createKey();
  const id = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
  await append(gateway, admin.key, id, eventsOf(1));
  const [one, two] = [
    await gateway.createKey({ organization: admin.organization }),
    await gateway.createKey({ organization: admin.organization }),
  ];
  const [first, second] = [await follow({ id }, { as: one.key }), await follow({ id }, { as: two.key })];
  await Promise.all([first.take(1), second.take(1)]);
  await peer.rest('DELETE', `/v1/api-keys/${one.keyId}`, { key: admin.key });
  expect(nextOf((await first.nextData()) ?? {})).toMatchObject({
    errors: [{ message: 'missing or invalid API key', extensions: { code: 'UNAUTHENTICATED' } }],
  });
  await peer.rest('PATCH', `/v1/sessions/${id}`, { key: admin.key, body: { visibility: 'private' } });
  expect(nextOf((await second.nextData()) ?? {})).toMatchObject({
    errors: [{ message: 'session not found', extensions: { code: 'NOT_FOUND' } }],
  });
});

test('a client that disconnects leaves no listener behind, even if nothing happens in the session', async () => {
  let listeners = 0;
  const { notifier } = gateway.dependencies;
  const subscribeTo = notifier.subscribe.bind(notifier);
  vi.spyOn(notifier, 'subscribe').mockImplementation((...given) => {
    const unsubscribe = subscribeTo(...given);
    listeners += 1;
    return () => {
      listeners -= 1;
      unsubscribe();
    };
  });
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(1));
  const aborted = new AbortController();
  const stream = await follow({ id }, { signal: aborted.signal });
  await stream.take(1);
  expect(listeners).toBe(2);
  aborted.abort();
  await expect.poll(() => listeners).toBe(0);
});
