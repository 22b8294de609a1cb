import { STATUS_CODES, type IncomingMessage } from 'node:http';
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { MAX_BODY_BYTES } from '../../core/http/request-body.ts';
import type { OpenSocket } from '../graphql/websocket.ts';
import type { Socket, UpgradeRequest } from '../graphql/websocket-connection.ts';
import { whileRead } from './send-response.ts';

const SUBPROTOCOL = 'graphql-transport-ws';
const PATH = /^\/graphql\/?(?:\?|$)/;

/** Close codes of RFC 6455, section 7.4.1. */
const GOING_AWAY = 1001;

export interface UpgradeOptions {
  /** Undefined for a server without WebSockets: every upgrade is 404. */
  readonly open: OpenSocket | undefined;
  /** Makes the request that the socket keeps. */
  readonly upgradeOf: (incoming: IncomingMessage) => UpgradeRequest;
  /** What is wrong with the request. */
  readonly faultOf: (incoming: IncomingMessage) => string | undefined;
  /** A socket that reads nothing of what waits for it for this time is closed. */
  readonly unreadTimeoutMs: number;
  /** Interval of pings. A socket that has not answered the previous one is closed. */
  readonly pingMs: number;
}

export interface Upgrades {
  upgrade(incoming: IncomingMessage, stream: Duplex, head: Buffer): void;
  /** Refuses new sockets, and closes the others, at the latest after `graceMs`. */
  stop(graceMs: number): void;
}

/** Whether a request asks for a WebSocket. Other upgrades, such as to HTTP/2, are ignored (RFC 9110, section 7.8). */
export function isWebSocketUpgrade({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** WebSockets of `/graphql` (RFC 6455). */
export function createUpgrades({ open, upgradeOf, faultOf, unreadTimeoutMs, pingMs }: UpgradeOptions): Upgrades {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_BODY_BYTES,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });
  let isStopping = false;

  function begin(socket: WebSocket, stream: Duplex, incoming: IncomingMessage, opened: OpenSocket): void {
    // The event `close` follows.
    socket.on('error', () => undefined);
    const stopPings = keepAlive(socket, pingMs);
    const closed = opened(socketOf(socket, stream, unreadTimeoutMs), upgradeOf(incoming));
    socket.once('close', (code, reason) => {
      stopPings();
      closed(code, reason.toString());
    });
  }

  return {
    upgrade(incoming, stream, head) {
      stream.on('error', () => undefined);
      const fault = faultOf(incoming);
      if (fault !== undefined) refuse(stream, 400, fault);
      else if (!open || !PATH.test(incoming.url ?? '')) refuse(stream, 404, 'WebSockets are only at /graphql');
      else if (isStopping) refuse(stream, 503, 'the gateway is stopping; connect again');
      else server.handleUpgrade(incoming, stream, head, (socket) => begin(socket, stream, incoming, open));
    },
    stop(graceMs) {
      isStopping = true;
      for (const socket of server.clients) {
        socket.close(GOING_AWAY, 'the gateway is stopping; connect again');
        setTimeout(() => socket.terminate(), graceMs).unref();
      }
    },
  };
}

function socketOf(socket: WebSocket, stream: Duplex, unreadTimeoutMs: number): Socket {
  return {
    protocol: socket.protocol,
    close: (code, reason) => socket.close(code, reason),
    send: (text) =>
      whileRead(
        stream,
        unreadTimeoutMs,
        () =>
          new Promise<void>((resolve) => {
            // A failure closes the socket, which ends its operations.
            if (socket.readyState === socket.OPEN) socket.send(text, () => resolve());
            else resolve();
          }),
      ),
    onMessage: (listener) => {
      socket.on('message', (data) => {
        listener(textOf(data)).catch(() => socket.close(INTERNAL_ERROR, 'internal error'));
      });
    },
  };
}

const INTERNAL_ERROR = 4500;

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString();
  return (Buffer.isBuffer(data) ? data : Buffer.from(data)).toString();
}

/** Sends pings, which keep proxies from closing an idle connection, and closes a socket that does not answer. */
function keepAlive(socket: WebSocket, pingMs: number): () => void {
  let isAlive = true;
  socket.on('pong', () => (isAlive = true));
  const pings = setInterval(() => {
    if (!isAlive) socket.terminate();
    isAlive = false;
    socket.ping();
  }, pingMs).unref();
  return () => clearInterval(pings);
}

function refuse(stream: Duplex, status: number, error: string): void {
  const body = JSON.stringify({ error });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
  ];
  stream.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
