import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { issueKey } from '../../../src/operator/issue-key.ts';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { grantTo } from '../../support/fixtures/oauth-grants.ts';
import { NOTIFICATIONS_ONLY } from '../../support/fixtures/notifications.ts';
import { append, createSession, eventsOf, moveTo } from '../../support/fixtures/sessions.ts';
import { type SocketMessage, type TestSocket, connectSocket } from '../../support/fixtures/websockets.ts';

/** What an operation over a WebSocket has in common with one over HTTP. */

let gateway: TestGateway;
let peer: TestGateway;
let server: RunningServer;
let key: string;
const open = new Set<TestSocket>();
beforeAll(async () => {
  gateway = await startTestGateway({}, { timing: NOTIFICATIONS_ONLY });
  peer = await startTestGateway({}, { beside: gateway, timing: NOTIFICATIONS_ONLY });
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  ({ key } = await gateway.createKey());
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const { socket } of open) socket.terminate();
  open.clear();
});
afterAll(async () => {
  await server.stop(0);
  await peer.close();
  await gateway.close();
});

async function connect(as = key, { url = server.url, ...params }: Record<string, unknown> & { url?: string } = {}) {
  const socket = await connectSocket(url, as, params);
  open.add(socket);
  return socket;
}

/** A gateway on the same database with other settings, that listens. */
async function startAnother(env: Record<string, string>, options: Parameters<typeof startTestGateway>[1] = {}) {
  const another = await startTestGateway(env, { beside: gateway, ...options });
  const listening = await serve(createGateway(another.dependencies), { host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await listening.stop(0);
    await another.close();
  });
  return { ...another, url: listening.url };
}

const dataOf = (message: SocketMessage | undefined) => (message?.payload as { data?: object } | undefined)?.data;
const errorsOf = (message: SocketMessage | undefined) => (message?.payload ?? []) as { readonly extensions: object }[];

const FOLLOW = `subscription($id: ID!, $after: ID) { sessionEvents(sessionId: $id, after: $after) { databaseId } }`;
const eventOf = (id: string, databaseId: number) => ({
  id,
  type: 'next',
  payload: { data: { sessionEvents: { databaseId } } },
});

test('queries, mutations and their errors are answered as over HTTP', async () => {
  const socket = await connect();
  const [answer, end, ...others] = await socket.run({ query: '{ viewer { role } }' });
  expect([answer, end, others]).toEqual([
    {
      id: 'run 1',
      type: 'next',
      payload: {
        data: { viewer: { role: 'ADMIN' } },
        extensions: { requestId: expect.any(String), cost: expect.any(Object) },
      },
    },
    { id: 'run 1', type: 'complete' },
    [],
  ]);
  const create = `mutation($title: String!) { createSession(input: {title: $title}) { __typename
    ... on CreateSessionPayload { session { title } } ... on Error { message } } }`;
  expect(await socket.run({ query: create, variables: { title: 'Over a socket' } })).toMatchObject([
    {
      payload: {
        data: { createSession: { __typename: 'CreateSessionPayload', session: { title: 'Over a socket' } } },
      },
    },
    { type: 'complete' },
  ]);
  for (const query of ['{ nothing }', '{ viewer { role }', `{ ${'a: __typename '.repeat(101)} }`]) {
    const overHttp = await gateway.graphql(key, query);
    const messages = await socket.run({ query });
    expect(messages).toEqual([{ id: expect.any(String), type: 'error', payload: expect.any(Array) }]);
    const errors = errorsOf(messages[0]).map(({ extensions, ...error }) => ({
      ...error,
      extensions: { ...extensions, requestId: undefined },
    }));
    expect(errors).toEqual(overHttp.errors);
  }
  const partial = '{ viewer { organization { id auditLog(first: 101) { nodes { id } } } } }';
  const { errors } = await gateway.graphql(key, partial);
  expect(await socket.run({ query: partial })).toMatchObject([
    { type: 'next', payload: { errors } },
    { type: 'complete' },
  ]);
});

