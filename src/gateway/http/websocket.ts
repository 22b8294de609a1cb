import { CLOSE_CODES } from '../../core/http/close-codes.ts';
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { DomainError } from '../../core/errors.ts';
import { MAX_BODY_BYTES } from '../../core/http/request-body.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import type { SocketPlace } from '../admission/socket-limits.ts';
import type { Sockets } from '../graphql/websocket.ts';
import type { Socket, UpgradeRequest } from '../graphql/websocket-connection.ts';
import { endAfter } from './linger.ts';
import { whileRead } from './send-response.ts';
import { SocketGuard } from './websocket-guard.ts';

const SUBPROTOCOL = 'graphql-transport-ws';

/** Close codes of RFC 6455, section 7.4.1. */
const GOING_AWAY = 1001;

interface UpgradeOptions extends SocketOptions {
  /** Undefined for a server without WebSockets: every upgrade is 404. */
  readonly sockets: Sockets | undefined;
  /** Makes the request that the socket keeps. */
  readonly upgradeOf: (incoming: IncomingMessage) => UpgradeRequest;
  /** What is wrong with the request. */
  readonly faultOf: (incoming: IncomingMessage) => string | undefined;
}

interface SocketOptions {
  /** A socket that reads nothing of what waits for it for this time is closed. */
  readonly unreadTimeoutMs: number;
  /** Interval of pings. A socket that has not answered the previous one is closed. */
  readonly pingMs: number;
  /** Maximum time in which a message must be complete. */
  readonly messageTimeoutMs: number;
  /** Maximum time in which a peer must close its side after the gateway has closed the other. */
  readonly lingerMs: number;
}

interface Upgrades {
  upgrade(incoming: IncomingMessage, stream: Duplex, head: Buffer): void;
  /** Refuses new sockets, and closes the others, at the latest after `graceMs`. */
  stop(graceMs: number): void;
}

/** Whether a request asks for a WebSocket. Other upgrades, such as to HTTP/2, are ignored (RFC 9110, section 7.8). */
export const isWebSocketUpgrade = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers.upgrade?.toLowerCase() === 'websocket';

