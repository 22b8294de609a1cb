import type { IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type UseFixture, answering, post, startUseFixture, toolCall } from '../../support/fixtures/mcp-use.ts';
import { STDIO } from '../../support/fixtures/mcp-connections.ts';
import { mcpHandler } from '../../support/peers/mcp-server.ts';

let fixture: UseFixture;
beforeAll(async () => {
  fixture = await startUseFixture();
});
afterAll(() => fixture.stop());

/** What the server received last. */
let received: { method: string | undefined; headers: IncomingHttpHeaders; body: string };

beforeEach(() => {
  answerWith(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [] } }));
});

function answerWith(text: string, status = 200, headers: Record<string, string> = {}): void {
  const answer = answering(text, { status, headers });
  fixture.peer.handler = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received = { method: request.method, headers: request.headers, body: Buffer.concat(chunks).toString() };
      answer(request, response);
    });
  };
}

/** Headers that HTTP itself needs. */
const OF_HTTP = new Set(['host', 'connection', 'content-length', 'user-agent']);
const forwarded = () => Object.fromEntries(Object.entries(received.headers).filter(([name]) => !OF_HTTP.has(name)));

test('the server gets the bytes of the body and exactly the headers of the protocol, and no credential of the caller', async () => {
  // White space, an unknown member and a number that JavaScript cannot represent.
  const body =
    '{ "jsonrpc":"2.0", "id":1,"method":"tools/call", "params":{"name":"add","arguments":{"n":12345678901234567890.10}},"vendor":true }\n';
  const ofProtocol = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json; charset=utf-8',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'add',
    'mcp-param-region': 'eu',
    'last-event-id': '17',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  };
  const answer = await post(fixture, body, {
    ...ofProtocol,
    Cookie: 'a=b',
    'X-Api-Key': 'secret',
    'X-Forwarded-For': '192.0.2.1',
    'X-Request-Id': 'mine',
    baggage: 'a=b',
  });
  expect(answer.status).toBe(200);
  expect(received.body).toBe(body);
  expect(forwarded()).toEqual(ofProtocol);
});

test('the headers of the connection are sent, for every method', async () => {
  const headers = { 'X-Team': 'blue', Authorization: 'Bearer of-the-server' };
  fixture.peer.handler = mcpHandler();
  const connectionId = await fixture.connect({ authType: 'static_headers', headers });
  answerWith('', 405);
  for (const method of ['POST', 'GET', 'DELETE']) {
    const body = method === 'POST' ? { body: JSON.stringify(toolCall()) } : { body: null };
    await post({ ...fixture, connectionId }, '', {}, { method, ...body });
    expect(received).toMatchObject({
      method,
      headers: { 'x-team': 'blue', authorization: 'Bearer of-the-server' },
    });
  }
});

test('the client gets status, bytes, Content-Type and Retry-After, and no other header of the server', async () => {
  const text =
    '{"jsonrpc":"2.0", "id":1, "result":{"_meta":{"vendor/x":1.0},"content":[{"type":"hologram","deep":[1e400]}],"structuredContent":{"a":0.10},"unknown":null}}';
  answerWith(text, 200, {
    'Content-Type': 'application/json;charset=UTF-8',
    'Retry-After': '7',
    'Set-Cookie': 'a=b',
    'WWW-Authenticate': 'Bearer',
    'Access-Control-Allow-Origin': '*',
    'X-Powered-By': 'somebody',
  });
  const answer = await post(fixture, toolCall());
  expect({ status: answer.status, text: await answer.text() }).toEqual({ status: 200, text });
  expect(answer.headers.get('content-type')).toBe('application/json;charset=UTF-8');
  expect(answer.headers.get('retry-after')).toBe('7');
  expect(answer.headers.get('cache-control')).toBe('private, no-store');
  for (const name of ['set-cookie', 'www-authenticate', 'access-control-allow-origin', 'x-powered-by'])
    expect(answer.headers.get(name)).toBeNull();
});

test('tools are listed with their output schema, annotations and unknown members', async () => {
  const tool = {
    name: 'wipe',
    inputSchema: { type: 'object', 'x-vendor': 1 },
    outputSchema: { type: 'object' },
    annotations: { destructiveHint: true, vendorHint: 'x' },
    icons: [{ src: 'data:,' }],
  };
  const text = JSON.stringify({ jsonrpc: '2.0', id: 'list', result: { tools: [tool], nextCursor: 'x' } });
  answerWith(text);
  const answer = await post(fixture, { jsonrpc: '2.0', id: 'list', method: 'tools/list' });
  expect(await answer.text()).toBe(text);
});

test('a JSON-RPC error of the server is passed on with its status', async () => {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'Unknown tool', data: [1] } });
  for (const status of [200, 400, 404, 500]) {
    answerWith(text, status);
    const answer = await post(fixture, toolCall());
    expect([answer.status, await answer.text()]).toEqual([status, text]);
  }
});