test('a subscription replays, follows changes of another process, resumes with `after`, and completes', async () => {
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(2));
  const socket = await connect();
  const start = (name: string, after?: string) =>
    socket.send({ id: name, type: 'subscribe', payload: { query: FOLLOW, variables: { id, after } } });
  start('one');
  expect([await socket.next(), await socket.next()]).toEqual([eventOf('one', 1), eventOf('one', 2)]);
  await append(peer, key, id, eventsOf(1));
  expect(await socket.next()).toEqual(eventOf('one', 3));
  socket.send({ id: 'one', type: 'complete' });
  start('two', '2');
  expect(await socket.next()).toEqual(eventOf('two', 3));
  await moveTo(peer, key, id, 'CANCELLED');
  expect(await socket.next()).toEqual({ id: 'two', type: 'complete' });
});

test('extensions.acknowledge: a ping says that the subscription has started, and what happens from then on is sent', async () => {
  const caller = await gateway.createKey();
  const socket = await connect(caller.key);
  const query = 'subscription { sessionChanged { title } }';
  const start = (id: string, acknowledge: unknown) =>
    socket.send({ id, type: 'subscribe', payload: { query, extensions: { acknowledge } } });
  start('x', 'started');
  expect(await socket.next()).toEqual({ type: 'ping', payload: { acknowledged: 'started' } });
  await createSession(peer, caller.key, { title: 'Since then' });
  expect(await socket.next()).toEqual({
    id: 'x',
    type: 'next',
    payload: { data: { sessionChanged: { title: 'Since then' } } },
  });
  socket.send({ id: 'x', type: 'complete' });
  // A token that is no short text is not sent back; the one that follows it is.
  for (const [id, token] of [
    ['long', 'x'.repeat(101)],
    ['number', 7],
    ['y', 'x'.repeat(100)],
  ] as const)
    start(id, token);
  expect(await socket.next()).toEqual({ type: 'ping', payload: { acknowledged: 'x'.repeat(100) } });
});

test('an error ends a subscription with a message, and the socket goes on', async () => {
  const socket = await connect();
  expect(await socket.run({ query: FOLLOW, variables: { id: randomUUID() } })).toEqual([
    {
      id: 'run 1',
      type: 'error',
      payload: [
        expect.objectContaining({
          message: 'session not found',
          extensions: { code: 'NOT_FOUND', type: 'Session', requestId: expect.any(String) },
        }),
      ],
    },
  ]);
  expect(await socket.run({ query: '{ __typename }' })).toMatchObject([{ type: 'next' }, { type: 'complete' }]);
});

test('no number is changed: neither in variables nor in results', async () => {
  const id = await createSession(gateway, key);
  const socket = await connect();
  const long = '9007199254740993';
  const mutation = `mutation($id: ID!, $data: JSON!) { appendSessionEvents(input: {sessionId: $id,
    events: [{eventType: "text", provider: "anthropic", eventData: $data}]}) { __typename ... on Error { message } } }`;
  const payload = JSON.stringify({ query: mutation, variables: { id, data: { type: 'text', long: 0 } } });
  socket.send(`{"id":"write","type":"subscribe","payload":${payload.replace('"long":0', `"long":${long}`)}}`);
  expect(await socket.nextText()).toContain('"AppendSessionEventsPayload"');
  expect(await socket.next()).toMatchObject({ type: 'complete' });
  const query = 'subscription($id: ID!) { sessionEvents(sessionId: $id) { eventDataJson } }';
  socket.send({ id: 'JSON of the result', type: 'subscribe', payload: { query, variables: { id } } });
  expect(await socket.nextText()).toBe(
    `{"id":"JSON of the result","type":"next","payload":{"data":{"sessionEvents":{"eventDataJson":{"type":"text","long":${long}}}}}}`,
  );
});