/** WebSockets of `/graphql` (RFC 6455). */
export function createUpgrades({ sockets, upgradeOf, faultOf, ...options }: UpgradeOptions): Upgrades {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_BODY_BYTES,
    perMessageDeflate: false,
    // One message or ping in each turn of the event loop: others wait for one of them, not for all that have arrived.
    allowSynchronousEvents: false,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });
  let isStopping = false;
  const refuse = (refusal: Refusal, stream: Duplex) => endAfter(textOfAnswer(refusal), stream, options.lingerMs);

  function begin({ open, take }: Sockets, incoming: IncomingMessage, stream: Duplex, head: Buffer): void {
    const upgrade = upgradeOf(incoming);
    let place: SocketPlace;
    try {
      place = take(upgrade);
    } catch (error) {
      return refuse(toRefusal(error), stream);
    }
    stream.once('close', () => place.release());
    server.handleUpgrade(incoming, stream, head, (socket) => {
      const opened = new OpenSocket({ socket, stream, place, options });
      const closed = open(opened, upgrade);
      socket.once('close', (code, reason) => closed(code, reason.toString()));
    });
  }

  return {
    upgrade(incoming, stream, head) {
      stream.on('error', () => undefined);
      const fault = faultOf(incoming);
      if (fault !== undefined) refuse({ status: 400, message: fault }, stream);
      else if (!sockets || !sockets.isAt(incoming.url ?? ''))
        refuse({ status: 404, message: 'WebSockets are only at /graphql' }, stream);
      else if (isStopping) refuse({ status: 503, message: 'the gateway is stopping; connect again' }, stream);
      else begin(sockets, incoming, stream, head);
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

interface OpenSocketParts {
  readonly socket: WebSocket;
  readonly stream: Duplex;
  readonly place: SocketPlace;
  readonly options: SocketOptions;
}

const LARGE = 16 * 1024;

class OpenSocket implements Socket {
  readonly protocol: string;
  readonly #parts: OpenSocketParts;
  readonly #guard: SocketGuard;
  readonly #endPings: () => void;
  #isEnding = false;
  /** Number of reasons to read nothing. */
  #waits = 0;

  constructor(parts: OpenSocketParts) {
    const { socket, stream, place, options } = (this.#parts = parts);
    const { messageTimeoutMs } = options;
    this.protocol = socket.protocol;
    this.#guard = new SocketGuard({ place, messageTimeoutMs, end: ({ code, reason }) => this.close(code, reason) });
    this.#endPings = keepAlive(socket, options.pingMs);
    // Before the package, which keeps what arrives until its message is complete.
    stream.prependListener('data', this.#read);
    // The package has sent a close frame.
    socket.on('error', () => this.#end());
    socket.once('close', () => this.#stop());
  }

  admit(keyId: ApiKeyId): boolean {
    return this.#guard.admit(keyId);
  }

  close(code: number, reason: string): void {
    if (this.#isEnding) return;
    this.#parts.socket.close(code, shortened(reason));
    this.#end();
  }

  send(text: string): Promise<void> {
    const { socket, stream, options } = this.#parts;
    const sending = () =>
      new Promise<void>((resolve) => {
        // A failure closes the socket, which ends its operations.
        if (socket.readyState === socket.OPEN) socket.send(text, () => resolve());
        else resolve();
      });
    return whileRead(stream, options.unreadTimeoutMs, sending);
  }

  onMessage(listener: (text: string) => Promise<void>): void {
    this.#parts.socket.on('message', (data) => {
      if (this.#isEnding) return;
      const text = textOf(data);
      const read = listener(text).catch(() => this.close(CLOSE_CODES.INTERNAL_ERROR, 'internal error'));
      if (text.length >= LARGE || this.#parts.stream.writableNeedDrain) this.#pauseUntil(read);
    });
  }

  readonly #read = (chunk: Buffer): void => {
    // Node.js would read up to 32 chunks before it serves others.
    if (chunk.length >= LARGE) this.#pauseUntil(setImmediate());
    this.#guard.onData(chunk);
  };

  /** Reads nothing more until then, and until the client has read what is sent to it: each message can have an answer. */
  #pauseUntil(over: Promise<void>): void {
    this.#waits += 1;
    this.#parts.socket.pause();
    void over.then(() => {
      this.#waits -= 1;
      this.#resume();
    });
  }

  readonly #resume = (): void => {
    const { socket, stream } = this.#parts;
    if (this.#waits > 0) return;
    if (!stream.writableNeedDrain) socket.resume();
    else if (stream.listenerCount('drain', this.#resume) === 0) stream.once('drain', this.#resume);
  };

  /** Ends the connection after the close frame. What the client still sends is not read as messages. */
  #end(): void {
    this.#isEnding = true;
    this.#stop();
    endAfter(undefined, this.#parts.stream, this.#parts.options.lingerMs);
  }

  #stop(): void {
    this.#endPings();
    this.#guard.close();
  }
}

/** RFC 6455, section 5.5: a control frame has at most 125 bytes, two of them for the code. */
const MAX_REASON_BYTES = 123;

function shortened(reason: string): string {
  let short = reason.slice(0, MAX_REASON_BYTES);
  while (Buffer.byteLength(short) > MAX_REASON_BYTES) short = short.slice(0, -1);
  return short;
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString();
  return (Buffer.isBuffer(data) ? data : Buffer.from(data)).toString();
}

/** Sends pings, which keep proxies from closing an idle connection, and closes a socket that does not answer. */
function keepAlive(socket: WebSocket, pingMs: number): () => void {
  let isAlive = true;
  socket.on('pong', () => (isAlive = true));
  const pings = setInterval(() => {
    // The answer of a paused socket is not read.
    if (!isAlive && !socket.isPaused) socket.terminate();
    isAlive = false;
    socket.ping();
  }, pingMs).unref();
  return () => clearInterval(pings);
}

interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const toRefusal = (error: unknown): Refusal =>
  error instanceof DomainError ? error : { status: 500, message: 'internal error' };

function textOfAnswer({ status, message, headers }: Refusal): string {
  const body = JSON.stringify({ error: message });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
    ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
