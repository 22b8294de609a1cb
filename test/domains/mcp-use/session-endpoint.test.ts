import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  MODERN_META,
  type UseFixture,
  legacyServer,
  modernHeaders,
  postTo,
  responseIn,
  startUseFixture,
  toolCall,
} from '../../support/fixtures/mcp-use.ts';
import { createSession, moveTo } from '../../support/fixtures/sessions.ts';
import { ALPHA, oddMcpHandler } from '../../support/peers/odd-mcp-server.ts';
import { type Peer, legacyMcpHandler, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';

/** One session with two servers. */
let fixture: UseFixture;
let second: Peer;
let sessionId: string;
beforeAll(async () => {
  fixture = await startUseFixture({ timing: { upstreamListMs: 2000 } });
  second = await startPeer(mcpHandler());
  await fixture.connect({ name: 'Weather & Tides' });
  await fixture.connect({ name: 'second', serverUrl: `${second.origin}/mcp` });
  sessionId = await sessionWith('Weather & Tides', 'second');
});
afterAll(async () => {
  await fixture.stop();
  await second.stop();
});
beforeEach(() => {
  fixture.forgetLists();
  fixture.peer.handler = mcpHandler();
  second.handler = mcpHandler();
});

const sessionWith = (...mcpServers: string[]) => createSession(fixture.gateway, fixture.key, { mcpServers });
const addressOf = (id: string) => `${fixture.url}/v1/sessions/${id}/mcp`;

interface Sending {
  readonly key?: string;
  readonly to?: string;
  readonly headers?: Record<string, string>;
}

async function send(message: unknown, { key = fixture.key, to = sessionId, headers = {} }: Sending = {}) {
  const answer = await postTo(addressOf(to), key, message, headers);
  const text = await responseIn(answer);
  return { status: answer.status, text };
}

interface Listed {
  readonly tools: { readonly name: string }[];
  readonly _meta?: { readonly 'workspace-gateway/notices'?: readonly { readonly message: string }[] };
}

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

async function list(sending?: Sending) {
  const { text } = await send(LIST, sending);
  const { result } = JSON.parse(text) as { result: Listed };
  // The servers of these tests change what they say of their tools.
  const notices = result._meta?.['workspace-gateway/notices']?.filter(
    ({ message }) => !message.includes('has changed what it says'),
  );
  return { names: result.tools.map(({ name }) => name), notices: notices?.length === 0 ? undefined : notices };
}

async function clientOf(url: string, headers: Record<string, string>, mode: 'auto' | 'legacy') {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

test.each([
  ['auto', mcpHandler, '2026-07-28'],
  ['auto', legacyMcpHandler, '2026-07-28'],
  ['legacy', mcpHandler, '2025-11-25'],
  ['legacy', legacyMcpHandler, '2025-11-25'],
] as const)(
  'the official client (%s) lists and calls the tools of both servers, whatever their generation (%o)',
  async (mode, handler, version) => {
    fixture.peer.handler = handler();
    const direct = await clientOf(`${second.origin}/mcp`, {}, mode);
    const { tools } = await direct.listTools();
    const { content } = await direct.callTool({ name: 'add', arguments: { a: 19, b: 23 } });
    await direct.close();
    const client = await clientOf(addressOf(sessionId), { Authorization: `Bearer ${fixture.key}` }, mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    const listed = await client.listTools();
    const expected = ['weather-tides__', 'second__'].flatMap((prefix) =>
      tools.map((tool) => ({ ...tool, name: prefix + tool.name })),
    );
    expect(listed.tools).toEqual(expected);
    for (const prefix of ['weather-tides__', 'second__']) {
      const called = await client.callTool({ name: `${prefix}add`, arguments: { a: 19, b: 23 } });
      expect(called.content).toEqual(content);
    }
    await client.close();
  },
);

test('a server that fails is left out and named in a notice and a log message; the others work', async () => {
  fixture.peer.handler = (request) => request.socket.destroy();
  const answer = await postTo(addressOf(sessionId), fixture.key, LIST);
  const text = await answer.text();
  expect(text).toMatch(/^event: message\ndata: .*"notifications\/message".*"level":"warning".*weather-tides: /);
  const { names, notices } = await list();
  expect(names).toEqual(['second__add', 'second__now']);
  expect(notices).toEqual([
    { handle: 'weather-tides', message: expect.stringMatching(/^the MCP server failed: 127\.0\.0\.1/) },
  ]);
  expect(JSON.parse((await send(toolCall('second__add'))).text)).toMatchObject({
    result: { content: [{ text: '3' }] },
  });
  expect(await send(toolCall('weather-tides__add'))).toMatchObject({
    status: 502,
    text: expect.stringMatching(/^\{"jsonrpc":"2.0","id":1,.*"code":"UPSTREAM_UNREACHABLE"/),
  });
});

test('a server that is silent for too long is left out, too', async () => {
  const quick = await startUseFixture({ timing: { upstreamListMs: 100 } });
  try {
    const silent = await quick.connect({ name: 'silent' });
    const id = await createSession(quick.gateway, quick.key, { mcpServers: [silent, quick.connectionId] });
    quick.peer.handler = (request) => void request.resume();
    const answer = await postTo(`${quick.url}/v1/sessions/${id}/mcp`, quick.key, LIST);
    expect(await answer.text()).toContain('silent: the MCP server did not finish within 0.1 s');
  } finally {
    await quick.stop();
  }
});

test('a notice is a log message for a client of the newest generation only if it asks for them', async () => {
  fixture.peer.handler = (request) => request.socket.destroy();
  for (const [level, isLogged] of [
    [undefined, false],
    ['error', false],
    ['warning', true],
  ] as const) {
    const _meta = { ...MODERN_META, ...(level && { 'io.modelcontextprotocol/logLevel': level }) };
    const answer = await postTo(
      addressOf(sessionId),
      fixture.key,
      { ...LIST, params: { _meta } },
      modernHeaders('tools/list'),
    );
    const text = await answer.text();
    expect([level, text.includes('notifications/message')]).toEqual([level, isLogged]);
    expect(text).toContain('"cacheScope":"private"');
    expect(text).toContain('"workspace-gateway/notices"');
  }
});

test('results pass unchanged, byte for byte where both sides are of one generation', async () => {
  const result =
    '"result" : {"content":[{"type":"hologram","é":"\\u00e9","n":12345678901234567890}],"2":1,"structuredContent":{"a":1},"vendor":null,"_meta":{"x":1}}';
  const to = await sessionWith(await fixture.connect({ name: 'bytes' }));
  fixture.peer.handler = legacyServer(result);
  expect((await send(toolCall('bytes__add'), { to })).text).toBe(`{"jsonrpc":"2.0","id":1,${result}}`);
  const modern = { ...toolCall('bytes__add'), params: { name: 'bytes__add', _meta: MODERN_META } };
  const { text } = await send(modern, { to, headers: modernHeaders('tools/call', 'bytes__add') });
  expect(text).toContain('"n":12345678901234567890');
  expect(JSON.parse(text)).toEqual({
    ...JSON.parse(`{"jsonrpc":"2.0","id":1,${result}}`),
    result: { resultType: 'complete', ...JSON.parse(`{${result}}`).result },
  });
  fixture.peer.handler = legacyServer('"error":{"code":-32602,"message":"no","data":{"why":[1]}}');
  expect((await send({ ...toolCall('bytes__add'), id: 'x' }, { to })).text).toBe(
    '{"jsonrpc":"2.0","id":"x","error":{"code":-32602,"message":"no","data":{"why":[1]}}}',
  );
});

test('a tool that clients would refuse is left out and named, so that the others can be listed', async () => {
  fixture.peer.handler = oddMcpHandler({ tools: [ALPHA, { name: 'odd', inputSchema: { type: 'string' } }] });
  expect(await list()).toEqual({
    names: ['weather-tides__alpha', 'second__add', 'second__now'],
    notices: [{ handle: 'weather-tides', message: 'the tool odd is left out: inputSchema.type: must be "object"' }],
  });
});

test('a list that is cut says so', async () => {
  const many = (length: number) => Array.from({ length }, (_, index) => ({ ...ALPHA, name: `tool-${index}` }));
  fixture.peer.handler = oddMcpHandler({ tools: many(2000) });
  expect((await list()).notices).toBeUndefined();
  fixture.forgetLists();
  fixture.peer.handler = oddMcpHandler({ tools: many(2001) });
  expect((await list()).notices).toEqual([
    { handle: 'weather-tides', message: 'it has more tools than the 2000 that were read' },
  ]);
});

test('tools on many pages are listed, and each of them once', async () => {
  const pagesOf = (count: number, size: number) => (cursor: string | undefined) => {
    const from = Number(cursor ?? 0);
    const tools = Array.from({ length: size }, (_, index) => ({ ...ALPHA, name: `t${from + index}` }));
    return { tools, nextCursor: from + size < count ? from + size : null };
  };
  fixture.peer.handler = oddMcpHandler({ page: pagesOf(500, 20) });
  expect((await list()).names).toHaveLength(502);
  fixture.forgetLists();
  fixture.peer.handler = oddMcpHandler({ page: () => ({ tools: [ALPHA], nextCursor: 'again' }) });
  expect(await list()).toEqual({ names: ['weather-tides__alpha', 'second__add', 'second__now'] });
  fixture.forgetLists();
  fixture.peer.handler = oddMcpHandler({ page: pagesOf(3_000, 1_000) });
  const { names, notices } = await list();
  expect(names).toHaveLength(2_002);
  expect(notices).toEqual([{ handle: 'weather-tides', message: 'it has more tools than the 2000 that were read' }]);
});

test('names stay when a connection is renamed and another one is added, and a handle can be chosen', async () => {
  const id = await fixture.connect({ name: 'First' });
  const session = await sessionWith(id, 'second');
  await fixture.gateway.rest('PATCH', `/v1/mcp-connections/${id}`, { key: fixture.key, body: { name: 'Renamed' } });
  const third = await fixture.connect({ name: 'First' });
  await fixture.gateway.rest('PATCH', `/v1/sessions/${session}`, {
    key: fixture.key,
    body: { mcpServers: [id, 'second', third] },
  });
  const names = ['first__add', 'first__now', 'second__add', 'second__now', 'first-2__add', 'first-2__now'];
  expect((await list({ to: session })).names).toEqual(names);
  const settings = `/v1/mcp-connections/${third}/settings`;
  await fixture.gateway.rest('PATCH', settings, { key: fixture.key, body: { handle: 'My_own' } });
  expect((await list({ to: session })).names.slice(4)).toEqual(['My_own__add', 'My_own__now']);
});

test('tools that are not allowed are neither listed nor called, and a stdio connection is named', async () => {
  const id = await fixture.connect({ name: 'Restricted' });
  const stdio = await fixture.gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
    key: fixture.key,
    body: { type: 'stdio', name: 'local', command: 'npx' },
  });
  const settings = { toolPolicy: { mode: 'ONLY', names: ['add'] } };
  await fixture.gateway.rest('PATCH', `/v1/mcp-connections/${id}/settings`, { key: fixture.key, body: settings });
  const to = await sessionWith(id, stdio.body.connection.id);
  expect(await list({ to })).toEqual({
    names: ['restricted__add'],
    notices: [{ handle: 'local', message: 'a stdio connection runs where the agent runs' }],
  });
  const before = fixture.peer.requests.length;
  for (const name of ['restricted__now', 'nobody__add', 'add', '__add'])
    expect(await send(toolCall(name), { to })).toEqual({
      status: 200,
      text: JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32602, message: `Unknown tool: ${name}` } }),
    });
  expect(fixture.peer.requests.length).toBe(before);
  expect(await send(toolCall('local__x'), { to })).toMatchObject({ status: 409 });
});

