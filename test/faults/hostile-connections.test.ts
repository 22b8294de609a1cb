import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import { useOwnGateway } from '../support/fixtures/gateway.ts';

/** Shorter than the default timeouts of the server, which test/gateway/http/server.test.ts checks. */
const BOUNDS = { headersTimeoutMs: 1_000, requestTimeoutMs: 2_000 };
const EACH = 100;

const gateway = useOwnGateway();
let server: RunningServer;
let key: string;
const sockets: Socket[] = [];
beforeAll(async () => {
  ({ key } = await gateway.createKey());
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0, ...BOUNDS });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server.stop(100);
});

/** Opens a connection and sends only this text. `answer` is everything that the server sends until it closes the connection. */
async function open(said: string): Promise<{ answer: Promise<string> }> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  let text = '';
  socket.on('error', () => undefined).on('data', (chunk: Buffer) => (text += chunk.toString()));
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  socket.write(said);
  return { answer: closed.then(() => text) };
}

const asked = (status: number) => async () => {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ query: '{ viewer { role } }' });
  expect((await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })).status).toBe(status);
};

test('R3: 300 connections that send nothing, half of their headers or half of their body are all closed by the server, and other requests are served', async () => {
  const head = ['POST /graphql HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`, 'Content-Type: application/json'];
  const halfOfHeaders = head.join('\r\n');
  const halfOfBody = [...head, 'Content-Length: 100', '', '{"query":'].join('\r\n');
  const opened = await Promise.all(
    ['', halfOfHeaders, halfOfBody].flatMap((said) => Array.from({ length: EACH }, () => open(said))),
  );
  await Promise.all(Array.from({ length: 20 }, asked(200)));
  const answers = await Promise.all(opened.map(({ answer }) => answer));
  const statuses = new Map<string, number>();
  for (const answer of answers) {
    const status = answer.split('\r\n', 1)[0] ?? '';
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  expect(statuses).toEqual(new Map([['HTTP/1.1 408 Request Timeout', 3 * EACH]]));
  await asked(200)();
});
