import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type UseFixture,
  answering,
  post,
  readerOf,
  startUseFixture,
  toolCall,
} from '../../support/fixtures/mcp-use.ts';
import { readStatus } from '../../support/fixtures/mcp-connections.ts';
import { mcpHandler } from '../../support/peers/mcp-server.ts';
import { sampled } from '../../support/sample.ts';

let fixture: UseFixture;
beforeAll(async () => {
  fixture = await startUseFixture();
});
afterAll(() => fixture.stop());
beforeEach(() => {
  fixture.peer.handler = mcpHandler();
});

async function failed(target: Pick<UseFixture, 'url' | 'key' | 'connectionId'> = fixture, id: unknown = 1) {
  const answer = await post(target, toolCall('add', { a: 1, b: 1 }, id));
  const text = await answer.text();
  const { error, ...rest } = JSON.parse(text) as { error: { message: string; data: unknown } };
  return { status: answer.status, rest, error, headers: answer.headers };
}
const ofId = (id: unknown) => ({ jsonrpc: '2.0', id });
const works = async () => (await post(fixture, toolCall())).status;

test('502: a server that cannot be reached is told apart, the connection says so, and works again', async () => {
  const connectionId = await fixture.connect({ serverUrl: `${fixture.peer.origin}/mcp` });
  await fixture.gateway.dependencies.sql.query('update mcp_connection set server_url = $2 where id = $1', [
    connectionId,
    'http://127.0.0.1:2/mcp',
  ]);
  expect(await failed({ ...fixture, connectionId }, 'mine')).toMatchObject({
    status: 502,
    rest: ofId('mine'),
    error: { code: -32000, data: { code: 'UPSTREAM_UNREACHABLE' } },
  });
  expect(await readStatus(fixture.gateway, fixture.key, connectionId)).toMatchObject({ status: 'UNREACHABLE' });
  await fixture.gateway.dependencies.sql.query('update mcp_connection set server_url = $2 where id = $1', [
    connectionId,
    `${fixture.peer.origin}/mcp`,
  ]);
  expect((await post({ ...fixture, connectionId }, toolCall())).status).toBe(200);
  expect(await readStatus(fixture.gateway, fixture.key, connectionId)).toMatchObject({ status: 'CONNECTED' });
});

sampled(test, 3).each([
  ['an HTML page', 200, 'text/html', '<p>Hello</p>', 502, 'UPSTREAM_NOT_MCP'],
  ['JSON that is no JSON-RPC', 200, 'application/json', '{"hello":1}', 502, 'UPSTREAM_NOT_MCP'],
  ['malformed JSON', 200, 'application/json', '{', 502, 'UPSTREAM_NOT_MCP'],
  ['plain text', 200, 'text/plain', 'hello', 502, 'UPSTREAM_NOT_MCP'],
  ['a redirect without an address', 302, 'text/html', '', 502, 'UPSTREAM_NOT_MCP'],
  ['a failure', 503, 'text/plain', 'sorry', 502, 'UPSTREAM_UNREACHABLE'],
  ['a failure in JSON', 500, 'application/json', '{"error":"x"}', 502, 'UPSTREAM_UNREACHABLE'],
  ['429', 429, 'text/plain', 'slow down', 429, 'UPSTREAM_RATE_LIMITED'],
])('%s is answered as a JSON-RPC error with its code', async (_, given, type, text, status, code) => {
  fixture.peer.handler = answering(text, { status: given, headers: { 'Content-Type': type, 'Retry-After': '9' } });
  const answer = await failed();
  expect(answer).toMatchObject({ status, rest: ofId(1), error: { code: -32000, data: { code } } });
  expect(answer.headers.get('retry-after')).toBe(status === 429 ? '9' : null);
});

test('a compressed answer, which nobody has asked for, is refused', async () => {
  fixture.peer.handler = answering('{}', { headers: { 'Content-Encoding': 'gzip' } });
  expect(await failed()).toMatchObject({ status: 502, error: { data: { code: 'UPSTREAM_NOT_MCP' } } });
});

test('a refusal with a page has the status of the server, and no page', async () => {
  fixture.peer.handler = answering('<script>1</script>', { status: 404, headers: { 'Content-Type': 'text/html' } });
  expect(await failed()).toMatchObject({ status: 404, rest: ofId(1), error: { code: -32000 } });
  fixture.peer.handler = answering('Method Not Allowed', { status: 405, headers: { 'Content-Type': 'text/plain' } });
  const answer = await post(fixture, '', {}, { method: 'GET', body: null });
  expect([answer.status, await answer.text()]).toEqual([405, 'Method Not Allowed']);
});

test('a redirect to another origin is not followed, and no credential is sent there', async () => {
  const other = await startUseFixture();
  const connectionId = await fixture.connect({ authType: 'static_headers', headers: { 'X-Token': 'secret' } });
  const before = other.peer.requests.length;
  for (const status of [301, 307, 308]) {
    fixture.peer.handler = answering('', { status, headers: { Location: `${other.peer.origin}/mcp` } });
    expect(await failed({ ...fixture, connectionId })).toMatchObject({
      status: 502,
      error: { message: expect.stringContaining('redirects'), data: { code: 'UPSTREAM_UNREACHABLE' } },
    });
  }
  expect(other.peer.requests.length).toBe(before);
  await other.stop();
});

