import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Gateway } from '../../../src/gateway/gateway.ts';
import { PART_LENGTH } from '../../../src/core/answer-memory.ts';
import { type RunningServer, type ServeOptions, serve } from '../../../src/gateway/http/server.ts';
import { readJson } from '../../../src/core/http/request-body.ts';
import { DomainError } from '../../../src/core/errors.ts';
import { answerJson, answerWith } from '../../../src/core/http/messages.ts';
import { sampled } from '../../support/sample.ts';

/** Longer than any test takes. */
const PATIENT = 60_000;

const running: RunningServer[] = [];
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all(running.splice(0).map((server) => server.stop(100)));
});

interface ReceivedRequest {
  method: string;
  path: string;
  body?: unknown;
  failure?: string;
  signal: AbortSignal;
}
let received: ReceivedRequest[] = [];
beforeEach(() => {
  received = [];
});

/** Reads the body like the gateway, and answers with what it has read. */
const echo: Gateway = async (request) => {
  const { pathname, search } = new URL(request.url);
  const entry: ReceivedRequest = { method: request.method, path: pathname + search, signal: request.signal };
  received.push(entry);
  if (pathname === '/unread') return answerJson({ error: 'refused' }, { status: 401 });
  if (pathname === '/empty') return answerWith(null, { status: 204 });
  if (pathname === '/wrong-length') return answerWith('as long as it is', { headers: { 'Content-Length': '3' } });
  if (pathname === '/large') return answerWith(Buffer.alloc(64 * 1024 * 1024));
  if (pathname === '/stream') return answerWith(streamUntil(request.signal));
  if (pathname === '/wait') await once(request.signal, 'abort');
  try {
    entry.body = await readJson(request);
  } catch (error) {
    entry.failure = error instanceof DomainError ? `${error.status} ${error.message}` : String(error);
    return answerJson({ error: entry.failure }, { status: error instanceof DomainError ? error.status : 500 });
  }
  const answer = answerJson({ method: request.method, path: pathname + search, body: entry.body });
  return request.method === 'HEAD' ? { ...answer, body: null } : answer;
};

async function* streamUntil(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  yield Buffer.from('begun');
  if (!signal.aborted) await once(signal, 'abort');
}

async function start(timeouts: Omit<ServeOptions, 'host' | 'port'> = {}): Promise<RunningServer> {
  const server = await serve(echo, { host: '127.0.0.1', port: 0, ...timeouts });
  running.push(server);
  return server;
}

function open({ url }: RunningServer): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  sockets.add(socket);
  return socket;
}

/** Sends the parts on one connection and returns everything that the server sends until it closes the connection. */
async function exchange(server: RunningServer, ...parts: (string | Buffer)[]): Promise<string> {
  const socket = open(server);
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  for (const part of parts) socket.write(part);
  await once(socket, 'close');
  return text
    .replace(/Date: .*\r\n/, '')
    .replace(/X-Request-Id: .*\r\n/i, 'X-Request-Id: ID\r\n')
    .replaceAll('\r\n', '\n');
}

const get = (target: string, ...headers: string[]) =>
  [`GET ${target} HTTP/1.1`, 'Host: x', ...headers, 'Connection: close', '', ''].join('\r\n');
