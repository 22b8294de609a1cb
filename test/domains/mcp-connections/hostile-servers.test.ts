import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { type Handler, type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';
import { Deadlines } from '../../support/fixtures/outbound.ts';
import { transactionsEnd } from '../../support/fixtures/transactions.ts';
import { sampled } from '../../support/sample.ts';

let gateway: TestGateway;
const deadlines = new Deadlines();
/** A gateway whose deadlines of outbound requests pass when the test says so. */
let timed: TestGateway;
let peer: Peer;
let key: string;
beforeAll(async () => {
  const env = { ALLOW_PRIVATE_NETWORK: 'true', REQUESTS_AT_ONCE: '200', REQUESTS_AT_ONCE_OF_PERSON: '200' };
  gateway = await startTestGateway(env);
  timed = await startTestGateway(env, { beside: gateway, outbound: { deadlineAfter: deadlines.after } });
  peer = await startPeer(mcpHandler());
  key = (await gateway.createKey()).key;
});
afterAll(async () => {
  await peer.stop();
  await timed.close();
  await gateway.close();
});

const JSON_TYPE = { 'Content-Type': 'application/json' };
const SSE_TYPE = { 'Content-Type': 'text/event-stream' };
const BOMB = gzipSync(Buffer.alloc(32 * 1024 * 1024, ' '));

function writeEndlessly(write: () => boolean, stopped: () => boolean): void {
  const next = () => {
    while (!stopped() && write());
    if (!stopped()) setImmediate(next);
  };
  next();
}

/** Writes the text again and again. The deadline passes after some of it. */
function drip(response: ServerResponse, text: string): void {
  let sent = 0;
  const next = () => {
    if (response.destroyed) return;
    if ((sent += 1) === 20) deadlines.pass();
    response.write(text, () => setImmediate(next));
  };
  next();
}

/** Ends the answer. The deadline passes when the peer has received it, and therefore closes the connection. */
function endBeforeDeadline(request: IncomingMessage, response: ServerResponse, text: string): void {
  request.socket.once('close', deadlines.pass);
  response.setHeader('Connection', 'close').end(text);
}

const HOSTILE: [string, Handler, RegExp][] = [
  ['silent', deadlines.pass, /did not answer in time$/],
  [
    'one byte at a time',
    (_, response) => {
      response.writeHead(200, JSON_TYPE);
      drip(response, ' ');
    },
    /did not answer in time$/,
  ],
  [
    'a stream of comments without any message',
    (_, response) => drip(response.writeHead(200, SSE_TYPE), ': hello\n\n'),
    /did not answer in time$/,
  ],
  [
    'endless JSON',
    (_, response) =>
      writeEndlessly(
        () => (response.headersSent ? response.write('[1,'.repeat(5000)) : (response.writeHead(200, JSON_TYPE), true)),
        () => response.destroyed,
      ),
    /answers with more than 1048576 bytes$/,
  ],
  [
    '1 GB announced',
    (_, response) => void response.writeHead(200, { ...JSON_TYPE, 'Content-Length': 1024 ** 3 }).write('{'),
    /answers with more than 1048576 bytes$/,
  ],
  [
    'a gzip bomb',
    (_, response) => void response.writeHead(200, { ...JSON_TYPE, 'Content-Encoding': 'gzip' }).end(BOMB),
    /answers with more than 1048576 bytes$/,
  ],
  [
    'malformed JSON',
    (_, response) => void response.writeHead(200, JSON_TYPE).end('{"jsonrpc":'),
    /answered with malformed JSON at 127\.0\.0\.1:\d+$/,
  ],
  [
    'JSON that is no JSON-RPC',
    (_, response) => void response.writeHead(200, JSON_TYPE).end('{"hello":1}'),
    /no MCP server answers there: 127\.0\.0\.1:\d+ answered with JSON that is no message of JSON-RPC; check the address$/,
  ],
  [
    'malformed events',
    (request, response) =>
      endBeforeDeadline(request, response.setHeader('Content-Type', 'text/event-stream'), 'data: {"jsonrpc\n\n'),
    /did not answer in time$/,
  ],
  [
    'a web page',
    (_, response) => void response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>Welcome</h1>'),
    /^no MCP server answers there: 127\.0\.0\.1:\d+ answered with text\/html instead of JSON; check the address$/,
  ],
  [
    'reset',
    (request) => request.socket.destroy(),
    /closed the connection before the end of its answer \((?:UND_ERR_SOCKET|ECONNRESET)\)$/,
  ],
  [
    'no HTTP',
    (request) => void request.socket.end('SSH-2.0-OpenSSH_9\r\n'),
    /the answer of 127\.0\.0\.1:\d+ is not HTTP$/,
  ],
  [
    'HTTP 500',
    (_, response) => void response.writeHead(500).end('secret stack'),
    /answered with HTTP 500 at 127\.0\.0\.1:\d+; try again later/,
  ],
  [
    'HTTP 403',
    (_, response) => void response.writeHead(403).end(),
    /answered with HTTP 403 at 127\.0\.0\.1:\d+; check whether the credentials/,
  ],
  [
    'HTTP 404',
    (_, response) => void response.writeHead(404).end(),
    /answered with HTTP 404 at 127\.0\.0\.1:\d+; check the path of the address$/,
  ],
  [
    'a redirect loop',
    (request, response) => void response.writeHead(307, { Location: request.url }).end(),
    /redirects more than 3 times$/,
  ],
  [
    'a redirect to a file',
    (_, response) => void response.writeHead(307, { Location: 'file:///etc/passwd' }).end(),
    /only http and https URLs are allowed$/,
  ],
  [
    'a 401 loop',
    (_, response) => void response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end(),
    /discovery of the authorization server|publishes no metadata/,
  ],
  [
    'another protocol version',
    (request, response) =>
      endBeforeDeadline(
        request,
        response.setHeader('Content-Type', 'application/json'),
        JSON.stringify({
          jsonrpc: '2.0',
          id: 0,
          result: { protocolVersion: '1999-01-01', capabilities: {}, serverInfo: { name: 'x', version: '1' } },
        }),
      ),
    /did not answer in time$/,
  ],
];

describe('a hostile server', () => {
  sampled(test, 5).each(HOSTILE)(
    '%s: 502 with the cause within the time limit, and nothing is stored',
    async (name, handler, cause) => {
      peer.handler = handler;
      const created = await timed.rest<{ error: string }>('POST', '/v1/mcp-connections', {
        key,
        body: { name, serverUrl: `${peer.origin}/mcp` },
      });
      expect({ status: created.status, error: created.body.error }).toEqual({
        status: 502,
        error: expect.stringMatching(cause),
      });
      expect(created.text).not.toContain('secret stack');
      const [left] = await gateway.dependencies.sql.query<{ rows: number }>(
        'select (select count(*) from mcp_connection)::int + (select count(*) from mcp_authorization)::int + (select count(*) from secret)::int as rows',
        [],
      );
      expect(left).toEqual({ rows: 0 });
    },
  );

  test('that is unreachable: 502 with the cause', async () => {
    const gone = await startPeer(mcpHandler());
    await gone.stop();
    const created = await gateway.rest<{ error: string }>('POST', '/v1/mcp-connections', {
      key,
      body: { name: 'gone', serverUrl: `${gone.origin}/mcp` },
    });
    expect({ status: created.status, body: created.body }).toEqual({
      status: 502,
      body: {
        error: `the MCP server failed: ${new URL(gone.origin).host} cannot be reached (ECONNREFUSED)`,
        details: { reason: 'UPSTREAM_UNREACHABLE' },
      },
    });
  });
});

test('tools that are nested deeper than 500 levels are an error of the server, not of the gateway', async () => {
  peer.handler = mcpHandler();
  const created = await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
    key,
    body: { name: 'deep', serverUrl: `${peer.origin}/mcp` },
  });
  const serve = mcpHandler();
  peer.handler = (request, response) => {
    if (request.headers['mcp-method'] !== 'tools/list') return serve(request, response);
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      const { id } = JSON.parse(body) as { id: number };
      const deep = '['.repeat(100_000) + ']'.repeat(100_000);
      response
        .writeHead(200, JSON_TYPE)
        .end(
          `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"a","inputSchema":{"type":"object","x":${deep}}}]}}`,
        );
    });
  };
  const id = Buffer.from(`McpServer:${created.body.connection.id}`).toString('base64');
  const { errors } = await gateway.graphql(key, `{ node(id: "${id}") { ... on McpServer { tools { name } } } }`);
  expect(errors?.[0]).toMatchObject({
    message: expect.stringContaining('must not be nested deeper than 500 levels'),
    extensions: { code: 'REMOTE_FAILED' },
  });
});

