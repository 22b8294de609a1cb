// A request that waits for something else than the database, or whose answer has begun, lets others of its person run meanwhile.
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDefinition, sendKeyed } from '../../support/fixtures/idempotency.ts';
import { hold, newCaller, releaseAll, untilWaiting } from '../../support/fixtures/held-requests.ts';
import { untilWaitingForLock, whileAppendsAreBlocked, whileLocked } from '../../support/fixtures/locks.ts';
import { type UseFixture, startUseFixture } from '../../support/fixtures/mcp-use.ts';
import { EventStream, append, eventsOf } from '../../support/fixtures/sessions.ts';
import { openSocket } from '../../support/fixtures/websockets.ts';

const OF_PERSON = 2;
let use: UseFixture;
beforeAll(async () => {
  use = await startUseFixture({}, { REQUESTS_AT_ONCE_OF_PERSON: String(OF_PERSON) });
});
afterAll(() => use.stop());

const isServed = async (key: string) => {
  const { status } = await use.gateway.rest('GET', '/v1/users/me', { key });
  return status === 200;
};

test('that waits for its twin', async () => {
  const { gateway } = use;
  const { key } = await gateway.createKey();
  const write = createDefinition('Signed up');
  await whileLocked(gateway, 'lock table event_definition in access exclusive mode', [], async (release) => {
    const first = sendKeyed(gateway, write, { key, idempotencyKey: 'one' });
    await untilWaitingForLock(gateway, 1);
    const twins = ['one', 'one', 'one'].map((idempotencyKey) => sendKeyed(gateway, write, { key, idempotencyKey }));
    expect(await isServed(key)).toBe(true);
    await release();
    expect((await Promise.all([first, ...twins])).map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  });
});

test('that waits for earlier appends to its session', async () => {
  const { gateway } = use;
  const {
    key,
    sessions: [sessionId = ''],
  } = await newCaller(gateway, 1);
  await whileAppendsAreBlocked(gateway, sessionId, async (release) => {
    const first = append(gateway, key, sessionId, eventsOf(1));
    await untilWaitingForLock(gateway, 1);
    const others = [1, 2, 3].map(() => append(gateway, key, sessionId, eventsOf(1)));
    expect(await isServed(key)).toBe(true);
    await release();
    const ids = (await Promise.all([first, ...others])).map(({ firstId }) => Number(firstId));
    expect(ids.toSorted((one, other) => one - other)).toEqual([1, 2, 3, 4]);
  });
});

test('that waits for an MCP server, over both APIs and at the address for MCP clients', async () => {
  const { gateway, peer, key, connectionId } = use;
  const { handler } = peer;
  const silent: (() => void)[] = [];
  peer.handler = (request, response) => void silent.push(() => handler(request, response));
  const call = { name: 'now', arguments: {} };
  const calls = [
    gateway.rest('POST', `/v1/mcp-connections/${connectionId}/tool-calls`, { key, body: call }),
    gateway.rest('POST', `/v1/mcp-connections/${connectionId}/mcp`, {
      key,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    }),
    gateway.rest('POST', '/v1/mcp', { key, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }),
    gateway.rest('POST', '/v1/mcp-connections', {
      key,
      body: { name: 'Slow', serverUrl: `${peer.origin}/mcp`, authType: 'static_headers', visibility: 'shared' },
    }),
    gateway.graphql(key, '{ mcpServers(first: 1) { nodes { toolCount } } }'),
  ];
  await expect.poll(() => silent.length).toBeGreaterThanOrEqual(OF_PERSON + 1);
  expect(await isServed(key)).toBe(true);
  peer.handler = handler;
  for (const go of silent) go();
  await Promise.all(calls);
  expect(await isServed(key)).toBe(true);
});

test('whose answer is a stream', async () => {
  const { gateway, url } = use;
  const {
    key,
    sessions: [sessionId = ''],
  } = await newCaller(gateway, 1);
  const streams: EventStream[] = [];
  while (streams.length < OF_PERSON + 1) {
    const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' };
    streams.push(new EventStream(await fetch(`${url}/v1/sessions/${sessionId}/events`, { headers })));
  }
  await append(gateway, key, sessionId, eventsOf(1));
  for (const stream of streams) expect((await stream.nextData())?.id).toBe('1');
  for (const stream of streams) await stream.close();
});

test('whose body arrives slowly', async () => {
  const { gateway, url } = use;
  const {
    key,
    sessions: [sessionId = ''],
  } = await newCaller(gateway, 1);
  const body = JSON.stringify({ title: 'Uploaded' });
  const { hostname, port } = new URL(url);
  const head = `PATCH /v1/sessions/${sessionId} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const sockets = Array.from({ length: OF_PERSON + 1 }, () => connect(Number(port), hostname));
  for (const socket of sockets) socket.write(head + body.slice(0, 5));
  expect(await isServed(key)).toBe(true);
  for (const socket of sockets) {
    socket.write(body.slice(5));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
  }
});

test('operations of one WebSocket run beside each other, within the bound of their person', async () => {
  const { gateway, url } = use;
  const caller = await newCaller(gateway, OF_PERSON);
  const socket = await openSocket(url);
  socket.send({ type: 'connection_init', payload: { Authorization: `Bearer ${caller.key}` } });
  expect(await socket.next()).toEqual({ type: 'connection_ack' });
  const query = 'subscription { sessionChange { __typename } }';
  for (const id of ['a', 'b', 'c']) socket.send({ id, type: 'subscribe', payload: { query } });
  expect(await socket.run({ query: '{ viewer { user { id } } }' })).toMatchObject([
    { type: 'next' },
    { type: 'complete' },
  ]);
  const held = [await hold(gateway, caller), await hold(gateway, caller)];
  await untilWaitingForLock(gateway, OF_PERSON);
  socket.send({ id: 'later', type: 'subscribe', payload: { query: '{ __typename }' } });
  await untilWaiting(gateway, 1);
  expect(await releaseAll(held)).toEqual([200, 200]);
  // The subscriptions tell of the changes.
  let message = await socket.next();
  while (message && message.id !== 'later') message = await socket.next();
  expect(message).toMatchObject({ id: 'later', type: 'next' });
  socket.socket.close();
  await socket.closed;
});