const post = (target: string, ...headers: string[]) =>
  [`POST ${target} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', ...headers, '', ''].join('\r\n');

describe('requests', () => {
  test('path and query reach the gateway, whatever host the target or the Host header contains', async () => {
    const server = await start();
    await exchange(server, get('/a/b?c=1'));
    await exchange(server, get('http://evil.example:99/a?b=2'));
    await exchange(server, get('//evil.example/x'));
    expect(received.map(({ path }) => path)).toEqual(['/a/b?c=1', '/a?b=2', '//evil.example/x']);
  });

  test.for([
    ['OPTIONS *', 400, { error: 'the request target is not a valid URL' }],
    ['GET ftp://x/', 400, { error: 'the request target is not a valid URL' }],
    ['TRACE /', 405, { error: 'TRACE is not allowed here' }],
  ] as const)('%s', async ([line, status, body]) => {
    const text = await exchange(await start(), `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(text.split('\n')[0]).toContain(` ${status} `);
    expect(text).toContain('X-Request-Id: ID');
    expect(JSON.parse(text.split('\n\n')[1] ?? '')).toEqual(body);
    expect(received).toEqual([]);
  });

  sampled(test, 3).for([
    '/x/../metrics',
    '/./metrics',
    '/%2e/metrics',
    '/x/%2E%2e/metrics',
    '/x\\..\\metrics',
    '/x/..',
    'http://x/a/../b',
  ])('a path that changes when it is normalized is 400: %s', async (target) => {
    expect(await exchange(await start(), get(target))).toContain(
      'the path must not contain . or .. as a segment, or backslashes',
    );
    expect(received).toEqual([]);
  });

  test.for(['/#', '/metrics#x', '/a?b#/../c', 'http://x/a#b', '*#'])('a fragment is 400: %s', async (target) => {
    const text = await exchange(await start(), get(target));
    expect(text).toMatch(/ 400 [^]*\{"error":"the request target must not contain a fragment \(#\)"\}$/);
    expect(received).toEqual([]);
  });

  test('dots within segments and in the query are part of a path as it is', async () => {
    const server = await start();
    for (const target of ['/.well-known/a..b/...', '/a?b=/../c']) await exchange(server, get(target));
    expect(received.map(({ path }) => path)).toEqual(['/.well-known/a..b/...', '/a?b=/../c']);
  });

  test.for([
    [['Host: x', 'host: y'], 'Host'],
    [['Authorization: Bearer a', 'authorization: Bearer b'], 'Authorization'],
  ] as const)('a second header is 400: %s', async ([headers, name]) => {
    const text = await exchange(await start(), get('/', ...headers));
    expect([text.split('\n')[0], text]).toEqual([
      'HTTP/1.1 400 Bad Request',
      expect.stringContaining(`the header ${name} must be given once`),
    ]);
    expect(received).toEqual([]);
  });

  test('CONNECT opens no tunnel', async () => {
    expect(await exchange(await start(), 'CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n')).toBe('');
    expect(received).toEqual([]);
  });

  test('invalid HTTP after the beginning of an answer closes the connection and adds nothing to the answer', async () => {
    const socket = open(await start());
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('begun')) socket.write('hello\r\n\r\n');
    });
    socket.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\nbegun\r\n$/);
  });

  test('invalid HTTP and headers over 16 KiB get an error in the usual format, and the connection is closed', async () => {
    const server = await start();
    const refusal = (status: string, error = 'the request is not well-formed HTTP') =>
      `HTTP/1.1 ${status}\nContent-Type: application/json\nContent-Length: ${error.length + 12}\nX-Request-Id: ID\nConnection: close\n\n{"error":"${error}"}`;
    expect(await exchange(server, 'hello\r\n\r\n')).toBe(refusal('400 Bad Request'));
    expect(
      await exchange(server, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n'),
    ).toBe(refusal('400 Bad Request'));
    expect(await exchange(server, 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n')).toBe(
      refusal('400 Bad Request'),
    );
    expect(await exchange(server, `GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`)).toBe(
      refusal('431 Request Header Fields Too Large', 'the headers of the request must be at most 16 KiB'),
    );
    expect(received).toEqual([]);
  });

  test('a client that still sends its refused headers can read the answer', async () => {
    const { socket, answer } = await sendRefused(await start({ lingerMs: PATIENT }));
    const sent = new Promise<unknown>((resolve) => socket.write(Buffer.alloc(8 * 1024 * 1024, 'a'), resolve));
    expect([answer.slice(0, 12), (await sent) ?? 'sent']).toEqual(['HTTP/1.1 431', 'sent']);
  });

  test('a client that sends refused headers without end is cut off', async () => {
    const { socket } = await sendRefused(await start({ lingerMs: 50 }));
    const error = new Promise<Error>((resolve) => {
      const send = (failure?: Error | null) => (failure ? resolve(failure) : socket.write(Buffer.alloc(1024), send));
      send();
    });
    expect(await error).toHaveProperty('code', expect.stringMatching(/^(?:EPIPE|ECONNRESET)$/));
  });
});

/** Sends headers that are too large, and reads the answer to its end. The connection stays open in the other direction. */
async function sendRefused({ url }: RunningServer): Promise<{ socket: Socket; answer: string }> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), allowHalfOpen: true });
  socket.on('error', () => undefined);
  sockets.add(socket);
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  socket.write(`GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}`);
  await once(socket, 'end');
  return { socket, answer };
}

