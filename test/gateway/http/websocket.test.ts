import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { type RunningServer, type ServeOptions, serve } from '../../../src/gateway/http/server.ts';
import { startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf } from '../../support/fixtures/sessions.ts';
import { connectSocket, openSocket } from '../../support/fixtures/websockets.ts';
import { sampled } from '../../support/sample.ts';

/** Opening, keeping and closing WebSockets. */

const gateway = useTestGateway();
let server: RunningServer;
let key: string;
beforeAll(async () => {
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  ({ key } = await gateway.createKey());
});
afterAll(() => server.stop(0));

async function startServer(options: Partial<ServeOptions>): Promise<RunningServer> {
  const started = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0, ...options });
  onTestFinished(() => started.stop(0));
  return started;
}

const init = (payload?: object) => ({ type: 'connection_init', payload });
const ack = { type: 'connection_ack' };

describe('close codes of the protocol', () => {
  sampled(test, 3).each([
    ['4400: a text that is no message', ['{'], 4400],
    ['4400: an operation without an id', [{ type: 'subscribe', payload: { query: '{ __typename }' } }], 4400],
    ['4401: an operation before connection_init', [{ id: '1', type: 'subscribe', payload: { query: '{ a }' } }], 4401],
    ['4403: no key', [init()], 4403],
    ['4403: an unknown key', [init({ Authorization: `Bearer wgk_${'0'.repeat(36)}` })], 4403],
    ['4403: a key that is no text', [init({ Authorization: 7 })], 4403],
    ['4408: nothing', [], 4408],
  ])('%s', async (_, messages, code) => {
    const socket = await openSocket(server.url);
    for (const message of messages) socket.send(message);
    expect((await socket.closed).code).toBe(code);
  });

  test.each([
    ['nowhere', init()],
    ['in headers within the payload', init({ headers: { Authorization: `Bearer wgk_${'0'.repeat(36)}` } })],
    ['without Bearer', init({ Authorization: `wgk_${'0'.repeat(36)}` })],
  ])('4403 says where the key goes: %s', async (_, message) => {
    const socket = await openSocket(server.url);
    socket.send(message);
    expect(await socket.closed).toEqual({
      code: 4403,
      reason: 'missing or invalid API key; send {"Authorization":"Bearer <key>"} as the payload of connection_init',
    });
  });

  test('4406: another protocol', async () => {
    const socket = await openSocket(server.url, { protocol: 'graphql-ws' }).catch((error: unknown) => error);
    // The client refuses an answer that chooses none of its protocols.
    expect(String(socket)).toContain('Server sent no subprotocol');
  });

  test('4409: an id that is in use; 4429: a second connection_init', async () => {
    const one = await connectSocket(server.url, key);
    const query = 'subscription { sessionChanged { session { id } } }';
    for (let count = 0; count < 2; count += 1) one.send({ id: 'same', type: 'subscribe', payload: { query } });
    expect((await one.closed).code).toBe(4409);
    const other = await connectSocket(server.url, key);
    other.send(init());
    expect((await other.closed).code).toBe(4429);
  });

  test('1009: a message over 4 MiB', async () => {
    const socket = await connectSocket(server.url, key);
    socket.send({ id: '1', type: 'subscribe', payload: { query: 'x'.repeat(4 * 1024 * 1024) } });
    expect((await socket.closed).code).toBe(1009);
  });

  test('4429: an address with too many refused keys', async () => {
    const bounded = await startTestGateway({}, { beside: gateway, bounds: { requestsOfClient: 1 } });
    const listening = await serve(createGateway(bounded.dependencies), { host: '127.0.0.1', port: 0 });
    onTestFinished(async () => {
      await listening.stop(0);
      await bounded.close();
    });
    const codes: number[] = [];
    for (let count = 0; count < 2; count += 1) {
      const socket = await openSocket(listening.url);
      socket.send(init());
      codes.push((await socket.closed).code);
    }
    expect(codes).toEqual([4403, 4429]);
    expect(bounded.logged.filter((line) => line.includes('"clientAddress":"127.0.0.1"'))).toHaveLength(2);
  });
});