test('extensions.idempotencyKey: a repeated mutation is answered with the first answer', async () => {
  const socket = await connect();
  const query = 'mutation { createSession(input: {title: "Once"}) { ... on CreateSessionPayload { session { id } } } }';
  const run = (extensions: object) => socket.run({ query, extensions });
  const first = await run({ idempotencyKey: 'a key' });
  const [answer] = await run({ idempotencyKey: 'a key' });
  expect(dataOf(answer)).toEqual(dataOf(first[0]));
  const [other] = await run({ idempotencyKey: 'another key' });
  expect(dataOf(other)).not.toEqual(dataOf(first[0]));
  for (const idempotencyKey of ['', 'x'.repeat(256), 7])
    expect(await run({ idempotencyKey })).toMatchObject([
      {
        type: 'error',
        payload: [
          {
            message: 'extensions.idempotencyKey: must be a string of 1 to 255 characters',
            extensions: { code: 'INVALID_INPUT' },
          },
        ],
      },
    ]);
});

test('X-Organization-Id of connection_init names the organization of a key that is not bound', async () => {
  const [one, other] = [await gateway.createKey(), await gateway.createKey()];
  const { key: unbound } = await issueKey(gateway.dependencies, { email: one.email });
  const socket = await connect(unbound, { 'X-Organization-Id': one.organization });
  expect(await socket.run({ query: '{ viewer { organization { slug } } }' })).toMatchObject([
    { payload: { data: { viewer: { organization: { slug: one.organization } } } } },
    { type: 'complete' },
  ]);
  await expect(connect(unbound, { 'X-Organization-Id': other.organization })).rejects.toThrow(
    /"code":4403,"reason":"X-Organization-Id: organization not found"/,
  );
});

describe('limits', () => {
  test('each operation counts as a request and pays its cost, like the connection itself', async () => {
    const limited = await startAnother({ RATE_LIMIT_PER_MINUTE: '4' });
    limited.setClock(new Date());
    const caller = await gateway.createKey();
    const socket = await connect(caller.key, { url: limited.url });
    expect(await socket.run({ query: '{ viewer { role } }' })).toMatchObject([
      { payload: { extensions: { cost: { requested: 1, limit: 20_000, remaining: 19_999 } } } },
      { type: 'complete' },
    ]);
    await socket.run({ query: '{ __typename }' });
    await socket.run({ query: '{ __typename }' });
    expect(await socket.run({ query: '{ __typename }' })).toMatchObject([
      { type: 'error', payload: [{ extensions: { code: 'RATE_LIMITED' } }] },
    ]);
    await expect(connect(caller.key, { url: limited.url })).rejects.toThrow(
      /"code":4429,"reason":"rate limit exceeded/,
    );
  });

  test('a subscription is one of the live streams of its key; operations and sockets have bounds too', async () => {
    const bounded = await startAnother({}, { bounds: { tailsOfKey: 2, operationsOfSocket: 4, socketsOfKey: 2 } });
    const caller = await gateway.createKey();
    const id = await createSession(gateway, caller.key);
    await append(gateway, caller.key, id, eventsOf(1));
    const socket = await connect(caller.key, { url: bounded.url });
    const start = (name: string) =>
      socket.send({ id: name, type: 'subscribe', payload: { query: FOLLOW, variables: { id } } });
    start('1');
    expect(await socket.next()).toEqual(eventOf('1', 1));
    const { body, status } = await bounded.fetch(`/v1/sessions/${id}/events`, {
      headers: { Authorization: `Bearer ${caller.key}`, Accept: 'text/event-stream' },
    });
    expect(status).toBe(200);
    start('2');
    expect(await socket.next()).toMatchObject({
      id: '2',
      type: 'error',
      payload: [{ message: 'at most 2 live streams of an API key at once; end one first' }],
    });
    await body?.cancel();
    const another = () => {
      start(randomUUID());
      return socket.next();
    };
    await expect.poll(another).toMatchObject({ type: 'next' });
    const second = await connect(caller.key, { url: bounded.url });
    await expect(connect(caller.key, { url: bounded.url })).rejects.toThrow(
      /"code":4429,"reason":"at most 2 WebSockets/,
    );
    second.socket.close();
    await second.closed;
    await connect(caller.key, { url: bounded.url });
  });

  test('only trusted documents, where they are required; by id, without a query', async () => {
    const folder = fileURLToPath(new URL('../../../docs/examples/clients/', import.meta.url));
    const trusting = await startAnother({
      PERSISTED_OPERATIONS: `${folder}operations.graphql`,
      PERSISTED_OPERATIONS_MODE: 'only',
    });
    const socket = await connect(key, { url: trusting.url });
    expect(await socket.run({ query: '{ __typename }' })).toMatchObject([
      { type: 'error', payload: [{ extensions: { code: 'DOCUMENT_NOT_TRUSTED' } }] },
    ]);
    expect(await socket.run({ documentId: 'operations', operationName: 'Overview' })).toMatchObject([
      { type: 'next', payload: { data: { viewer: {} } } },
      { type: 'complete' },
    ]);
  });
});