test('a redirect within the origin is followed with the same body', async () => {
  const serve = mcpHandler();
  fixture.peer.handler = (request, response) => {
    if (request.url === '/new') return serve(request, response);
    request.resume();
    response.writeHead(308, { Location: '/new' }).end();
  };
  const answer = await post(fixture, toolCall());
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('"text":"3"');
});

describe('a server that is silent', () => {
  const upstreamSilenceMs = 1000;
  let timed: UseFixture;
  beforeAll(async () => {
    timed = await startUseFixture({ timing: { upstreamSilenceMs } });
  });
  afterAll(() => timed.stop());
  // The time passes where a test says so.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  test('504 with the id of the request when nothing comes; the next call works', async () => {
    const called = Promise.withResolvers<void>();
    timed.peer.handler = (request) => {
      request.resume();
      called.resolve();
    };
    const answer = failed(timed, 7);
    await called.promise;
    vi.advanceTimersByTime(upstreamSilenceMs);
    expect(await answer).toMatchObject({
      status: 504,
      rest: ofId(7),
      error: { message: 'the MCP server sent nothing for 1 s', data: { code: 'UPSTREAM_TIMEOUT' } },
    });
    timed.peer.handler = mcpHandler();
    expect((await post(timed, toolCall())).status).toBe(200);
  });

  test('a stream that has begun ends with the same error as an event', async () => {
    timed.peer.handler = (request, response) => {
      request.resume();
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    };
    const answer = await post(timed, toolCall());
    vi.advanceTimersByTime(upstreamSilenceMs);
    expect(await answer.text()).toMatch(/"id":1,"error":.*"UPSTREAM_TIMEOUT"/);
  });

  test('progress extends the wait', async () => {
    const { promise, resolve } = Promise.withResolvers<ServerResponse>();
    timed.peer.handler = (request, response) => {
      request.resume();
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
      resolve(response);
    };
    const answer = post(timed, toolCall());
    const server = await promise;
    const reader = readerOf(await answer);
    // Longer in all than the silence that is allowed, in steps that are shorter.
    for (let step = 1; step <= 5; step += 1) {
      server.write('data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n');
      await reader.until((text) => text.split('notifications/progress').length > step);
      vi.advanceTimersByTime(upstreamSilenceMs - 1);
    }
    server.end('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
    const text = await reader.toEnd();
    expect(text.match(/notifications\/progress/g)).toHaveLength(5);
    expect(text).toContain('"result":{}');
  });
});

describe('limits', () => {
  test('429: a key has at most 10 calls at once, which a JSON-RPC error says; one that has ended makes room', async () => {
    const waiting: ServerResponse[] = [];
    fixture.peer.handler = (request, response) => {
      request.resume();
      waiting.push(response);
    };
    const calls = Array.from({ length: 10 }, () => post(fixture, toolCall()));
    await expect.poll(() => waiting.length).toBe(10);
    expect(await failed()).toMatchObject({ status: 429, rest: ofId(1), error: { data: { code: 'RATE_LIMITED' } } });
    const reply = (response: ServerResponse | undefined) =>
      response?.writeHead(200, { 'Content-Type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}');
    reply(waiting.pop());
    await Promise.any(calls);
    const next = post(fixture, toolCall());
    await expect.poll(() => waiting.length).toBe(10);
    for (const response of waiting) reply(response);
    await Promise.all([...calls, next]);
    fixture.peer.handler = mcpHandler();
    expect(await works()).toBe(200);
  });

  test('429: a connection has at most 20 calls at once, of all keys', async () => {
    const keys = await Promise.all(
      [1, 2, 3].map(() => fixture.gateway.createKey({ organization: fixture.organization })),
    );
    const waiting: ServerResponse[] = [];
    fixture.peer.handler = (request, response) => {
      request.resume();
      waiting.push(response);
    };
    const [first, second, third] = keys.map(({ key }) => ({ ...fixture, key }));
    if (!first || !second || !third) throw new Error('three keys are needed');
    const calls = [first, second].flatMap((by) => Array.from({ length: 10 }, () => post(by, toolCall())));
    await expect.poll(() => waiting.length).toBe(20);
    expect(await failed(third)).toMatchObject({
      status: 429,
      error: { message: expect.stringContaining('at most 20 calls') },
    });
    for (const response of waiting) response.destroy();
    await Promise.all(calls);
  });
});

test('no database connection is held while a server takes its time', async () => {
  const waiting: ServerResponse[] = [];
  fixture.peer.handler = (request, response) => {
    request.resume();
    waiting.push(response);
  };
  const calls = Array.from({ length: 10 }, () => post(fixture, toolCall()));
  await expect.poll(() => waiting.length).toBe(10);
  const body = await (await fixture.gateway.fetch('/metrics')).text();
  expect(body).toMatch(/gateway_database_connections\{state="in_use"\} 0/);
  for (const response of waiting) response.end();
  await Promise.all(calls.map((each) => each.then((answer) => answer.text())));
});

test('a call that a server cuts is not repeated', async () => {
  let count = 0;
  fixture.peer.handler = (request) => {
    count += 1;
    request.socket.destroy();
  };
  expect(await failed()).toMatchObject({ status: 502, error: { data: { code: 'UPSTREAM_UNREACHABLE' } } });
  fixture.peer.handler = mcpHandler();
  expect(await works()).toBe(200);
  expect(count).toBe(1);
});