describe('the sign-in cookie', () => {
  const signIn = async () => {
    const answer = await gateway.fetch('/sign-in', {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Sec-Fetch-Site': 'same-origin' },
      body: new URLSearchParams({ key }),
    });
    return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  };

  test('counts with the origin of the gateway, and with no other', async () => {
    const Cookie = await signIn();
    const connect = async (headers: Record<string, string>) => {
      const socket = await openSocket(server.url, { headers: { Cookie, ...headers } });
      socket.send(init());
      const message = await socket.next();
      socket.socket.terminate();
      return message ?? (await socket.closed);
    };
    expect(await connect({ Origin: server.url })).toEqual(ack);
    const refused = { code: 4403, reason: expect.stringContaining('only for requests from pages of the gateway') };
    for (const headers of [
      {} as Record<string, string>,
      { Origin: 'https://elsewhere.example' },
      { Origin: 'null' },
      { Origin: 'https://elsewhere.example', 'Sec-Fetch-Site': 'same-origin' },
    ])
      expect(await connect(headers)).toEqual(refused);
  });
});

describe('upgrades', () => {
  test.each([
    ['/', 404],
    ['/v1/sessions', 404],
    ['/graphql/x', 404],
    ['/graphqlx', 404],
    ['/x/../graphql', 400],
    ['/graphql#x', 400],
  ])('of %s are %i', async (path, status) => {
    const upgrade = new Promise<number | undefined>((resolve, reject) => {
      const headers = {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
        'Sec-WebSocket-Version': '13',
      };
      const { hostname, port } = new URL(server.url);
      const sent = request({ hostname, port, path, headers, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on('upgrade', (_, socket) => {
        socket.destroy();
        resolve(101);
      });
      sent.on('error', reject);
      sent.end();
    });
    expect(await upgrade).toBe(status);
  });

  test('to another protocol are ignored', async () => {
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': '' };
      const sent = request(`${server.url}/health/live`, { headers, agent: false }, (received) => {
        received.resume();
        resolve(received.statusCode);
      });
      sent.on('error', reject);
      sent.end();
    });
    expect(answer).toBe(200);
  });

  test('with a slash at the end are accepted', async () => {
    const socket = await openSocket(server.url, { path: '/graphql/' });
    socket.send(init({ Authorization: `Bearer ${key}` }));
    expect(await socket.next()).toEqual(ack);
    socket.socket.terminate();
  });
});

test('pings are sent, and a socket that does not answer them is closed', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const pingMs = 12_000;
  const pinging = await startServer({ pingMs });
  const [alive, silent] = [await openSocket(pinging.url), await openSocket(pinging.url, { autoPong: false })];
  for (const socket of [alive, silent]) {
    socket.send(init({ Authorization: `Bearer ${key}` }));
    expect(await socket.next()).toEqual(ack);
  }
  const pinged = once(alive.socket, 'ping');
  vi.advanceTimersByTime(pingMs);
  await pinged;
  /** What the socket sends after its answer to a ping is answered. */
  const isServed = async () => {
    alive.send({ type: 'ping' });
    expect(await alive.next()).toEqual({ type: 'pong' });
  };
  await isServed();
  vi.advanceTimersByTime(pingMs);
  expect((await silent.closed).code).toBe(1006);
  await isServed();
  alive.socket.terminate();
});

test('a client that reads nothing is disconnected', async () => {
  // Without an answer to a ping it would be disconnected too.
  const impatient = await startServer({ unreadTimeoutMs: 200, pingMs: 600_000 });
  const id = await createSession(gateway, key);
  for (let count = 0; count < 4; count += 1)
    await append(gateway, key, id, eventsOf(10, { data: { text: 'x'.repeat(100_000) } }));
  const socket = await connectSocket(impatient.url, key);
  socket.socket.pause();
  const query = `{ session(id: "${id}") { events(first: 40) { nodes { eventDataJson } } } }`;
  for (let count = 0; count < 6; count += 1) socket.send({ id: `${count}`, type: 'subscribe', payload: { query } });
  const { sockets } = gateway.dependencies.metrics;
  await expect.poll(async () => (await sockets.get()).values[0]?.value).toBe(0);
  socket.socket.terminate();
});

test('a gateway that stops closes its sockets with 1001', async () => {
  const stopping = await startServer({});
  const socket = await connectSocket(stopping.url, key);
  const stopped = stopping.stop(100);
  expect(await socket.closed).toEqual({ code: 1001, reason: 'the gateway is stopping; connect again' });
  await stopped;
});
