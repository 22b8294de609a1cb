import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type UseFixture, post, readerOf, startUseFixture, toolCall } from '../../support/fixtures/mcp-use.ts';
import { mcpHandler } from '../../support/peers/mcp-server.ts';

const PING_MS = 20;

/** Streams of a server, which the test writes. Silence ends late; comments come often. */
let fixture: UseFixture;
beforeAll(async () => {
  fixture = await startUseFixture({ timing: { upstreamPingMs: PING_MS } });
});
afterAll(() => fixture.stop());

const HEAD = { 'Content-Type': 'text/event-stream' };
const event = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
const RESPONSE = event({ jsonrpc: '2.0', id: 1, result: { content: [] } });

/** Sends a call, and returns the answer of the gateway and the response of the server, whose head is sent. */
async function openStream(init: RequestInit = {}, head: Record<string, string> = HEAD, url = fixture.url) {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  fixture.peer.handler = (request, response) => {
    request.resume();
    response.writeHead(200, head).flushHeaders();
    resolve(response);
  };
  const answer = post({ ...fixture, url }, toolCall(), {}, init);
  answer.catch(() => undefined);
  return { server: await promise, answer: await answer };
}

const withoutPings = (text: string) => text.replaceAll(': keep-alive\n', '');

test('each event is passed on at once, with its bytes, whatever the chunks', async () => {
  const { server, answer } = await openStream();
  const reader = readerOf(answer);
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  expect(answer.headers.get('x-accel-buffering')).toBe('no');
  const progress =
    'id: 1\r\nevent: message\r\ndata: {"jsonrpc":"2.0",\r\ndata: "method":"notifications/progress"}\r\n\r\n';
  server.write(progress);
  expect(withoutPings(await reader.until((text) => text.includes('\r\n\r\n')))).toBe(progress);
  const bytes = Buffer.from(event({ jsonrpc: '2.0', id: 1, result: { text: 'größe 𝄞' } }));
  for (const byte of bytes) {
    server.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  server.end(': the end, without an empty line');
  expect(withoutPings(await reader.toEnd())).toBe(`${progress}${bytes.toString()}: the end, without an empty line`);
});

test('a silent stream is kept open by comment lines, which never split an event', async () => {
  const { server, answer } = await openStream();
  const reader = readerOf(answer);
  const pings = (text: string) => text.split(': keep-alive\n').length - 1;
  const silent = await reader.until((text) => pings(text) >= 2);
  server.write(RESPONSE.slice(0, 30));
  // More than one, because one can have been sent before the server wrote.
  const before = await reader.until((text) => pings(text) >= pings(silent) + 3);
  expect(withoutPings(before)).toBe('');
  server.end(RESPONSE.slice(30));
  expect(withoutPings(await reader.toEnd())).toBe(RESPONSE);
});

test('a client that leaves closes the connection to the server, before and during the answer', async () => {
  const during = new AbortController();
  const { server, answer } = await openStream({ signal: during.signal });
  await readerOf(answer).until((text) => text !== '');
  const closed = once(server, 'close');
  during.abort();
  await closed;

  const before = new AbortController();
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  fixture.peer.handler = (request, response) => {
    request.resume();
    resolve(response);
  };
  const waiting = post(fixture, toolCall(), {}, { signal: before.signal });
  const closedToo = once(await promise, 'close');
  before.abort();
  await expect(waiting).rejects.toThrow('aborted');
  await closedToo;
});

test('a client that leaves ends the count of its calls', async () => {
  for (let round = 0; round < 12; round += 1) {
    const leaving = new AbortController();
    const { server, answer } = await openStream({ signal: leaving.signal });
    expect(answer.status).toBe(200);
    const closed = once(server, 'close');
    leaving.abort();
    await closed;
  }
});

test('a stream that breaks before the response ends with a JSON-RPC error of the same id', async () => {
  const { server, answer } = await openStream();
  server.write(event({ jsonrpc: '2.0', method: 'notifications/progress' }));
  const reader = readerOf(answer);
  await reader.until((text) => text.includes('progress'));
  server.destroy();
  const text = await reader.toEnd();
  expect(JSON.parse(/data: (\{.*"id".*\})\n\n$/.exec(text)?.[1] ?? '{}')).toMatchObject({
    jsonrpc: '2.0',
    id: 1,
    error: { data: { code: 'UPSTREAM_UNREACHABLE' } },
  });
});

test('a stream that the client can resume breaks like that of the server', async () => {
  const { server, answer } = await openStream();
  server.write(`id: 7\n${event({ jsonrpc: '2.0', method: 'notifications/progress' })}`);
  const reader = readerOf(answer);
  await reader.until((text) => text.includes('progress'));
  server.destroy();
  const rest = await reader.toEnd().catch(String);
  expect(rest).toMatch(/terminated/);
});

test('an answer without end ends at 4 MiB with a clear error, as a stream and as JSON', async () => {
  const { server, answer } = await openStream();
  const closed = once(server, 'close');
  server.write('data: "');
  writeWithoutEnd(server);
  expect(withoutPings(await readerOf(answer).toEnd())).toMatch(/^event: message\ndata: .*"ANSWER_TOO_LARGE".*\n\n$/);
  await closed;

  for (const length of [undefined, 30 * 1024 * 1024]) {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    fixture.peer.handler = (request, response) => {
      request.resume();
      resolve(once(response, 'close'));
      response.writeHead(200, {
        'Content-Type': 'application/json',
        ...(length !== undefined && { 'Content-Length': length }),
      });
      if (length === undefined) writeWithoutEnd(response);
      else response.flushHeaders();
    };
    const whole = await post(fixture, toolCall());
    expect([whole.status, await whole.json()]).toMatchObject([
      502,
      { id: 1, error: { data: { code: 'ANSWER_TOO_LARGE' } } },
    ]);
    await promise;
  }
});

/** Writes as fast as it is read, so that an end proves that the reader has stopped. */
function writeWithoutEnd(response: ServerResponse): void {
  response.on('error', () => undefined);
  const part = 'x'.repeat(64 * 1024);
  const write = () => {
    while (!response.destroyed && response.write(part));
  };
  response.on('drain', write);
  write();
}

test('a call that is silent for longer than a proxy before the gateway allows passes it', async () => {
  const SILENCE_MS = 500;
  const proxy = await startSilenceProxy(fixture.url, SILENCE_MS);
  const { server, answer } = await openStream({}, HEAD, proxy.url);
  const reader = readerOf(answer);
  const comments = (2 * SILENCE_MS) / PING_MS;
  await reader.until((text) => text.split('keep-alive').length > comments);
  server.end(RESPONSE);
  expect(withoutPings(await reader.toEnd())).toBe(RESPONSE);
  await proxy.stop();
});

/** A proxy that cuts connections on which nothing comes from the gateway for this time. */
async function startSilenceProxy(to: string, silenceMs: number) {
  const { hostname, port } = new URL(to);
  const server = createServer((client) => {
    const gateway = connect(Number(port), hostname);
    gateway.setTimeout(silenceMs, () => {
      // After a pause of this process, it first reads what has come.
      const { bytesRead } = gateway;
      setImmediate(() => gateway.bytesRead === bytesRead && client.destroy());
    });
    for (const [from, other] of [
      [client, gateway],
      [gateway, client],
    ] as const) {
      from.on('error', () => undefined).on('close', () => other.destroy());
      from.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = () => new Promise((resolve) => server.close(resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

test('the stream of GET is passed through, and is no call', async () => {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  fixture.peer.handler = (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, HEAD).flushHeaders();
      resolve(response);
    } else response.writeHead(202).end();
  };
  const leaving = new AbortController();
  const answer = await post(fixture, '', {}, { method: 'GET', body: null, signal: leaving.signal });
  const server = await promise;
  server.write(event({ jsonrpc: '2.0', method: 'notifications/message' }));
  expect(await readerOf(answer).until((text) => text.includes('\n\n'))).toContain('notifications/message');
  const closed = once(server, 'close');
  leaving.abort();
  await closed;
});

test('a stream ends when its key is revoked, or its connection is deleted', async () => {
  const { gateway, organization, key } = fixture;
  const { key: other, keyId } = await gateway.createKey({ organization });
  fixture.peer.handler = mcpHandler();
  const connectionId = await fixture.connect();
  const losses = [
    { by: other, on: fixture.connectionId, lose: () => gateway.rest('DELETE', `/v1/api-keys/${keyId}`, { key }) },
    { by: key, on: connectionId, lose: () => gateway.rest('DELETE', `/v1/mcp-connections/${connectionId}`, { key }) },
  ];
  for (const { by, on, lose } of losses) {
    const { promise, resolve } = Promise.withResolvers<ServerResponse>();
    fixture.peer.handler = (request, response) => {
      request.resume();
      response.writeHead(200, HEAD).flushHeaders();
      resolve(response);
    };
    const answer = await post({ ...fixture, key: by, connectionId: on }, toolCall());
    const server = await promise;
    const closed = once(server, 'close');
    const reader = readerOf(answer);
    await reader.until((text) => text !== '');
    expect((await lose()).status).toBeLessThan(300);
    await expect(reader.toEnd()).rejects.toThrow('terminated');
    await closed;
  }
});

test('an id that would be compared with each event is a number or a short text', async () => {
  for (const id of ['x'.repeat(1001), { a: 1 }, [1], true]) {
    const answer = await post(fixture, toolCall('add', {}, id));
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { id: null, error: { code: -32600, message: 'id: must be a number, or a string of at most 1000 characters' } },
    ]);
  }
});
