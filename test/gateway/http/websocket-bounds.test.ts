import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { type RunningServer, type ServeOptions, serve } from '../../../src/gateway/http/server.ts';
import { startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { type TestSocket, connectSocket, openSocket } from '../../support/fixtures/websockets.ts';
import { sampled } from '../../support/sample.ts';

/** What one client can send over WebSockets, and how many it can open. */

const gateway = useTestGateway();
let server: RunningServer;
let key: string;
beforeAll(async () => {
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  ({ key } = await gateway.createKey());
});
afterAll(() => server.stop(0));

const open: TestSocket[] = [];
afterEach(() => {
  for (const { socket } of open.splice(0)) socket.terminate();
});

async function newSocket(...options: Parameters<typeof openSocket>): Promise<TestSocket> {
  const socket = await openSocket(...options);
  open.push(socket);
  return socket;
}

async function admitted({ url } = server): Promise<TestSocket> {
  const socket = await connectSocket(url, key);
  open.push(socket);
  return socket;
}

type GatewayOptions = NonNullable<Parameters<typeof startTestGateway>[1]>;

async function startServer(options: GatewayOptions, env = {}, times: Partial<ServeOptions> = {}) {
  const other = await startTestGateway(env, { beside: gateway, ...options });
  const started = await serve(createGateway(other.dependencies), { host: '127.0.0.1', port: 0, ...times });
  onTestFinished(async () => {
    await started.stop(0);
    await other.close();
  });
  const openNow = async () => (await other.dependencies.metrics.sockets.get()).values[0]?.value;
  return { ...started, openNow };
}

/** Asks for a WebSocket with a client that closes nothing. */
function upgrade(url: string, headers: readonly string[]): Socket {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  const head = ['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', ...headers];
  socket.write(`GET /graphql HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
  return socket;
}

const init = () => ({ type: 'connection_init', payload: { Authorization: `Bearer ${key}` } });
const FOLLOWED = 'subscription { sessionChanged { title } }';
const textOf = (length: number) => 'x'.repeat(length);
const ping = (length: number) => ({ type: 'ping', payload: { text: textOf(length) } });

describe('before connection_init is acknowledged', () => {
  sampled(test, 4).each<[string, number, (socket: TestSocket) => void]>([
    ['1009: more than 16 KiB', 1009, ({ send }) => send({ ...init(), more: textOf(16 * 1024) })],
    ['1009: 4 MB of a ping', 1009, ({ send }) => send(ping(4_000_000))],
    ['1009: a fragment of 20 KB', 1009, ({ socket }) => socket.send(textOf(20_000), { fin: false })],
    ['1009: fragments without end', 1009, ({ socket }) => manyFragments(socket)],
    ['4401: a ping', 4401, ({ send }) => send({ type: 'ping' })],
    ['4401: a pong', 4401, ({ send }) => send({ type: 'pong' })],
    ['4401: the end of an operation', 4401, ({ send }) => send({ id: '1', type: 'complete' })],
    ['4401: a ping beside connection_init', 4401, ({ send }) => [init(), { type: 'ping' }].forEach(send)],
    ['4401: a ping frame', 4401, ({ socket }) => socket.ping('x')],
    ['4429: two connection_init', 4429, ({ send }) => [init(), init()].forEach(send)],
    ['1003: bytes', 1003, ({ socket }) => socket.send(Buffer.from(JSON.stringify(init())))],
  ])('%s', async (_name, code, act) => {
    const socket = await newSocket(server.url);
    act(socket);
    expect(await socket.closed).toMatchObject({ code });
  });

  function manyFragments(socket: TestSocket['socket']): void {
    for (let count = 0; count < 10_000; count += 1) socket.send('x', { fin: false });
  }

  test('16 KiB of connection_init are accepted', async () => {
    const socket = await newSocket(server.url);
    const text = JSON.stringify({ ...init(), more: '' });
    socket.send(text.replace('""', `"${textOf(16 * 1024 - text.length - 8)}"`));
    expect(await socket.next()).toEqual({ type: 'connection_ack' });
  });

  test('at the time limit a socket is closed, and one that does not close its side is disconnected', async () => {
    const impatient = await startServer({ timing: { socketInitMs: 50 } }, {}, { lingerMs: 50 });
    const polite = await newSocket(impatient.url);
    polite.socket.send('{', { fin: false });
    expect(await polite.closed).toEqual({ code: 4408, reason: 'Connection initialisation timeout' });
    const rude = upgrade(impatient.url, [
      'Sec-WebSocket-Protocol: graphql-transport-ws',
      `Sec-WebSocket-Key: ${textOf(22)}==`,
    ]);
    await once(rude.resume(), 'end');
    await expect.poll(impatient.openNow).toBe(0);
  });
});

describe('a client address', () => {
  const tooMany = 'Unexpected server response: 429';

  test('has a limit of sockets without a key, and of all; a closed one no longer counts', async () => {
    const bounded = await startServer({ bounds: { waitingSocketsOfClient: 2, socketsOfClient: 3 } });
    const [first, second] = [await newSocket(bounded.url), await newSocket(bounded.url)];
    await expect(newSocket(bounded.url)).rejects.toThrow(tooMany);
    first.send(init());
    await first.next();
    const third = await newSocket(bounded.url);
    second.socket.close();
    await second.closed;
    await expect.poll(bounded.openNow).toBe(2);
    const last = await admitted(bounded);
    third.send(init());
    await third.next();
    await expect(newSocket(bounded.url)).rejects.toThrow(tooMany);
    last.socket.close();
    await last.closed;
    await expect.poll(bounded.openNow).toBe(2);
    await newSocket(bounded.url);
  });

  test('is that of the client behind a trusted proxy, and refused upgrades do not count', async () => {
    const bounded = await startServer({ bounds: { waitingSocketsOfClient: 1 } }, { TRUSTED_PROXIES: '127.0.0.1' });
    const from = (address: string) => newSocket(bounded.url, { headers: { 'X-Forwarded-For': address } });
    const [refused] = await once(upgrade(bounded.url, ['Sec-WebSocket-Key: x', 'X-Forwarded-For: 192.0.2.1']), 'data');
    expect(String(refused)).toContain('HTTP/1.1 400');
    await from('192.0.2.1');
    await expect(from('192.0.2.1')).rejects.toThrow(tooMany);
    await expect(from('203.0.113.9, 192.0.2.1')).rejects.toThrow(tooMany);
    await from('2001:db8::1');
    await expect(from('2001:db8::2')).rejects.toThrow(tooMany);
    await from('192.0.2.2');
    await newSocket(bounded.url);
  });
});

describe('messages of an admitted socket', () => {
  test('1008: one that is not complete in time, whatever comes between', async () => {
    const impatient = await startServer({}, {}, { messageTimeoutMs: 100 });
    const [slow, other] = [await admitted(impatient), await admitted(impatient)];
    slow.socket.send('{"type":', { fin: false });
    slow.socket.ping();
    expect(await slow.closed).toEqual({ code: 1008, reason: 'a message must be complete within 0.1 s' });
    other.socket.send('{"type":', { fin: false });
    other.socket.send('"ping"}', { fin: true });
    expect(await other.next()).toEqual({ type: 'pong' });
  });

  test('4429: too many unfinished bytes of a key; 1013: of all keys; complete messages do not count', async () => {
    const bounded = await startServer({ bounds: { unfinishedBytesOfKey: 100_000, unfinishedBytes: 150_000 } });
    const [one, other] = [await admitted(bounded), await admitted(bounded)];
    for (let count = 0; count < 20; count += 1) {
      one.send({ id: '1', type: 'subscribe', payload: { query: '', variables: { text: textOf(50_000) } } });
      expect(await one.next()).toMatchObject({ id: '1', type: 'error' });
    }
    one.socket.send(textOf(60_000), { fin: false });
    other.socket.send(textOf(60_000), { fin: false });
    const { code } = await Promise.race([one.closed, other.closed]);
    expect(code).toBe(4429);
    const another = await connectSocket(bounded.url, (await gateway.createKey()).key);
    open.push(another);
    const remaining = one.socket.readyState === one.socket.OPEN ? one : other;
    remaining.socket.send(textOf(20_000), { fin: false });
    remaining.socket.ping();
    await once(remaining.socket, 'pong');
    another.socket.send(textOf(90_000), { fin: false });
    expect(await another.closed).toMatchObject({ code: 1013 });
  });

  test('4400: a message that is no operation, or an id, that is too long', async () => {
    const refused = { code: 4400, reason: 'a message that is no operation has at most 16384 characters' };
    for (const message of [ping(16 * 1024), { type: 'complete', id: textOf(16 * 1024) }]) {
      const socket = await admitted();
      socket.send(message);
      expect(await socket.closed).toEqual(refused);
    }
    const socket = await admitted();
    socket.send({ id: textOf(1_001), type: 'subscribe', payload: { query: '{ __typename }' } });
    expect(await socket.closed).toEqual({ code: 4400, reason: 'id: must be at most 1000 characters' });
  });

  test('4400: more members than a body can have; a large message does not hold up that a later one is refused', async () => {
    const large = (members: number) =>
      `{"id":"1","type":"subscribe","payload":{"query":"{ __typename }","variables":{"list":[${'0,'.repeat(members)}0]}}}`;
    const [wide, allowed] = [await admitted(), await admitted()];
    wide.send(large(500_000));
    expect(await wide.closed).toEqual({ code: 4400, reason: expect.stringContaining('at most 400000') });
    allowed.send(large(100_000));
    expect(await allowed.next()).toMatchObject({ id: '1', type: 'next' });
    allowed.send(large(100_000));
    allowed.send('{');
    expect(await allowed.closed).toMatchObject({ code: 4400 });
  });

  test('messages are handled in their order, also after one that takes long to read', async () => {
    const socket = await admitted();
    const payload = { query: '{ __typename }', variables: { list: Array<number>(100_000).fill(0) } };
    socket.send({ id: 'ended', type: 'subscribe', payload });
    socket.send({ id: 'ended', type: 'complete' });
    socket.send({ id: 'next', type: 'subscribe', payload });
    expect(await socket.next()).toMatchObject({ id: 'next', payload: { data: { __typename: 'Query' } } });
  });

  test('a reason that repeats a long id is shortened, not an internal error', async () => {
    const socket = await admitted();
    const query = FOLLOWED;
    for (let count = 0; count < 2; count += 1)
      socket.send({ id: '€'.repeat(1_000), type: 'subscribe', payload: { query } });
    expect(await socket.closed).toEqual({ code: 4409, reason: expect.stringMatching(/^Subscriber for €{35,36}$/) });
  });

  test.each<[string, 'message' | 'pong', (socket: TestSocket) => void]>([
    ['messages', 'message', ({ send }) => send({ type: 'ping' })],
    ['frames', 'pong', ({ socket }) => socket.ping()],
  ])('others are served between two of many pings that are %s', async (_name, answer, sendPing) => {
    const socket = await admitted();
    const pings = 500;
    let answers = 0;
    const all = new Promise<void>((resolve) => {
      socket.socket.on(answer, () => {
        answers += 1;
        if (answers === pings) resolve();
      });
    });
    let turns = 0;
    const turn = () => {
      turns += 1;
      if (answers < pings) setImmediate(turn);
    };
    for (let count = 0; count < pings; count += 1) sendPing(socket);
    turn();
    await all;
    expect(turns).toBeGreaterThanOrEqual(pings);
  });

  test('a client that reads no answers is not read: its pings do not fill the memory', async () => {
    const impatient = await startServer({}, {}, { unreadTimeoutMs: 400, pingMs: 600_000 });
    const socket = await admitted(impatient);
    socket.socket.pause();
    const text = JSON.stringify(ping(16_000));
    const total = 4_000;
    for (let count = 0; count < total; count += 1) socket.socket.send(text);
    let waiting = Infinity;
    const isOpen = () => {
      if (socket.socket.readyState === socket.socket.OPEN) waiting = Math.min(waiting, socket.socket.bufferedAmount);
      return impatient.openNow();
    };
    await expect.poll(isOpen).toBe(0);
    // The rest is in the buffers of the kernel.
    expect(waiting).toBeGreaterThan((total * text.length) / 2);
  });
});
