import { once } from 'node:events';
import { type Socket as TcpSocket, connect } from 'node:net';
import { WebSocket } from 'ws';
import type { WideRequest } from './contract.ts';
import { placesOf, shapeOfValue } from './places.ts';

/** What clients of WebSockets send: before and after they are admitted. */

const PATH = '/graphql';
const PROTOCOL = 'graphql-transport-ws';

export async function openSocket(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url.replace(/^http/, 'ws') + PATH, PROTOCOL);
  socket.on('error', () => undefined);
  await Promise.race([once(socket, 'open'), once(socket, 'close')]);
  return socket;
}

export async function admittedSocket(url: string, key: string): Promise<WebSocket> {
  const socket = await openSocket(url);
  socket.send(JSON.stringify({ type: 'connection_init', payload: { Authorization: `Bearer ${key}` } }));
  await Promise.race([once(socket, 'message'), once(socket, 'close')]);
  return socket;
}

/** Sends messages, and waits until the gateway has read them or closes the socket. */
export async function sendAll(socket: WebSocket, messages: Iterable<string>): Promise<void> {
  const closed = once(socket, 'close');
  const last = new Promise<void>((resolve) =>
    socket.on('message', (data: Buffer) => {
      if (data.includes('"last"')) resolve();
    }),
  );
  for (const message of messages) socket.send(message);
  socket.send('{"type":"ping","payload":{"id":"last"}}');
  if (socket.readyState !== socket.CLOSED) await Promise.race([last, closed]);
  socket.terminate();
}

/** A socket that never ends the message that it begins. */
export async function openUnfinished(url: string, bytes: number): Promise<TcpSocket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  const lines = [
    `GET ${PATH} HTTP/1.1`,
    `Host: ${hostname}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    `Sec-WebSocket-Protocol: ${PROTOCOL}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  // A text frame that is not the last of its message, with an empty mask.
  const head = Buffer.from([0x01, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt32BE(bytes, 6);
  socket.write(head);
  await new Promise<void>((resolve) => {
    socket.once('close', resolve);
    socket.write(Buffer.alloc(bytes, ' '), () => resolve());
  });
  return socket;
}

/** The messages of the protocol. */
const MESSAGES = {
  init: { type: 'connection_init', payload: { Authorization: 'Bearer a' } },
  ping: { type: 'ping', payload: { a: 1 } },
  pong: { type: 'pong', payload: { a: 1 } },
  complete: { type: 'complete', id: 'a' },
  subscribe: {
    type: 'subscribe',
    id: 'a',
    payload: { query: 'query a($a: Int) { __typename }', variables: { a: 1 }, operationName: 'a', extensions: {} },
  },
  unknown: { type: 'a', id: 'a', payload: {} },
};

export const socketMessages = (): Pick<WideRequest, 'operation' | 'places'>[] =>
  Object.entries(MESSAGES).map(([name, message]) => ({
    operation: name,
    places: () => placesOf(message, shapeOfValue(message)),
  }));

const COUNT = 20_000;

/** Many small messages. */
export const manyMessages: ReadonlyMap<string, () => Iterable<string>> = new Map(
  Object.entries(MESSAGES).map(([name, message]) => [
    name,
    () => Array<string>(name === 'subscribe' ? 2_000 : COUNT).fill(JSON.stringify(message)),
  ]),
);
