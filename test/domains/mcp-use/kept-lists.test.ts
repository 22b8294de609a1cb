import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  MODERN_META,
  type UseFixture,
  modernHeaders,
  post,
  postTo,
  readerOf,
  responseIn,
  startUseFixture,
  toolCall,
} from '../../support/fixtures/mcp-use.ts';
import { type ServedGateway, startServedGateway } from '../../support/fixtures/served-gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { type ListingServer, listingServer, tool } from '../../support/peers/listing-server.ts';
import { type Peer, startPeer } from '../../support/peers/mcp-server.ts';

/** What a server lists is kept for all uses, and what the gateway therefore asks of it. */

let fixture: UseFixture;
let second: ServedGateway;
let server: ListingServer;
let peer: Peer;
let id: string;
let count = 0;
beforeAll(async () => {
  fixture = await startUseFixture();
  second = await startServedGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: fixture.gateway });
});
afterAll(async () => {
  await peer.stop();
  await fixture.stop();
});
beforeEach(async () => {
  if (count > 0) await peer.stop();
  for (const gateway of [fixture.gateway, second]) gateway.setProcessClock(new Date());
  server = listingServer();
  peer = await startPeer((request, response) => server.handler(request, response));
  id = await fixture.connect({ name: `c${(count += 1)}`, serverUrl: `${peer.origin}/mcp` });
  server.asked.length = 0;
});

/** Answers every message with an error of HTTP. */
const failing: ListingServer['answer'] = (_, response) => {
  response.writeHead(500).end();
  return true;
};

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const listed = () => server.asked.filter((method) => method === 'tools/list').length;
const handle = () => `c${count}`;
const later = (ms: number) => {
  const at = new Date(fixture.gateway.dependencies.now().getTime() + ms);
  // The clocks stand still, so that nothing expires by itself.
  for (const gateway of [fixture.gateway, second]) gateway.setProcessClock(at);
};

interface Listed {
  readonly tools: { readonly name: string }[];
  readonly _meta?: { readonly 'workspace-gateway/notices'?: { readonly handle: string; readonly message: string }[] };
}

/** The tools of the server of this test, and the notice about it, as a client gets them. */
async function list({ key = fixture.key, url = fixture.url, path = '/v1/mcp' } = {}) {
  const { result } = JSON.parse(await responseIn(await postTo(url + path, key, LIST))) as { result: Listed };
  const prefix = `${handle()}__`;
  const names = result.tools.flatMap(({ name }) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  // The servers of these tests change what they say of their tools.
  const notice = result._meta?.['workspace-gateway/notices']?.find(
    (each) => each.handle === handle() && !each.message.includes('has changed what it says'),
  );
  return notice ? notice.message : names;
}

async function shown(key = fixture.key): Promise<unknown> {
  const query = `query ($id: ID!) { node(id: $id) { ... on McpServer { toolCount toolsReadAt tools { name } } } }`;
  const { data, errors } = await fixture.gateway.graphql<{ node: { tools: { name: string }[] | null } }>(key, query, {
    id: Buffer.from(`McpServer:${id}`).toString('base64'),
  });
  return data?.node.tools?.map(({ name }) => name) ?? errors?.[0]?.message;
}

const set = (settings: object) =>
  fixture.gateway.rest('PATCH', `/v1/mcp-connections/${id}/settings`, { key: fixture.key, body: settings });

test('a list is read once for GraphQL, the address of all connections, that of a session, and all callers, for 60 seconds', async () => {
  const member = await fixture.gateway.createKey({ organization: fixture.organization, role: 'member' });
  const session = await createSession(fixture.gateway, fixture.key, { mcpServers: [id] });
  expect(await shown()).toEqual(['search']);
  expect(await shown()).toEqual(['search']);
  expect(await shown(member.key)).toEqual(['search']);
  expect(await list()).toEqual(['search']);
  expect(await list({ key: member.key })).toEqual(['search']);
  expect(await list({ path: `/v1/sessions/${session}/mcp` })).toEqual(['search']);
  expect(listed()).toBe(1);
  later(60_001);
  server.tools = [tool('find')];
  expect(await shown()).toEqual(['find']);
  expect(await list()).toEqual(['find']);
  expect(listed()).toBe(2);
});

test('clients that list at the same time share one read', async () => {
  const held: (() => void)[] = [];
  let isHeld = true;
  const arrived = Promise.withResolvers<void>();
  server.answer = ({ method }, response) => {
    if (method !== 'tools/list' || !isHeld) return false;
    held.push(() => response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [tool('search')] } })));
    arrived.resolve();
    return true;
  };
  const first = list();
  await arrived.promise;
  const others = [list(), shown()];
  isHeld = false;
  // The others have asked the database, and the server if they do.
  await fixture.gateway.rest('GET', '/v1/mcp-connections', { key: fixture.key });
  held[0]?.();
  expect(await Promise.all([first, ...others])).toEqual([['search'], ['search'], ['search']]);
  expect(listed()).toBe(1);
});

