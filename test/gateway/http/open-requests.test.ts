import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { answerJson, answerWith } from '../../../src/core/http/messages.ts';
import type { Gateway } from '../../../src/gateway/gateway.ts';
import { type RunningServer, type ServeOptions, serve } from '../../../src/gateway/http/server.ts';

/** No timer of idleness closes a connection whose peer waits for an answer. */

const IDLE_MS = 40;

const running: RunningServer[] = [];
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all(running.splice(0).map((server) => server.stop(0)));
});

/** A server that answers `/slow`, and continues `/stream`, when it is asked to. */
async function start(options: Partial<ServeOptions>) {
  const go = Promise.withResolvers<void>();
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('begun, ');
    await go.promise;
    yield Buffer.from('ended');
  }
  const gateway: Gateway = async ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === '/stream') return answerWith(parts());
    if (pathname === '/slow') await go.promise;
    return answerJson({ path: pathname });
  };
  const server = await serve(gateway, { host: '127.0.0.1', port: 0, ...options });
  running.push(server);
  return { server, go: go.resolve };
}

function open({ url }: RunningServer) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  sockets.add(socket);
  const closed = once(socket, 'close');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return {
    socket,
    closed,
    async until(part: string) {
      while (!text.includes(part)) await Promise.race([once(socket, 'data'), closed.then(() => Promise.reject(text))]);
    },
    text: async () => (await closed, text),
  };
}

/** Resolves when timers that began before, and end after the idle timeout, have ended: those of a later connection have. */
async function idlePasses(server: RunningServer): Promise<void> {
  await open(server).closed;
}

const get = (path: string, end = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${end}\r\n`;
const CLOSE = 'Connection: close\r\n';

const IMPATIENT = { idleTimeoutMs: IDLE_MS, unreadTimeoutMs: IDLE_MS, keepAliveTimeoutMs: 1 };

describe('the timers of an idle connection', () => {
  test('pass while an answer is made: it is received', async () => {
    const { server, go } = await start(IMPATIENT);
    const peer = open(server);
    peer.socket.write(get('/slow', CLOSE));
    await idlePasses(server);
    go();
    expect(await peer.text()).toContain('{"path":"/slow"}');
  });

  test('pass while the second of two pipelined requests is answered: it is received', async () => {
    const { server, go } = await start(IMPATIENT);
    const peer = open(server);
    peer.socket.write(get('/first') + get('/slow', CLOSE));
    await peer.until('"/first"');
    await idlePasses(server);
    go();
    expect(await peer.text()).toContain('{"path":"/slow"}');
  });

  test('pass while a stream is silent: it goes on', async () => {
    const { server, go } = await start(IMPATIENT);
    const peer = open(server);
    peer.socket.write(get('/stream', CLOSE));
    await peer.until('begun');
    await idlePasses(server);
    go();
    expect(await peer.text()).toMatch(/begun, [^]*ended/);
  });

  test('close a connection after its answer', async () => {
    const { server, go } = await start(IMPATIENT);
    go();
    const peer = open(server);
    peer.socket.write(get('/slow'));
    expect(await peer.text()).toContain('{"path":"/slow"}');
  });

  test('close a connection whose peer stops sending its body', async () => {
    const { server } = await start(IMPATIENT);
    const peer = open(server);
    peer.socket.write('POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf');
    expect(await peer.text()).toBe('');
  });

  test('pass for a request that arrives while the process is busy: it is answered', async () => {
    const { server } = await start({ keepAliveTimeoutMs: 1 });
    const peer = open(server);
    peer.socket.write(get('/one'));
    await peer.until('"/one"');
    peer.socket.write(get('/two', CLOSE));
    // Node.js adds a second to the timeout.
    const busyUntil = performance.now() + 1_500;
    while (performance.now() < busyUntil);
    expect(await peer.text()).toContain('{"path":"/two"}');
  });
});
