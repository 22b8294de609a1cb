import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { STDIO } from '../../support/fixtures/mcp-connections.ts';
import {
  CALL_MCP_TOOL,
  type UseFixture,
  legacyServer,
  startUseFixture,
  toolCallers,
} from '../../support/fixtures/mcp-use.ts';
import { type Handler, legacyMcpHandler, mcpHandler } from '../../support/peers/mcp-server.ts';

let fixture: UseFixture;
beforeAll(async () => {
  fixture = await startUseFixture();
});
afterAll(() => fixture.stop());

let connectionId: string;
beforeEach(async () => {
  fixture.peer.handler = mcpHandler();
  // Each test has its own connection, because the generation of a server is remembered.
  connectionId = await fixture.connect();
});

const { path, rest, graphql } = toolCallers(
  () => fixture,
  () => connectionId,
);

const SUM = { name: 'add', arguments: { a: 19, b: 23 } };
const content = [{ type: 'text', text: '42' }];

test.each([
  ['2026-07-28', mcpHandler, ['POST /mcp', 'POST /mcp', 'POST /mcp']],
  ['2025-11-25', legacyMcpHandler, ['POST /mcp', 'POST /mcp', 'POST /mcp', 'POST /mcp']],
])('a tool of a server of %s is called over both APIs', async (_, handler, requests) => {
  fixture.peer.handler = handler();
  const before = fixture.peer.requests.length;
  const { status, body } = await rest(SUM);
  expect({ status, body }).toEqual({
    status: 200,
    body: { isError: false, content, structuredContent: null, durationMs: expect.any(Number) },
  });
  expect(fixture.peer.requests.slice(before)).toEqual(requests);
  expect(await graphql(SUM)).toEqual({
    __typename: 'CallMcpToolPayload',
    isError: false,
    content,
    structuredContent: null,
    durationMs: expect.any(Number),
  });
});

test('after a change of its address, a connection asks the server at the new one for its generation', async () => {
  const [modern, legacy] = [mcpHandler(), legacyMcpHandler()];
  fixture.peer.handler = (request, response) => (request.url === '/old' ? legacy : modern)(request, response);
  expect((await rest(SUM)).body).toMatchObject({ content });
  const address = `/v1/mcp-connections/${connectionId}`;
  const body = { serverUrl: `${fixture.peer.origin}/old` };
  const { key, gateway } = fixture;
  expect((await gateway.rest('PATCH', address, { key, body })).status).toBe(200);
  expect((await gateway.rest('POST', `${address}/authorize`, { key })).status).toBe(200);
  const before = fixture.peer.requests.length;
  expect((await rest(SUM)).body).toMatchObject({ content });
  // It is that of an older generation, which the authorization has shown: a handshake and the call.
  expect(fixture.peer.requests.slice(before)).toEqual(Array.from({ length: 3 }, () => 'POST /old'));
});

test('content and structuredContent are what the server sent: unknown blocks, unknown members, numbers of any size', async () => {
  const sent =
    '[{"type":"hologram","size":12345678901234567890,"_meta":{"vendor/x":null}},{"type":"text","text":"größe \\ud800","more":0.1000000000000000055511151231257827}]';
  const structured = '{"n":1e400,"deep":[[{}]]}';
  fixture.peer.handler = legacyServer(`"result":{"content":${sent},"structuredContent":${structured},"isError":false}`);
  const { text } = await rest(SUM);
  expect(text).toContain(`"content":${sent},"structuredContent":${structured}`);
  const answer = await fixture.gateway.fetch('/graphql', {
    method: 'POST',
    headers: { Authorization: `Bearer ${fixture.key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: CALL_MCP_TOOL, variables: { input: { mcpServerId: connectionId, ...SUM } } }),
  });
  const whole = await answer.text();
  expect(whole).toContain(sent);
  expect(whole).toContain(structured);
});

test('arguments arrive with numbers of any size', async () => {
  let received = '';
  fixture.peer.handler = legacyServer((response, body) => {
    received = body;
    const { id } = JSON.parse(body) as { id: number };
    response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } }));
  });
  await rest('{"name":"add","arguments":{"n":12345678901234567890,"__proto__":{"a":1}}}');
  expect(received).toContain('"n":12345678901234567890');
});

test('a tool that failed is a result, and a JSON-RPC error of the server an error', async () => {
  fixture.peer.handler = legacyServer('"result":{"content":[{"type":"text","text":"no"}],"isError":true}');
  expect((await rest(SUM)).body).toMatchObject({ isError: true, content: [{ type: 'text', text: 'no' }] });
  fixture.peer.handler = legacyServer('"error":{"code":-32602,"message":"Unknown tool: add"}');
  const { status, body } = await rest(SUM);
  const message = 'the MCP server refused the call of add (-32602): Unknown tool: add';
  expect([status, body]).toEqual([502, { error: message }]);
  expect(await graphql(SUM)).toEqual({ __typename: 'RemoteFailedError', message, code: 'REMOTE_FAILED' });
});

test('an answer as a stream is read up to its response, after progress', async () => {
  fixture.peer.handler = legacyServer((response, body) => {
    const { id } = JSON.parse(body) as { id: number };
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write('data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n');
    // The stream is not ended by the server.
    response.write(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\n\n`);
  });
  expect((await rest(SUM)).body).toMatchObject({ isError: false, content: [] });
});