describe('rights', () => {
  test('a revoked key closes its sockets at once, with and without a subscription', async () => {
    const admin = await gateway.createKey();
    const id = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
    await append(gateway, admin.key, id, eventsOf(1));
    const member = await gateway.createKey({ organization: admin.organization });
    const [idle, following] = [await connect(member.key), await connect(member.key)];
    following.send({ id: 'x', type: 'subscribe', payload: { query: FOLLOW, variables: { id } } });
    expect(await following.next()).toEqual(eventOf('x', 1));
    await peer.rest('DELETE', `/v1/api-keys/${member.keyId}`, { key: admin.key });
    const refused = { code: 4403, reason: 'missing or invalid API key' };
    expect([await idle.closed, await following.closed]).toEqual([refused, refused]);
  });

  test.each(['removeOrganizationMember', 'endOrganizationMemberSignIns', 'leaveOrganization'])(
    '%s closes the sockets of the sign-ins that it ends at once',
    async (name) => {
      const admin = await gateway.createKey();
      const member = await gateway.createKey({ organization: admin.organization });
      const { token } = await grantTo(gateway, member, { path: '/graphql' });
      const socket = await connect(token);
      const [by, input] =
        name === 'leaveOrganization'
          ? [member, { organizationId: admin.organizationId }]
          : [admin, { userId: member.userId }];
      const query = `mutation($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename } }`;
      expect(JSON.stringify((await peer.graphql(by.key, query, { input })).data)).toContain('Payload');
      expect(await socket.closed).toEqual({ code: 4403, reason: 'missing or invalid API key' });
    },
  );

  test('a subscription ends when its object becomes private, and the socket goes on', async () => {
    const admin = await gateway.createKey();
    const id = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
    await append(gateway, admin.key, id, eventsOf(1));
    const member = await gateway.createKey({ organization: admin.organization });
    const socket = await connect(member.key);
    socket.send({ id: 'x', type: 'subscribe', payload: { query: FOLLOW, variables: { id } } });
    expect(await socket.next()).toEqual(eventOf('x', 1));
    await peer.rest('PATCH', `/v1/sessions/${id}`, { key: admin.key, body: { visibility: 'private' } });
    expect(await socket.next()).toMatchObject({
      id: 'x',
      type: 'error',
      payload: [{ message: 'session not found', extensions: { code: 'NOT_FOUND' } }],
    });
    expect(await socket.run({ query: '{ __typename }' })).toMatchObject([{ type: 'next' }, { type: 'complete' }]);
  });
});

test('a socket that closes leaves no listener behind, and its operations end', async () => {
  let listeners = 0;
  const { notifier, metrics } = gateway.dependencies;
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
  const socket = await connect();
  socket.send({ id: 'x', type: 'subscribe', payload: { query: FOLLOW, variables: { id } } });
  expect(await socket.next()).toEqual(eventOf('x', 1));
  expect(listeners).toBe(3);
  const openNow = async () => (await metrics.sockets.get()).values[0]?.value;
  expect(await openNow()).toBe(1);
  socket.socket.terminate();
  await expect.poll(() => listeners).toBe(0);
  expect(await openNow()).toBe(0);
});
