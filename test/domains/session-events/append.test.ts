import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, moveTo, mutate, readAll } from '../../support/fixtures/sessions.ts';
import { sampled, sampledRuns } from '../../support/sample.ts';

const gateway = useTestGateway();
let peer: TestGateway;
let key: string;
let organization: string;
beforeAll(async () => {
  peer = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '0' }, { beside: gateway });
  ({ key, organization } = await gateway.createKey());
});
afterAll(() => peer.close());

const appended = (firstId: number, lastId: number, isReplayed = false) => ({
  __typename: 'AppendSessionEventsPayload',
  firstId: String(firstId),
  lastId: String(lastId),
  isReplayed,
});
const conflict = (message: string, path: string[] | null = null) => ({
  __typename: 'ConflictError',
  message,
  code: 'CONFLICT',
  path,
});
const FINISHED = 'the session is finished; queue it again before recording events';

test('a batch has 1 to 1000 events, which get ids from 1 without gaps; batches of 0 and 1001 are refused and store nothing', async () => {
  const id = await createSession(gateway, key);
  expect(await append(gateway, key, id, eventsOf(1))).toEqual(appended(1, 1));
  expect(await append(gateway, key, id, eventsOf(1000))).toEqual(appended(2, 1001));
  expect(await append(gateway, key, id, [])).toMatchObject({
    __typename: 'ValidationError',
    message: 'events: must have at least 1 item',
  });
  expect(await append(gateway, key, id, eventsOf(1001))).toMatchObject({
    __typename: 'ValidationError',
    message: 'events: must have at most 1000 items',
  });
  expect(await readAll(gateway, key, id, 1000)).toHaveLength(1001);
});

const eventOfSize = (bytes: number) => ({
  eventType: 'x',
  provider: 'p',
  eventData: { type: 't', text: 'a'.repeat(bytes - '{"type":"t","text":""}'.length) },
});
const MIB = 1024 * 1024;

test('an event of 1 MiB is stored, a larger one is refused with its whole batch, and a body over 4 MiB is TOO_LARGE', async () => {
  const id = await createSession(gateway, key);
  expect(await append(gateway, key, id, [eventOfSize(MIB)])).toEqual(appended(1, 1));
  expect(await append(gateway, key, id, [...eventsOf(2), eventOfSize(MIB + 1)])).toMatchObject({
    __typename: 'ValidationError',
    message: 'events.2.eventData: must be at most 1048576 bytes (1 MiB) as JSON in UTF-8',
  });
  const over = await gateway.graphql(
    key,
    'mutation($input: AppendSessionEventsInput!) { appendSessionEvents(input: $input) { __typename } }',
    { input: { sessionId: id, events: Array(4).fill(eventOfSize(MIB)) } },
  );
  expect(over.errors?.[0]).toMatchObject({
    message: 'the body must be at most 4194304 bytes (4 MiB)',
    extensions: { code: 'TOO_LARGE' },
  });
  expect(await readAll(gateway, key, id)).toHaveLength(1);
});

sampled(test, 4).each([
  [{ eventType: '' }, 'eventType: must not be empty'],
  [{ eventType: 'x'.repeat(101) }, 'eventType: must be at most 100 characters'],
  [{ provider: '' }, 'provider: must not be empty'],
  [{ eventData: {} }, 'eventData.type: is required'],
  [{ eventData: { type: 't', delivery: 1 } }, 'eventData.delivery: must be a string'],
  [{ eventData: { type: 't', scope: {} } }, 'eventData.scope.kind: is required'],
  [{ eventData: { type: 't', toolResult: {} } }, 'eventData.toolResult.status: is required'],
  [{ eventData: { type: 't', event: { event: 'e' } } }, 'eventData.event.message: is required'],
  [{ createdAt: '0001-01-01T00:00:00Z' }, 'createdAt: must be between the years 1970 and 9999'],
])('an event with %j is refused, and nothing of its batch is stored', async (fault, message) => {
  const id = await createSession(gateway, key);
  const events = [...eventsOf(1), { ...eventsOf(1)[0], ...fault }];
  expect(await append(gateway, key, id, events)).toMatchObject({
    __typename: 'ValidationError',
    message: `events.1.${message}`,
  });
  expect(await readAll(gateway, key, id)).toEqual([]);
});