test('a server that asks for a person is refused with a sentence, and its ping is answered', async () => {
  const replies: { id: string; error?: { code: number; message: string }; result?: object }[] = [];
  const { promise: refused, resolve } = Promise.withResolvers<void>();
  const serve = legacyServer(async (response, body) => {
    const { id } = JSON.parse(body) as { id: number };
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const [asked, method] of [
      ['e', 'elicitation/create'],
      ['p', 'ping'],
    ])
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: asked, method, params: {} })}\n\n`);
    await refused;
    response.end(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\n\n`);
  });
  fixture.peer.handler = (request, response) => {
    request.on('data', (chunk) => {
      const message = JSON.parse(String(chunk)) as (typeof replies)[number] & { method?: string };
      if (message.method === undefined && replies.push(message) === 2) resolve();
    });
    serve(request, response);
  };
  expect((await rest(SUM)).status).toBe(200);
  expect(replies).toMatchObject([
    { id: 'e', error: { code: -32601, message: expect.stringContaining('elicitation/create is not supported') } },
    { id: 'p', result: {} },
  ]);
});

test('a session that the server loses before the call is begun anew, once', async () => {
  let initialized = 0;
  let calls = 0;
  const serve = legacyServer('"result":{"content":[]}');
  const losing =
    (losses: number): Handler =>
    (request, response) => {
      request.once('data', (chunk) => {
        const { method } = JSON.parse(String(chunk)) as { method: string };
        if (method === 'initialize') {
          initialized += 1;
          response.setHeader('Mcp-Session-Id', `s${initialized}`);
        }
        if (method !== 'tools/call') return;
        calls += 1;
        if (calls <= losses) response.writeHead(404).end();
      });
      serve(request, response);
    };
  fixture.peer.handler = losing(1);
  expect((await rest(SUM)).status).toBe(200);
  expect([initialized, calls]).toEqual([2, 2]);
  calls = 0;
  fixture.peer.handler = losing(5);
  expect((await rest(SUM)).status).toBe(502);
  expect(calls).toBe(2);
});

test('headers that repeat arguments are derived from the schema of the tool, for a server that checks them', async () => {
  const handler = toNodeHandler(
    createMcpHandler(() => {
      const server = new McpServer({ name: 'regions', version: '1' });
      const inputSchema = z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) });
      server.registerTool('where', { inputSchema }, ({ region }) => ({ content: [{ type: 'text', text: region }] }));
      return server;
    }),
  );
  const seen: unknown[] = [];
  fixture.peer.handler = (request, response) => {
    seen.push(request.headers['mcp-param-region']);
    void handler(request, response);
  };
  expect((await rest({ name: 'where', arguments: { region: 'größe' } })).body).toMatchObject({
    content: [{ type: 'text', text: 'größe' }],
  });
  expect(seen.at(-1)).toBe(`=?base64?${Buffer.from('größe').toString('base64')}?=`);
});

/** A server of the newest generation with these tools, whose calls it counts. */
function modernServer(tools: string, onCall: () => void): Handler {
  return (request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const { id, method } = JSON.parse(body) as { id: unknown; method: string };
      if (method === 'tools/call') onCall();
      const result =
        method === 'server/discover'
          ? '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}'
          : method === 'tools/list'
            ? `{"tools":${tools}}`
            : '{"content":[]}';
      response
        .writeHead(200, { 'Content-Type': 'application/json' })
        .end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
    });
  };
}

test('a tool whose header declarations break the protocol is not called', async () => {
  let calls = 0;
  const schema = '{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}';
  fixture.peer.handler = modernServer(`[{"name":"odd","inputSchema":${schema}}]`, () => (calls += 1));
  connectionId = await fixture.connect();
  const { status, body } = await rest({ name: 'odd', arguments: { a: 1 } });
  const error =
    'the tool odd cannot be called: in its inputSchema, x-mcp-header is only allowed for string, integer and boolean';
  expect([status, body, calls]).toEqual([502, { error }, 0]);
});