test('a personal connection is used by its owner alone, and others do not learn of it', async () => {
  const owner = await fixture.gateway.createKey({ organization: fixture.organization, role: 'member' });
  const id = await fixture.connect({ name: 'Mine', visibility: 'personal' }, owner.key);
  const to = await createSession(fixture.gateway, owner.key, { mcpServers: [id, 'second'] });
  expect((await list({ to, key: owner.key })).names).toContain('mine__add');
  expect((await send(toolCall('mine__add'), { to, key: owner.key })).text).toContain('"text":"3"');
  expect(await list({ to })).toEqual({ names: ['second__add', 'second__now'], notices: undefined });
  expect((await send(toolCall('mine__add'), { to })).text).toContain('Unknown tool: mine__add');
});

test('404 for a session that the caller cannot read, 403 for one that they cannot change or without a scope', async () => {
  const stranger = await fixture.gateway.createKey();
  const member = await fixture.gateway.createKey({ organization: fixture.organization, role: 'member' });
  const scopeless = await fixture.gateway.createKey({
    organization: fixture.organization,
    scopes: ['mcp_connections.use', 'sessions.read'],
  });
  const shared = await createSession(fixture.gateway, fixture.key, { visibility: 'PUBLIC' });
  const statuses = await Promise.all([
    send(LIST, { key: stranger.key }),
    send(LIST, { key: member.key }),
    send(LIST, { to: '00000000-0000-4000-8000-000000000000' }),
    send(LIST, { key: member.key, to: shared }),
    send(LIST, { key: scopeless.key }),
    send(LIST, { key: 'wgk_wrong' }),
    send(LIST, { to: 'no-uuid' }),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404, 403, 403, 401, 400]);
  expect(new Set(statuses.slice(0, 3).map(({ text }) => text))).toEqual(
    new Set([
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"session not found","data":{"code":"NOT_FOUND"}}}',
    ]),
  );
});