test('numbers of event data are answered as they came, over both APIs, in variables and literals', async () => {
  const id = await createSession(gateway, key);
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'application/json' };
  const data = '{"type":"t","id":1234567890123456789,"more":[{"price":0.12345678901234567891,"far":1e400}]}';
  const literal = '{type: "t", id: 1234567890123456789, more: [{price: 0.12345678901234567891, far: 1e400}]}';
  const event = `{"eventType":"x","provider":"p","eventData":${data}}`;
  const mutation = (events: string) =>
    `mutation($events: [RecordedEventInput!]!) { appendSessionEvents(input: {sessionId: "${id}", events: ${events}}) { __typename } }`;
  const bodies = [
    [`/v1/sessions/${id}/events`, `{"events":[${event}]}`],
    ['/graphql', `{"query":${JSON.stringify(mutation('$events'))},"variables":{"events":[${event}]}}`],
    [
      '/graphql',
      JSON.stringify({
        query: mutation(`[{eventType: "x", provider: "p", eventData: ${literal}}]`).replace(/\(.*?\) /, ''),
      }),
    ],
  ] as const;
  for (const [path, body] of bodies) {
    const answer = await gateway.fetch(path, { method: 'POST', headers, body });
    expect([answer.status, await answer.text()]).toEqual([
      path === '/graphql' ? 200 : 201,
      expect.not.stringContaining('rror'),
    ]);
  }
  const page = await gateway.fetch(`/v1/sessions/${id}/events`, { headers });
  expect((await page.text()).split(data)).toHaveLength(4);
  const query = `{ session(id: "${id}") { events { nodes { eventDataJson } } } }`;
  const answer = await gateway.fetch('/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) });
  expect((await answer.text()).split(data)).toHaveLength(4);
  // A batch with another number is another batch.
  const batch = (number: string) =>
    gateway.fetch(`/v1/sessions/${id}/events`, {
      method: 'POST',
      headers,
      body: `{"batchId":"b","events":[${event.replace('1234567890123456789', number)}]}`,
    });
  const statuses = [await batch('9007199254740993'), await batch('9007199254740993'), await batch('9007199254740992')];
  expect(statuses.map(({ status }) => status)).toEqual([201, 201, 409]);
});

test('a finished session accepts no events until it is queued again', async () => {
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(1), 'before');
  for (const end of ['COMPLETED', 'FAILED', 'CANCELLED']) {
    await moveTo(gateway, key, id, 'IN_PROGRESS', end);
    expect(await append(gateway, key, id, eventsOf(1))).toEqual(conflict(FINISHED));
    // A batch that was stored before the end can still be retried.
    expect(await append(gateway, key, id, eventsOf(1), 'before')).toEqual(appended(1, 1, true));
    await moveTo(gateway, key, id, 'QUEUED');
  }
  expect(await append(gateway, key, id, eventsOf(1))).toEqual(appended(2, 2));
});

test('a retried batch stores nothing and gets the same answer; other events with its batchId are a conflict, except in another session', async () => {
  const [id, other] = [await createSession(gateway, key), await createSession(gateway, key)];
  expect(await append(gateway, key, id, eventsOf(3), 'b')).toEqual(appended(1, 3));
  await append(gateway, key, id, eventsOf(2));
  expect(await append(gateway, key, id, eventsOf(3), 'b')).toEqual(appended(1, 3, true));
  const reused = conflict('batchId: already used for other events; use another batchId', ['batchId']);
  const [first, ...others] = eventsOf(3);
  for (const changed of [
    eventsOf(2),
    eventsOf(4),
    [...others, first],
    [{ ...first, eventData: { ...first?.eventData, index: 7 } }, ...others],
    [{ ...first, provider: 'openai' }, ...others],
    [{ ...first, eventType: 'other' }, ...others],
    [{ ...first, messageId: randomUUID() }, ...others],
    [{ ...first, createdAt: '2026-03-01T10:20:30.500Z' }, ...others],
  ])
    expect(await append(gateway, key, id, changed as object[], 'b')).toEqual(reused);
  expect(await append(gateway, key, other, eventsOf(2), 'b')).toEqual(appended(1, 2));
  expect(await readAll(gateway, key, id)).toHaveLength(5);
  for (const batchId of ['', 'x'.repeat(201), 'a\0'])
    expect(await append(gateway, key, id, eventsOf(1), batchId)).toMatchObject({
      __typename: 'ValidationError',
      path: ['batchId'],
    });
});

/** Locks the row of the stream until one append of each gateway waits for it. The other appends wait in the queue of their gateway. */
async function runConcurrently<Value>(sessionId: string, start: () => Promise<Value>[]): Promise<Value[]> {
  let running: Promise<Value>[] = [];
  await gateway.dependencies.database.em.fork().transactional(async (em) => {
    await em.execute('select 1 from session_stream where session_id = ? for update', [sessionId]);
    running = start();
    // Not in the transaction, because there PostgreSQL shows only the activity at its first look.
    const waiting = () =>
      peer.dependencies.sql.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        [],
      );
    await expect.poll(waiting).toHaveLength(2);
  });
  return Promise.all(running);
}