describe('answers', () => {
  test('have one Content-Length with the actual length; HEAD gets the headers of GET', async () => {
    const server = await start();
    const body = '{"method":"GET","path":"/a"}';
    expect(await exchange(server, get('/a'))).toBe(
      `HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: ${body.length}\nConnection: close\n\n${body}`,
    );
    expect(await exchange(server, get('/wrong-length'))).toMatch(/Content-Length: 16\n.*\n\nas long as it is$/s);
    expect(await exchange(server, get('/empty'))).toBe('HTTP/1.1 204 No Content\nConnection: close\n\n');
    expect(await exchange(server, get('/a').replace('GET', 'HEAD'))).toBe(
      'HTTP/1.1 200 OK\nContent-Type: application/json\nConnection: close\n\n',
    );
  });

  test.each([
    ['ASCII', 'a'],
    ['Latin-1, which V8 keeps as one byte a character', 'é'],
    ['of three and four bytes', '€😀'],
  ])('transfer text unchanged, in one part and in several: %s', async (_name, character) => {
    const server = await start();
    for (const length of [10, 300_000]) {
      const body = { text: character.repeat(length) };
      const response = await fetch(server.url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(response.headers.get('content-length')).toBe(String(bytes.length));
      expect(JSON.parse(bytes.toString())).toEqual({ method: 'POST', path: '/', body });
    }
  });

  test.for([
    ['fewer bytes than a part', 'x', PART_LENGTH - 1_000],
    ['more bytes, all of one byte', 'x', PART_LENGTH + 1_000],
    ['more bytes, but fewer characters', 'ä', PART_LENGTH - 1_000],
    ['more bytes and more characters', 'ä', PART_LENGTH + 1_000],
    ['surrogate pairs at the ends of parts', '\u{1F600}', PART_LENGTH + 1_000],
  ] as const)('are complete with %s', async ([, character, count]) => {
    const server = await start();
    const text = character.repeat(count);
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(`${server.url}/`, { method: 'POST', headers, body: JSON.stringify({ text }) });
    const answer = JSON.stringify({ method: 'POST', path: '/', body: { text } });
    expect(response.headers.get('Content-Length')).toBe(String(Buffer.byteLength(answer)));
    expect((await response.text()) === answer).toBe(true);
  });

  test('close the connection after HTTP/1.0 and keep it after HTTP/1.1, also for pipelined requests', async () => {
    const server = await start();
    expect(await exchange(server, 'GET /a HTTP/1.0\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 200 OK\n[^]*Connection: close\n[^]*"path":"\/a"\}$/,
    );
    const both = await exchange(server, 'GET /1 HTTP/1.1\r\nHost: x\r\n\r\n', get('/2'));
    expect(both.match(/"path":"[^"]*"/g)).toEqual(['"path":"/1"', '"path":"/2"']);
  });

  test('are received completely by a peer that keeps sending a refused body; then the connection is closed', async () => {
    const server = await start({ lingerMs: 30_000 });
    const text = await exchange(server, post('/unread', 'Content-Length: 8000000'), Buffer.alloc(8_000_000, ' '));
    expect(text).toMatch(/^HTTP\/1\.1 401 Unauthorized\n[^]*Connection: close\n[^]*\{"error":"refused"\}$/);
  });

  test('to a body over the limit, with or without Content-Length, are a complete 413; then the connection is closed', async () => {
    const server = await start({ lingerMs: 30_000 });
    const expected =
      /^HTTP\/1\.1 413 Payload Too Large\n[^]*Connection: close\n[^]*\{"error":"413 the body must be at most 4194304 bytes \(4 MiB\)"\}$/;
    expect(await exchange(server, post('/big', 'Content-Length: 5000000'), Buffer.alloc(5_000_000, ' '))).toMatch(
      expected,
    );
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(0x10_0000, ' '), Buffer.from('\r\n')]);
    expect(
      await exchange(
        server,
        post('/big', 'Transfer-Encoding: chunked'),
        ...Array.from({ length: 6 }, () => chunk),
        '0\r\n\r\n',
      ),
    ).toMatch(expected);
  });
});

describe('slow and disconnecting peers', () => {
  test('headers and bodies that arrive too slowly get 408, and the connection is closed; other requests are served meanwhile', async () => {
    // Real time: the timeouts are those of Node.js, which has no clock that a test could set.
    const server = await start({ headersTimeoutMs: 500, requestTimeoutMs: 750 });
    const drip = async (head: string) => {
      const socket = open(server);
      // The time of a first request begins with its connection; that of a later one with its first byte.
      socket.write('GET /quick HTTP/1.1\r\nHost: x\r\n\r\n');
      await once(socket, 'data');
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      socket.write(head);
      const timer = setInterval(() => socket.write('a'), 50);
      // The server closes while the peer still sends.
      socket.on('error', () => clearInterval(timer));
      await new Promise((resolve) => socket.once('close', resolve));
      clearInterval(timer);
      return text;
    };
    const slow = [drip('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '), drip(post('/slow', 'Content-Length: 1000000'))];
    const served: number[] = [];
    let isOver = false;
    const others = (async () => {
      while (!isOver) served.push((await fetch(`${server.url}/quick`)).status);
    })();
    const texts = await Promise.all(slow);
    isOver = true;
    await others;
    expect(new Set(served)).toEqual(new Set([200]));
    for (const text of texts)
      expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n[^]*\{"error":"the request took too long to arrive"\}$/);
    // The peer may see the end of the connection before the reader of its body does.
    await expect
      .poll(() => received.find(({ path }) => path === '/slow')?.failure)
      .toBe('400 the body ended before it was complete');
  });

  test('a peer that disconnects in the middle of its body causes no internal error', async () => {
    const server = await start();
    const socket = open(server);
    socket.write(post('/gone', 'Content-Length: 100'));
    socket.write('{"a":');
    await expect.poll(() => received.length).toBe(1);
    socket.destroy();
    await expect.poll(() => received[0]?.failure).toBe('400 the body ended before it was complete');
  });

  test('the request of a peer that disconnects while it waits is aborted', async () => {
    const server = await start();
    const socket = open(server);
    socket.write('GET /wait HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => received.length).toBe(1);
    expect(received[0]?.signal.aborted).toBe(false);
    socket.destroy();
    await expect.poll(() => received[0]?.signal.aborted).toBe(true);
  });

  test('the connection of a peer that does not read its answer is closed after the idle timeout', async () => {
    // Real time, like above.
    const server = await start({ idleTimeoutMs: 500 });
    const socket = open(server);
    socket.pause();
    socket.write(get('/large'));
    await expect.poll(() => received.length).toBe(1);
    // The answer is larger than the buffers of both sockets.
    await expect.poll(() => received[0]?.signal.aborted).toBe(true);
    expect((await fetch(`${server.url}/quick`)).status).toBe(200);
  });

  test('a connection is kept after an answer although others are closed when nothing moves on them, and closed when the server stops', async () => {
    const server = await start({ idleTimeoutMs: 300, keepAliveTimeoutMs: PATIENT });
    const kept = open(server);
    const answered = async () => {
      kept.write('GET /quick HTTP/1.1\r\nHost: x\r\n\r\n');
      const [chunk] = await once(kept, 'data');
      return String(chunk).slice(0, 12);
    };
    expect(await answered()).toBe('HTTP/1.1 200');
    await exchange(server);
    expect(await answered()).toBe('HTTP/1.1 200');
    running.splice(0);
    await Promise.all([once(kept, 'close'), server.stop(50)]);
  });

  test('1,000 idle connections do not disturb other requests and are closed when the server stops', async () => {
    const server = await start();
    const idle: Socket[] = [];
    // In batches, because connections beyond the server's backlog (511) would wait for a second or more.
    while (idle.length < 1_000) {
      const batch = Array.from({ length: 100 }, () => open(server));
      await Promise.all(batch.map((socket) => once(socket, 'connect')));
      idle.push(...batch);
      // Connections are accepted in order, so an answer shows that the server has accepted all earlier ones.
      await exchange(server, get('/quick'));
    }
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => (await fetch(`${server.url}/quick`)).status),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    running.splice(0);
    await server.stop(50);
    await expect
      .poll(() => idle.every((socket) => socket.destroyed || socket.readableEnded || socket.closed))
      .toBe(true);
  });

  test('the default timeouts are 10 s for headers, 30 s for a request, 60 s without data, 10 s for a part of an answer and 2 s after a refusal', async () => {
    const server = await start();
    expect(server.bounds).toEqual({
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
      idleTimeoutMs: 60_000,
      lingerMs: 2_000,
      unreadTimeoutMs: 10_000,
    });
  });
});