test('input_required and its requestState pass both ways', async () => {
  const result = { resultType: 'input_required', inputRequests: { a: {} }, requestState: 'opaque' };
  answerWith(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
  const answer = await post(fixture, toolCall());
  expect(await answer.json()).toMatchObject({ result });
  const again = toolCall();
  const repeated = {
    ...again,
    params: { ...again.params, requestState: 'opaque', inputResponses: { a: { action: 'accept' } } },
  };
  await post(fixture, repeated);
  expect(JSON.parse(received.body)).toEqual(repeated);
});

test('a notification is answered 202 without a body', async () => {
  answerWith('', 202);
  const answer = await post(fixture, { jsonrpc: '2.0', method: 'notifications/initialized' });
  expect([answer.status, await answer.text()]).toEqual([202, '']);
});

describe('headers that repeat the body', () => {
  test.each([
    ['Mcp-Name', 'remove'],
    ['Mcp-Name', `=?base64?${Buffer.from('remove').toString('base64')}?=`],
    ['Mcp-Method', 'tools/list'],
  ])('400: %s that names something else than the body (%s) is refused, and nothing is sent', async (name, value) => {
    const before = fixture.peer.requests.length;
    const answer = await post(fixture, toolCall(), { [name]: value });
    expect([answer.status, await answer.json()]).toMatchObject([400, { id: 1, error: { code: -32020 } }]);
    expect(fixture.peer.requests.length).toBe(before);
  });

  test('they are added for a client of the newest generation that omits them', async () => {
    await post(fixture, toolCall('größe'), { 'MCP-Protocol-Version': '2026-07-28' });
    expect(forwarded()).toMatchObject({
      'mcp-method': 'tools/call',
      'mcp-name': `=?base64?${Buffer.from('größe').toString('base64')}?=`,
    });
    await post(fixture, toolCall('größe'), { 'MCP-Protocol-Version': '2025-11-25' });
    expect(forwarded()).not.toHaveProperty('mcp-method');
  });
});

test.each([
  ['not JSON', '{', -32700],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), -32700],
  ['a batch', '[]', -32600],
  ['no JSON-RPC', '{"id":1}', -32600],
  ['a request with the id null', '{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600],
])('400: a body that is %s is not sent', async (_, body, code) => {
  const before = fixture.peer.requests.length;
  const answer = await post(fixture, '', {}, { body });
  expect([answer.status, await answer.json()]).toMatchObject([400, { jsonrpc: '2.0', id: null, error: { code } }]);
  expect(fixture.peer.requests.length).toBe(before);
});

test('413: a body over 4 MiB is not sent', async () => {
  const answer = await post(fixture, toolCall('add', { text: 'x'.repeat(4 * 1024 * 1024) }));
  expect(answer.status).toBe(413);
});

test('409: a stdio connection runs where the agent runs', async () => {
  const { body } = await fixture.gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
    key: fixture.key,
    body: STDIO,
  });
  const answer = await post({ ...fixture, connectionId: body.connection.id }, toolCall());
  expect([answer.status, await answer.json()]).toMatchObject([
    409,
    { id: null, error: { message: expect.stringContaining('where the agent runs'), data: { code: 'WRONG_STATE' } } },
  ]);
});

const refusal = (code: string, message: string) => ({
  jsonrpc: '2.0',
  id: 1,
  error: { code: -32_000, message, data: { code } },
});

describe('who may use a connection', () => {
  test('403: a key without the scope, even one that manages connections', async () => {
    const { key } = await fixture.gateway.createKey({
      organization: fixture.organization,
      scopes: ['mcp_connections.read', 'mcp_connections.write'],
    });
    const answer = await post({ ...fixture, key }, toolCall());
    expect([answer.status, await answer.json()]).toEqual([
      403,
      refusal('FORBIDDEN', 'the API key lacks the scope mcp_connections.use'),
    ]);
  });

  test('a shared connection is used by every member with the scope, which is enough', async () => {
    const { key } = await fixture.gateway.createKey({
      organization: fixture.organization,
      role: 'member',
      scopes: ['mcp_connections.use'],
    });
    expect((await post({ ...fixture, key }, toolCall())).status).toBe(200);
  });

  test('404: a personal connection of another, a foreign one and a missing one are the same, for administrators too', async () => {
    fixture.peer.handler = mcpHandler();
    const owner = await fixture.gateway.createKey({ organization: fixture.organization, role: 'member' });
    const personal = await fixture.connect({ visibility: 'personal' }, owner.key);
    const foreign = await fixture.gateway.createKey();
    expect((await post({ ...fixture, key: owner.key, connectionId: personal }, toolCall())).status).toBe(200);
    const before = fixture.peer.requests.length;
    const refused = [
      await post({ ...fixture, connectionId: personal }, toolCall()),
      await post({ ...fixture, key: foreign.key }, toolCall()),
      await post({ ...fixture, connectionId: crypto.randomUUID() }, toolCall()),
    ];
    for (const answer of refused)
      expect([answer.status, await answer.json()]).toEqual([404, refusal('NOT_FOUND', 'MCP connection not found')]);
    expect(fixture.peer.requests.length).toBe(before);
  });

  test('each member acts with their own account on their personal connection', async () => {
    const seen: unknown[] = [];
    for (const account of ['ann', 'ben']) {
      fixture.peer.handler = mcpHandler();
      const { key } = await fixture.gateway.createKey({ organization: fixture.organization, role: 'member' });
      const body = { visibility: 'personal', authType: 'static_headers', headers: { 'X-Account': account } };
      const connectionId = await fixture.connect(body, key);
      answerWith('{"jsonrpc":"2.0","id":1,"result":{}}');
      await post({ ...fixture, key, connectionId }, toolCall());
      seen.push(received.headers['x-account']);
    }
    expect(seen).toEqual(['ann', 'ben']);
  });
});