test('two batches are the same if they differ only in order of fields, case of ids and offset of times', async () => {
  const id = await createSession(gateway, key);
  const messageId = randomUUID();
  const event = {
    eventType: 'x',
    provider: 'p',
    messageId,
    createdAt: '2026-03-01T10:20:30.5Z',
    eventData: { type: 't', more: { a: 1, b: [2, null] } },
  };
  expect(await append(gateway, key, id, [event], 'b')).toEqual(appended(1, 1));
  const again = {
    ...event,
    messageId: messageId.toUpperCase(),
    createdAt: '2026-03-01T12:20:30.500+02:00',
    eventData: { more: { b: [2, null], a: 1 }, type: 't' },
  };
  expect(await append(gateway, key, id, [again], 'b')).toEqual(appended(1, 1, true));
  expect(await append(gateway, key, id, [{ ...again, createdAt: null }], 'b')).toEqual(appended(1, 1, true));
});

test('of 20 concurrent appends of one batch on two gateways, one is stored and 19 are replays', async () => {
  const id = await createSession(gateway, key);
  const appendSameBatch = (index: number) => append(index % 2 === 0 ? gateway : peer, key, id, eventsOf(10), 'twin');
  const answers = await runConcurrently(id, () => Array.from({ length: 20 }, (_, index) => appendSameBatch(index)));
  expect(answers.toSorted((a, b) => Number(a.isReplayed) - Number(b.isReplayed))).toEqual([
    appended(1, 10),
    ...Array<object>(19).fill(appended(1, 10, true)),
  ]);
  expect((await readAll(gateway, key, id)).map((event) => event.id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('an append that is concurrent with the end of its session is stored before the end or refused', async () => {
  for (let round = sampledRuns(20, 4); round > 0; round -= 1) {
    const id = await createSession(gateway, key);
    await moveTo(gateway, key, id, 'IN_PROGRESS');
    const [result, again] = await Promise.all([
      append(gateway, key, id, eventsOf(5)),
      append(peer, key, id, eventsOf(5)),
      mutate(peer, key, 'transitionSession', { sessionId: id, state: 'COMPLETED' }),
    ]);
    const stored = [result, again].filter(({ __typename }) => __typename === 'AppendSessionEventsPayload').length;
    expect(await readAll(gateway, key, id)).toHaveLength(stored * 5);
    expect(await append(gateway, key, id, eventsOf(1))).toEqual(conflict(FINISHED));
  }
});

test('appending is 403 without the scope or with only the right to read, and otherwise 404; nothing is stored', async () => {
  const creator = await gateway.createKey({ organization });
  const member = await gateway.createKey({ organization });
  const bare = await gateway.createKey({ organization, role: 'admin', scopes: ['sessions.read', 'sessions.write'] });
  const stranger = await gateway.createKey();
  const id = await createSession(gateway, creator.key);
  const missing = { __typename: 'NotFoundError', message: 'session not found', code: 'NOT_FOUND', path: null };
  const forbidden = (message: string) => ({ __typename: 'ForbiddenError', message, code: 'FORBIDDEN', path: null });
  expect(await append(gateway, bare.key, id, eventsOf(1))).toEqual(
    forbidden('the API key lacks the scope sessions.record'),
  );
  for (const as of [member, stranger]) expect(await append(gateway, as.key, id, eventsOf(1), 'b')).toEqual(missing);
  expect(await append(gateway, creator.key, randomUUID(), eventsOf(1))).toEqual(missing);
  await gateway.rest('PATCH', `/v1/sessions/${id}`, { key: creator.key, body: { visibility: 'public' } });
  expect(await append(gateway, member.key, id, eventsOf(1))).toEqual(
    forbidden('only the creator of the session and administrators can change it'),
  );
  expect(await append(gateway, stranger.key, id, eventsOf(1))).toEqual(missing);
  expect(await readAll(gateway, creator.key, id)).toEqual([]);
  expect(await append(gateway, key, id.toUpperCase(), eventsOf(1))).toEqual(appended(1, 1));
});

test.each(['REST', 'GraphQL'])(
  'over %s an event needs no provider: GraphQL reads null, REST an empty text',
  async (api) => {
    const id = await createSession(gateway, key);
    const events = [
      { eventType: 'x', eventData: { type: 'x' } },
      { eventType: 'x', provider: null, eventData: { type: 'x' } },
    ];
    const sent =
      api === 'REST'
        ? (await gateway.rest('POST', `/v1/sessions/${id}/events`, { key, body: { events } })).status
        : (await mutate(gateway, key, 'appendSessionEvents', { sessionId: id, events })).__typename;
    expect([201, 'AppendSessionEventsPayload']).toContain(sent);
    const { data } = await gateway.graphql(
      key,
      'query($id: ID!) { sessionEvents(sessionId: $id) { nodes { provider } } }',
      { id },
    );
    expect(data).toEqual({ sessionEvents: { nodes: [{ provider: null }, { provider: null }] } });
    const { body } = await gateway.rest<{ items: { provider: string }[] }>('GET', `/v1/sessions/${id}/events`, { key });
    expect(body.items.map(({ provider }) => provider)).toEqual(['', '']);
  },
);