test('a client that asks for JSON alone gets it, also for what the package answers as a stream', async () => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'curl', version: '1' } };
  for (const message of [{ ...LIST, method: 'initialize', params }, LIST, toolCall('second__add')]) {
    const answer = await postTo(addressOf(sessionId), fixture.key, message, { Accept: 'application/json' });
    expect([answer.status, answer.headers.get('content-type'), await answer.json()]).toEqual([
      200,
      'application/json',
      { jsonrpc: '2.0', id: 1, result: expect.any(Object) },
    ]);
  }
});

test('only POST is served; a message that is none, a batch and one that its headers contradict are 400', async () => {
  for (const method of ['GET', 'DELETE']) {
    const answer = await postTo(addressOf(sessionId), fixture.key, '', {}, { method, body: null });
    expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'POST']);
  }
  expect(await send('{')).toMatchObject({ status: 400, text: expect.stringContaining('-32700') });
  expect(await send([LIST])).toMatchObject({ status: 400, text: expect.stringContaining('-32600') });
  const modern = { ...toolCall('second__add'), params: { name: 'second__add', _meta: MODERN_META } };
  const contradicting = { headers: modernHeaders('tools/call', 'second__now') };
  expect(await send(modern, contradicting)).toMatchObject({ status: 400, text: expect.stringContaining('-32020') });
  expect(await send(`"${'x'.repeat(5 * 2 ** 20)}"`)).toMatchObject({ status: 413 });
});

test('409: a finished session takes no calls', async () => {
  const finished = await sessionWith('second');
  await moveTo(fixture.gateway, fixture.key, finished, 'IN_PROGRESS', 'COMPLETED');
  const before = second.requests.length;
  const { status, text } = await send(toolCall('second__add'), { to: finished });
  expect([status, JSON.parse(text)]).toMatchObject([409, { error: { data: { code: 'WRONG_STATE' } } }]);
  expect(second.requests).toHaveLength(before);
});