test('while a hundred requests wait for silent servers, other requests are answered, because waiting uses no transaction and no pool connection', async () => {
  const held: ServerResponse[] = [];
  const allAsked = Promise.withResolvers<void>();
  peer.handler = (_, response) => {
    if (held.push(response) === 100) allAsked.resolve();
  };
  const slow = Array.from({ length: 100 }, (_, index) =>
    gateway.rest('POST', '/v1/mcp-connections', {
      key,
      body: { name: `slow ${index}`, serverUrl: `${peer.origin}/mcp` },
    }),
  );
  let waiting = slow.length;
  for (const one of slow) void one.finally(() => (waiting -= 1));
  await allAsked.promise;
  await transactionsEnd(gateway);
  for (let index = 0; index < 20; index += 1) {
    const created = await gateway.rest('POST', '/v1/mcp-connections', {
      key,
      body: { type: 'stdio', name: `quick ${index}`, command: 'echo' },
    });
    expect(created.status).toBe(201);
  }
  expect(waiting).toBe(100);
  const fail = (response: ServerResponse) => void response.writeHead(500).end();
  peer.handler = (_, response) => fail(response);
  held.forEach(fail);
  expect(new Set((await Promise.all(slow)).map(({ status }) => status))).toEqual(new Set([502]));
});

test('a private address is refused by default, and is never contacted', async () => {
  const strict = await startTestGateway({}, { beside: gateway });
  const before = peer.requests.length;
  for (const host of ['127.0.0.1', 'localhost', '2130706433', '[::1]', '[::ffff:7f00:1]', '0x7f.1']) {
    const created = await strict.rest<{ error: string }>('POST', '/v1/mcp-connections', {
      key,
      body: { name: host, serverUrl: `http://${host}:${new URL(peer.origin).port}/mcp` },
    });
    expect({ status: created.status, error: created.body.error }).toEqual({
      status: 502,
      error: expect.stringMatching(/is not a public address; .*ALLOW_PRIVATE_NETWORK=true\)$/),
    });
  }
  expect(peer.requests.length).toBe(before);
  await strict.close();
});