test('a list of hundreds of thousands of tools is read up to 2,000', async () => {
  let calls = 0;
  const tools = (count: number) => `[${'{},'.repeat(count)}{"name":"last","inputSchema":{"type":"object"}}]`;
  fixture.peer.handler = modernServer('[]', () => (calls += 1));
  connectionId = await fixture.connect();
  fixture.peer.handler = modernServer(tools(390_000), () => (calls += 1));
  expect([(await rest({ name: 'last' })).status, calls]).toEqual([200, 1]);
  fixture.peer.handler = modernServer(tools(1_000_000), () => (calls += 1));
  const { status, body } = await rest({ name: 'another' });
  const error = 'the answer of the MCP server must have at most 400000 properties and items in all';
  expect([status, body, calls]).toEqual([502, { error, details: { reason: 'ANSWER_TOO_LARGE' } }, 1]);
});

test('a server that asks without end is answered 100 times', async () => {
  let refusals = 0;
  fixture.peer.handler = legacyServer((response, body) => {
    const { id } = JSON.parse(body) as { id: number };
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (let count = 0; count < 300; count += 1)
      response.write(`data: {"jsonrpc":"2.0","id":"s${count}","method":"roots/list"}\n\n`);
    response.end(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\n\n`);
  });
  const serve = fixture.peer.handler;
  fixture.peer.handler = (request, response) => {
    request.on('data', (chunk) => (refusals += String(chunk).split('-32601').length - 1));
    serve(request, response);
  };
  expect((await rest(SUM)).status).toBe(200);
  expect(refusals).toBe(100);
});

describe('failures', () => {
  test('502, 504 and 429 have their causes; a stdio connection and input for a person are conflicts', async () => {
    const cases: [Handler, object, number, string, string][] = [
      [
        (request) => request.socket.destroy(),
        SUM,
        502,
        'closed the connection before the end of its answer',
        'REMOTE_FAILED',
      ],
      [(request) => void request.resume(), { ...SUM, timeoutSeconds: 1 }, 504, 'within 1 s', 'REMOTE_FAILED'],
      [(_, response) => response.writeHead(429).end(), SUM, 429, 'refuses more requests', 'RATE_LIMITED'],
      [legacyServer('"result":{"resultType":"input_required"}'), SUM, 409, 'asks a person for input', 'CONFLICT'],
    ];
    for (const [handler, body, status, message, code] of cases) {
      fixture.peer.handler = handler;
      const answer = await rest(body);
      expect(answer).toMatchObject({ status, body: { error: expect.stringContaining(message) } });
      expect(await graphql(body)).toMatchObject({ message: expect.stringContaining(message), code });
    }
    const local = await fixture.gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
      key: fixture.key,
      body: STDIO,
    });
    connectionId = local.body.connection.id;
    expect([(await rest(SUM)).status, await graphql(SUM)]).toMatchObject([
      409,
      { __typename: 'ConflictError', reason: 'WRONG_STATE' },
    ]);
  });

  test.each([
    [{ arguments: {} }, 'name: is required'],
    [{ name: '' }, 'name: must not be empty'],
    [{ name: 'x', arguments: [] }, 'arguments: must be an object'],
    [{ name: 'x', timeoutSeconds: 601 }, 'timeoutSeconds: must be at most 600'],
    [{ name: 'x', timeoutSeconds: 0 }, 'timeoutSeconds: must be at least 1'],
    [{ name: 'x', other: 1 }, 'other: is not a known property'],
  ])('400: %j', async (body, message) => {
    const before = fixture.peer.requests.length;
    const answer = await rest(body);
    expect([answer.status, answer.body.error]).toEqual([400, message]);
    expect(fixture.peer.requests.length).toBe(before);
  });

  test('a caller that leaves cancels the call at the server', async () => {
    const { promise, resolve } = Promise.withResolvers<ServerResponse>();
    fixture.peer.handler = legacyServer((response) => resolve(response));
    const leaving = new AbortController();
    const waiting = fetch(fixture.url + path(), {
      method: 'POST',
      headers: { Authorization: `Bearer ${fixture.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(SUM),
      signal: leaving.signal,
    });
    const closed = once(await promise, 'close');
    leaving.abort();
    await expect(waiting).rejects.toThrow('aborted');
    await closed;
  });
});