test('what is kept has no filter: the policy of a connection is applied to it afterwards', async () => {
  server.tools = [tool('search'), tool('delete')];
  await set({ toolPolicy: { mode: 'ONLY', names: ['search'] } });
  expect(await list()).toEqual(['search']);
  expect(await shown()).toEqual(['search', 'delete']);
  expect(listed()).toBe(1);
  await set({ toolPolicy: { mode: 'ALL' } });
  expect(await list()).toEqual(['search', 'delete']);
  // Changed settings count at once.
  expect(listed()).toBe(2);
});

test('another process reads a list again when the server has said that it has changed, or the settings have changed', async () => {
  expect(await list({ url: second.url })).toEqual(['search']);
  expect(await list()).toEqual(['search']);
  expect(listed()).toBe(2);
  server.tools = [tool('find')];
  server.answer = ({ method }, response) => {
    if (method !== 'GET') return false;
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
    return true;
  };
  const abort = new AbortController();
  const stream = await post(
    { ...fixture, connectionId: id },
    '',
    {},
    { method: 'GET', body: null, signal: abort.signal },
  );
  await readerOf(stream).until((text) => text.includes('list_changed'));
  await expect.poll(() => list({ url: second.url })).toEqual(['find']);
  expect(await list()).toEqual(['find']);
  abort.abort();
  server.tools = [tool('search')];
  await set({ recordToolCalls: 'NONE' });
  expect(await list({ url: second.url })).toEqual(['search']);
});

test('a list that passes at the address of the connection and differs from the one before is read again', async () => {
  const pass = async () => (await post({ ...fixture, connectionId: id }, LIST)).text();
  await pass();
  expect(await list()).toEqual(['search']);
  await pass();
  expect(await list()).toEqual(['search']);
  expect(listed()).toBe(3);
  server.tools = [tool('find')];
  await pass();
  expect(await list()).toEqual(['find']);
});

test('a server that has failed is not asked for its lists again for 10 seconds, unless its connection is changed', async () => {
  expect(await list()).toEqual(['search']);
  server.answer = failing;
  const call = await postTo(`${fixture.url}/v1/mcp`, fixture.key, toolCall(`${handle()}__search`, {}));
  expect(call.status).toBe(502);
  server.answer = undefined;
  server.tools = [tool('find')];
  server.asked.length = 0;
  const failure = 'the MCP server failed: it answered 500';
  expect([await list(), await list({ url: second.url }), await shown()]).toEqual([failure, failure, failure]);
  expect(server.asked).toEqual([]);
  later(10_001);
  // What was kept before the failure is no longer used.
  expect(await list()).toEqual(['find']);
  server.answer = failing;
  await postTo(`${fixture.url}/v1/mcp`, fixture.key, toolCall(`${handle()}__search`, {}));
  server.answer = undefined;
  expect(await list()).toBe(failure);
  later(1);
  await set({ recordToolCalls: 'NONE' });
  expect(await list()).toEqual(['find']);
});

test('`ttlMs` and `cacheScope` of a server of the newest generation count for what clients get', async () => {
  const member = await fixture.gateway.createKey({ organization: fixture.organization, role: 'member' });
  server.modern = { ttlMs: 5_000 };
  await set({ recordToolCalls: 'NONE' });
  expect([await list(), await list()]).toEqual([['search'], ['search']]);
  expect(listed()).toBe(1);
  later(5_001);
  server.modern = { ttlMs: 0 };
  await list();
  await list();
  expect(listed()).toBe(3);
  // The gateway itself uses it as long as any other.
  await shown();
  expect(listed()).toBe(3);
  server.modern = { ttlMs: 5_000, cacheScope: 'private' };
  await list();
  await list();
  expect(listed()).toBe(4);
  await list({ key: member.key });
  expect(listed()).toBe(5);
});

test('a call is one request where no session is needed, and a handshake beside it otherwise', async () => {
  const call = async () => {
    server.asked.length = 0;
    const answer = await postTo(`${fixture.url}/v1/mcp`, fixture.key, toolCall(`${handle()}__search`, {}));
    expect(await responseIn(answer)).toContain('"text":"search"');
    return server.asked;
  };
  const handshake = ['initialize', 'notifications/initialized', 'tools/call'];
  // The generation is known since the connection was created.
  expect(await call()).toEqual(handshake);
  expect(await call()).toEqual(['tools/call']);
  // It now wants a session.
  server.hasSessions = true;
  server.answer = ({ method }, response) => {
    const isFirst = method === 'tools/call' && server.asked.length === 1;
    if (isFirst) response.writeHead(400).end('No session');
    return isFirst;
  };
  expect(await call()).toEqual(['tools/call', ...handshake, 'DELETE']);
  server.answer = undefined;
  expect(await call()).toEqual([...handshake, 'DELETE']);
  server.modern = {};
  await set({ recordToolCalls: 'NONE' });
  expect(await call()).toEqual(['server/discover', 'tools/list', 'tools/call']);
  expect(await call()).toEqual(['tools/call']);
});

test('a client of the newest generation is told how long it may keep the list of all servers: not at all', async () => {
  const message = { ...LIST, params: { _meta: MODERN_META } };
  const answer = await postTo(`${fixture.url}/v1/mcp`, fixture.key, message, modernHeaders('tools/list'));
  expect(await responseIn(answer)).toContain('"ttlMs":0,"cacheScope":"private"');
});
