import type { IncomingMessage } from 'node:http';
import { type AddressInfo, type Server, type Socket, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Outbound, createOutbound } from '../../../src/core/outbound/outbound.ts';
import { VERSION } from '../../../src/core/version.ts';
import { outboundFailure as failure } from '../../support/fixtures/outbound.ts';
import { Listener } from '../../support/peers/listener.ts';

/** What other servers see of the requests, and what the first bytes of their answers may be. */

let free: Outbound;
let listener: Listener;
beforeAll(async () => {
  listener = await new Listener().start();
  free = createOutbound({ allowPrivateNetwork: true });
});
afterAll(async () => {
  await free.close();
  await listener.stop();
});

const USER_AGENT = `WorkspaceGateway/${VERSION}`;

describe('headers', () => {
  const seen: IncomingMessage[] = [];
  beforeAll(() => {
    listener.handler = (request, response) => {
      seen.push(request);
      if (request.url === '/moved') response.writeHead(307, { Location: '/' });
      response.end('ok');
    };
  });
  const namesOf = ({ headers }: IncomingMessage) => Object.keys(headers).toSorted();

  test('every request names the gateway, and has no header of a browser', async () => {
    const { signal } = new AbortController();
    await (await free.begin().fetch(`${listener.url}/moved`)).text();
    await (await free.begin().fetch(`${listener.url}/moved`, { method: 'POST', body: 'a=1' })).text();
    for (const path of ['/', '/moved'])
      await text((await free.stream(`${listener.url}${path}`, { method: 'GET', headers: {}, signal })).body);
    expect(seen).toHaveLength(7);
    expect(new Set(seen.map(({ headers }) => headers['user-agent']))).toEqual(new Set([USER_AGENT]));
    const names = new Set(seen.flatMap(namesOf));
    expect([...names].filter((name) => /^sec-|language/.test(name))).toEqual([]);
  });

  test('headers that somebody configured are sent as they are', async () => {
    const headers = { 'User-Agent': 'Own/1', 'Accept-Language': 'de' };
    const { signal } = new AbortController();
    seen.length = 0;
    await (await free.begin().fetch(listener.url, { headers })).text();
    await text((await free.stream(listener.url, { method: 'GET', headers, signal })).body);
    expect(seen.map((request) => [request.headers['user-agent'], request.headers['accept-language']])).toEqual(
      [1, 2].map(() => ['Own/1', 'de']),
    );
  });
});

/** A server that answers each request with these parts, each in its own packet. */
async function answeringWith(parts: (requests: number) => readonly string[]) {
  let connections = 0;
  let requests = 0;
  const answer = async (socket: Socket) => {
    requests += 1;
    for (const part of parts(requests))
      await new Promise((resolve) => socket.write(part, () => setImmediate(() => setImmediate(resolve))));
  };
  const server: Server = createServer((socket) => {
    connections += 1;
    socket.setNoDelay(true).on('data', () => void answer(socket));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';

describe('100 Continue that nobody asked for is skipped', () => {
  test.each([
    ['alone', [CONTINUE, OK]],
    ['with the answer', [CONTINUE + OK]],
    ['byte by byte', (CONTINUE + OK).split('')],
    ['twice', [CONTINUE, CONTINUE, OK]],
    ['with headers and other words', ['HTTP/1.1 100 Go on\r\nServer: a\r\n\r\n', OK]],
    ['of HTTP/1.0', ['HTTP/1.0 100 Continue\r\n\r\n', OK]],
    ['before other informational answers', [CONTINUE, 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', OK]],
  ])('%s', async (_, parts) => {
    await using server = await answeringWith(() => parts);
    const ask = async () => {
      const response = await free.begin().fetch(server.url);
      return [response.status, await response.text()];
    };
    const answers = [await ask(), await ask(), await ask(), await ask()];
    expect(answers).toEqual(answers.map(() => [200, 'hello']));
    // Connections are used again: undici opens a second one before it knows that the first one is free.
    expect(server.connections()).toBeLessThan(3);
  });

  test('but not in the body of an answer', async () => {
    const body = `${CONTINUE}${OK}`;
    const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`;
    await using server = await answeringWith(() => [head, body]);
    expect(await (await free.begin().fetch(server.url)).text()).toBe(body);
  });

  test('and a connection that ends after it, or within it, is one that was closed', async () => {
    for (const begun of [CONTINUE, 'HTTP/1.1 100 Co', '']) {
      listener.handler = ({ socket }) => void socket.end(begun);
      expect((await failure(free.begin().fetch(listener.url))).message).toMatch(
        /^127\.0\.0\.1:\d+ closed the connection before the end of its answer \(UND_ERR_SOCKET\)$/,
      );
    }
  });
});

describe('failures say what happened', () => {
  const CODES = [
    [
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'is not from a known authority; the operator of the gateway can add one with NODE_EXTRA_CA_CERTS',
    ],
    [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'is not from a known authority; the operator of the gateway can add one with NODE_EXTRA_CA_CERTS',
    ],
    [
      'SELF_SIGNED_CERT_IN_CHAIN',
      'is not from a known authority; the operator of the gateway can add one with NODE_EXTRA_CA_CERTS',
    ],
    ['CERT_HAS_EXPIRED', 'has expired'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'is for another name'],
  ] as const;
  test.each(CODES)('%s', async (code, reason) => {
    const resolve = async () => Promise.reject(Object.assign(new Error('text of a peer'), { code }));
    const outbound = createOutbound({ allowPrivateNetwork: true, resolve });
    const { message } = await failure(outbound.begin().fetch('https://name.example/'));
    expect(message).toBe(`the certificate of name.example ${reason} (${code})`);
    await outbound.close();
  });

  test('a server that does not speak TLS, and one whose answer is not HTTP', async () => {
    const { port } = listener;
    expect((await failure(free.begin().fetch(`https://127.0.0.1:${port}/`))).message).toMatch(
      new RegExp(`^no TLS connection to 127\\.0\\.0\\.1:${port} can be established \\(\\w+\\)$`),
    );
    await using server = await answeringWith(() => ['SSH-2.0-OpenSSH_9.6\r\n']);
    expect((await failure(free.begin().fetch(server.url))).message).toMatch(
      /^the answer of 127\.0\.0\.1:\d+ is not HTTP( \(HPE_\w+\))?$/,
    );
  });

  test('a connection that ends within the body, and a body that cannot be decompressed', async () => {
    listener.handler = (_, response) => {
      response.writeHead(200, { 'Content-Length': 10 }).write('half', () => response.destroy());
    };
    const half = await free.begin().fetch(listener.url);
    expect((await failure(half.text())).message).toMatch(/closed the connection before the end of its answer \(\w+\)$/);
    listener.handler = (_, response) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('not gzip');
    const unreadable = await free.begin().fetch(listener.url);
    expect((await failure(unreadable.text())).message).toMatch(
      /^the answer of 127\.0\.0\.1:\d+ cannot be decompressed/,
    );
  });
});
