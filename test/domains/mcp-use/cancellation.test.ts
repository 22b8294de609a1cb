import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type UseFixture, postTo, responseIn, startUseFixture, toolCall } from '../../support/fixtures/mcp-use.ts';
import { type ServedGateway, startServedGateway } from '../../support/fixtures/served-gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { type ListingServer, listingServer } from '../../support/peers/listing-server.ts';
import { type Peer, startPeer } from '../../support/peers/mcp-server.ts';

/** `notifications/cancelled` ends a call at the server, whatever the address and the process. */

let fixture: UseFixture;
let second: ServedGateway;
let server: ListingServer;
let peer: Peer;
let id: string;
/** The calls that the server has got, and those whose connection was closed. */
let arrived: PromiseWithResolvers<void>[];
let closed: PromiseWithResolvers<void>[];
beforeAll(async () => {
  fixture = await startUseFixture();
  second = await startServedGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: fixture.gateway });
  server = listingServer({ hasSessions: true });
  peer = await startPeer((request, response) => server.handler(request, response));
  id = await fixture.connect({ name: 'slow', serverUrl: `${peer.origin}/mcp` });
});
afterAll(async () => {
  await fixture.stop();
  await peer.stop();
});
beforeEach(() => {
  arrived = [Promise.withResolvers(), Promise.withResolvers()];
  closed = [Promise.withResolvers(), Promise.withResolvers()];
  let count = 0;
  server.answer = ({ method }, response) => {
    if (method !== 'tools/call') return false;
    const index = count;
    count += 1;
    arrived[index]?.resolve();
    response.once('close', () => closed[index]?.resolve());
    return true;
  };
  server.asked.length = 0;
});

const CANCELED = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7, reason: 'stop' } };

interface Sender {
  readonly name?: string;
  readonly id?: number;
  readonly key?: string;
}

const call = (address: string, { name = 'slow__search', id: requestId = 7, key = fixture.key }: Sender = {}) =>
  postTo(address, key, toolCall(name, {}, requestId), { Accept: 'application/json' });

/** Cancels a call until it has ended: on a slow machine, processes answer each other late. */
async function canceling(
  address: string,
  calling: Promise<Response>,
  { id: requestId = 7, key = fixture.key }: Sender = {},
): Promise<Response> {
  const message = { ...CANCELED, params: { requestId } };
  let hasEnded = false;
  void calling.finally(() => (hasEnded = true));
  await expect
    .poll(async () => {
      expect((await postTo(address, key, message)).status).toBe(202);
      await Promise.race([calling, delay(1_000)]);
      return hasEnded;
    })
    .toBe(true);
  return calling;
}

test.each([
  ['of all connections', () => Promise.resolve('/v1/mcp'), 'slow__search'],
  [
    'of a session',
    async () => `/v1/sessions/${await createSession(fixture.gateway, fixture.key, { mcpServers: [id] })}/mcp`,
    'slow__search',
  ],
  ['of a connection', () => Promise.resolve(`/v1/mcp-connections/${id}/mcp`), 'search'],
])('at the address %s, sent to another process', async (_, pathOf, name) => {
  const path = await pathOf();
  const calling = call(fixture.url + path, { name });
  await arrived[0]?.promise;
  // Another id, and another caller.
  await postTo(second.url + path, fixture.key, { ...CANCELED, params: { requestId: '7' } });
  const answer = await canceling(second.url + path, calling);
  expect([answer.status, await answer.text()]).toEqual([202, '']);
  await closed[0]?.promise;
});

test('the server is told in its session, which then ends', async () => {
  const calling = call(`${fixture.url}/v1/mcp`);
  await arrived[0]?.promise;
  await canceling(`${fixture.url}/v1/mcp`, calling);
  await expect.poll(() => server.asked.slice(-2).toSorted()).toEqual(['DELETE', 'notifications/cancelled']);
});

test('a call stays open when another one has its name, or somebody else cancels', async () => {
  const other = await fixture.gateway.createKey({ organization: fixture.organization });
  const address = `${fixture.url}/v1/mcp`;
  const calls = [call(address), call(`${second.url}/v1/mcp`)];
  await Promise.all(arrived.map(({ promise }) => promise));
  await postTo(address, fixture.key, CANCELED);
  const both = Promise.withResolvers<void>();
  let count = 0;
  server.answer = ({ method }) => {
    if (method === 'tools/call' && (count += 1) === 2) both.resolve();
    return method === 'tools/call';
  };
  const [mine, theirs] = [call(address, { id: 9 }), call(address, { id: 9, key: other.key })];
  await both.promise;
  expect((await canceling(address, theirs, { id: 9, key: other.key })).status).toBe(202);
  expect(await Promise.race([mine, Promise.resolve('open')])).toBe('open');
  // What was sent first has had its time when this one has ended.
  expect((await canceling(address, mine, { id: 9 })).status).toBe(202);
  expect(await Promise.race([...calls, Promise.resolve('open')])).toBe('open');
  await peer.stop();
  peer = await startPeer((request, response) => server.handler(request, response));
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([502, 502]);
  expect(await responseIn(await call(address, { name: 'nobody__search' }))).toContain('Unknown tool');
});
