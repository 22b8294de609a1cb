import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
  createServer,
} from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type HttpAnswer, type HttpHeaders, type HttpRequest, answerJson } from '../../core/http/messages.ts';
import type { Gateway } from '../gateway.ts';
import { endAfter } from './linger.ts';
import { PipelinedRequests } from './pipelined-requests.ts';
import { send, sendStream } from './send-response.ts';
import { createUpgrades, isWebSocketUpgrade } from './websocket.ts';

/** An HTTP server for the gateway, with timeouts for slow and idle peers. */
export interface RunningServer {
  readonly url: string;
  readonly bounds: {
    readonly headersTimeoutMs: number;
    readonly requestTimeoutMs: number;
    readonly idleTimeoutMs: number;
    readonly unreadTimeoutMs: number;
    readonly lingerMs: number;
  };
  /** Stops accepting connections, waits at most `graceMs` for running requests, then closes all connections. */
  stop(graceMs: number): Promise<void>;
}

export interface ServeOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Maximum times for receiving the headers and the whole request. A slower peer gets 408 and is disconnected. */
  readonly headersTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  /** A connection without any traffic for this time is closed, unless its peer waits for an answer. */
  readonly idleTimeoutMs?: number;
  /** A peer that reads nothing of its answer for this time is disconnected. */
  readonly unreadTimeoutMs?: number;
  /** Interval of the pings of a WebSocket. */
  readonly pingMs?: number;
  /** Maximum time in which a message of a WebSocket must be complete. */
  readonly messageTimeoutMs?: number;
  /** A keep-alive connection is closed when no request arrives for this time. The time of proxies should be shorter: they close first. */
  readonly keepAliveTimeoutMs?: number;
  /** How long a peer whose headers or body were refused can continue to send. A reset at once could prevent it from reading the answer. */
  readonly lingerMs?: number;
}

/** How long requests on open connections are still accepted while the server stops. */
const LAST_REQUESTS_MS = 1_000;

export async function serve(gateway: Gateway, options: ServeOptions): Promise<RunningServer> {
  const { host, port, lingerMs = 2_000, unreadTimeoutMs = 10_000 } = options;
  const { headersTimeoutMs = 10_000, requestTimeoutMs = 30_000, idleTimeoutMs = 60_000 } = options;
  const { keepAliveTimeoutMs = 75_000, pingMs = 12_000, messageTimeoutMs = 10_000 } = options;
  const connectionsCheckingInterval = Math.min(2_000, headersTimeoutMs / 2);
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval,
    shouldUpgradeCallback: isWebSocketUpgrade,
  });
  server.setTimeout(idleTimeoutMs);
  const upgradeOf = ({ headers, socket: { remoteAddress = '' } }: IncomingMessage) => ({
    headers: new NodeHeaders(headers),
    peerAddress: remoteAddress,
  });
  const socketTimes = { unreadTimeoutMs, pingMs, messageTimeoutMs, lingerMs };
  const upgrades = createUpgrades({ sockets: gateway.sockets, upgradeOf, faultOf, ...socketTimes });
  server.on('upgrade', (incoming, stream, head) => upgrades.upgrade(incoming, stream, head));
  let isStopping = false;
  const begin = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (isStopping) outgoing.setHeader('Connection', 'close');
    void answer(gateway, incoming, outgoing, { lingerMs, unreadTimeoutMs });
  };
  const requests = new PipelinedRequests(begin, { requestTimeoutMs });
  server.on('request', (incoming, outgoing) => requests.add(incoming, outgoing));
  server.on('timeout', closeIdle);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const isHeldBack = error.code === REQUEST_TIMEOUT && requests.isHeldBack(socket);
    if (!isHeldBack) refuse(error, socket, lingerMs);
  });
  server.listen(port, host);
  await once(server, 'listening');
  // A connection that cannot be accepted, because the process has no descriptor left, is refused.
  server.on('error', () => undefined);
  const stop = (graceMs: number) => {
    isStopping = true;
    const sockets = setTimeout(() => upgrades.stop(graceMs), Math.min(LAST_REQUESTS_MS, graceMs));
    return close(server, graceMs).finally(() => clearTimeout(sockets));
  };
  return {
    url: urlOf(server),
    bounds: {
      headersTimeoutMs: server.headersTimeout,
      requestTimeoutMs: server.requestTimeout,
      idleTimeoutMs: server.timeout,
      unreadTimeoutMs,
      lingerMs,
    },
    stop,
  };
}

/** A connection with the answer that is being made or sent. */
type Connection = Duplex & { readonly _httpMessage?: ServerResponse | null };

/**
 * Closes a connection on which nothing has moved for too long, whatever timer of Node.js says so, unless its peer waits for an answer, or a
 * request has arrived while the process was busy: timers run before what has arrived is read, and the connection would be reset.
 */
function closeIdle(socket: Socket): void {
  const { bytesRead } = socket;
  setImmediate(() => {
    if (socket.bytesRead === bytesRead && !isAwaited(socket)) socket.destroy();
  });
}

/** Whether a request has arrived completely, and all that was sent of its answer has been read. */
const isAwaited = ({ _httpMessage: response, writableLength }: Connection): boolean =>
  response?.req.complete === true && writableLength === 0;

/** A URL that can be opened in a browser: for a server on all addresses, that of the loopback address. */
function urlOf(server: Server): string {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('A TCP server has a port.');
  const host =
    { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[bound.address] ??
    (bound.family === 'IPv6' ? `[${bound.address}]` : bound.address);
  return `http://${host}:${bound.port}`;
}

/**
 * Resolves when the last connection is closed. A connection closes after its next answer; an idle one a little later,
 * because a request may be on the way.
 */
async function close(server: Server, graceMs: number): Promise<void> {
  // The method of `net.Server`, because that of `http.Server` would close idle connections at once.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const idle = setTimeout(() => server.closeIdleConnections(), Math.min(LAST_REQUESTS_MS, graceMs));
  const deadline = setTimeout(() => server.close().closeAllConnections(), graceMs);
  await closed;
  clearTimeout(idle);
  clearTimeout(deadline);
  // Also stops the timers of the server.
  server.close();
}

async function answer(
  gateway: Gateway,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { lingerMs, unreadTimeoutMs }: { readonly lingerMs: number; readonly unreadTimeoutMs: number },
): Promise<void> {
  let onClose: HttpAnswer['onClose'];
  try {
    const url = addressOf(incoming);
    const fault = faultOf(incoming) ?? (url === undefined ? 'the request target is not a valid URL' : undefined);
    const result =
      url === undefined || fault !== undefined
        ? unanswerable(incoming, fault)
        : await gateway(new NodeRequest(incoming, outgoing, url));
    onClose = result.onClose;
    // When the body was not read completely, the connection is closed after the answer.
    if (!incoming.complete) outgoing.setHeader('Connection', 'close');
    const { body } = result;
    if (body !== null && typeof body === 'object' && Symbol.asyncIterator in body) {
      await sendStream(outgoing, result, body, unreadTimeoutMs);
    } else {
      await send(incoming, outgoing, { ...result, body }, { lingerMs, unreadTimeoutMs });
    }
  } catch {
    // The gateway answers all failures itself. Errors here come from peers that disconnected.
    outgoing.destroy();
  } finally {
    onClose?.();
  }
}

/** A request of the Node.js server. Expensive properties that are rarely used are created lazily. */
class NodeRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HttpHeaders;
  readonly peerAddress: string;
  declare slot?: HttpRequest['slot'];
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  #aborted: AbortController | undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, url: string) {
    this.method = incoming.method ?? 'GET';
    this.url = url;
    this.headers = new NodeHeaders(incoming.headers);
    // Undefined when the peer has already disconnected.
    this.peerAddress = incoming.socket.remoteAddress ?? '';
    this.#incoming = incoming;
    this.#outgoing = outgoing;
  }

  get signal(): AbortSignal {
    if (!this.#aborted) {
      const aborted = (this.#aborted = new AbortController());
      const outgoing = this.#outgoing;
      if (outgoing.destroyed) aborted.abort();
      // Aborting allocates an exception, which is expensive, so a completely sent answer does not abort.
      else outgoing.once('close', () => outgoing.writableFinished || aborted.abort());
    }
    return this.#aborted.signal;
  }

  get hasArrived(): boolean {
    return this.#incoming.complete;
  }

  get body(): AsyncIterable<Uint8Array> | null {
    return this.#hasBody ? chunksOf(this.#incoming, this) : null;
  }

  takeArrived(): Uint8Array | undefined {
    const incoming = this.#incoming;
    if (!incoming.complete || incoming.readableLength > SMALL_BODY_BYTES || !this.#hasBody) return undefined;
    const bytes: Uint8Array | null = incoming.read();
    return bytes ?? undefined;
  }

  get #hasBody(): boolean {
    const { 'content-length': length, 'transfer-encoding': encoding } = this.#incoming.headers;
    return this.method !== 'GET' && this.method !== 'HEAD' && (length ?? encoding) !== undefined;
  }
}

/** Most bodies are smaller, and arrive before they are read. The chunks of a larger one would be copied to one. */
const SMALL_BODY_BYTES = 16 * 1024;

/**
 * Yields the body as it arrives. When the reader stops early, the connection stays open for the answer. Most bodies
 * have already arrived and are yielded at once; the iterator of the stream itself would take several iterations of the
 * event loop and listen to five events.
 */
async function* chunksOf(
  incoming: IncomingMessage,
  request: Pick<HttpRequest, 'slot'>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const change = () => changeOf(incoming);
  for (;;) {
    const chunk: Uint8Array | null = incoming.read();
    if (chunk !== null) yield chunk;
    else if (incoming.complete) return;
    else if (incoming.destroyed) throw new Error('the peer disconnected');
    else await (request.slot?.waiting(change) ?? change());
  }
}

/** Resolves when more data has arrived, or the stream has ended. */
const changeOf = (incoming: IncomingMessage): Promise<void> =>
  new Promise((resolve) => {
    const events = ['readable', 'error', 'close'] as const;
    const end = () => {
      for (const event of events) incoming.off(event, end);
      resolve();
    };
    for (const event of events) incoming.on(event, end);
  });

class NodeHeaders implements HttpHeaders {
  readonly #fields: IncomingHttpHeaders;

  constructor(fields: IncomingHttpHeaders) {
    this.#fields = fields;
  }

  get(name: string): string | null {
    const value = this.#fields[name.toLowerCase()];
    return value === undefined ? null : String(value);
  }

  has(name: string): boolean {
    return this.#fields[name.toLowerCase()] !== undefined;
  }

  keys(): Iterable<string> {
    return Object.keys(this.#fields);
  }
}

/** The URL of a request; undefined when the request target is not a URL, or the method is not supported, such as TRACE. */
function addressOf({ method = 'GET', url = '/' }: IncomingMessage): string | undefined {
  // Only the path and the query are used. The Host header is ignored, because URLs are built from the configuration.
  const target = url.startsWith('/') ? `http://gateway${url}` : url;
  return !URL.canParse(target) || !/^https?:/i.test(target) || isForbidden(method) ? undefined : target;
}

/** Methods that the Fetch standard forbids. */
const isForbidden = (method: string): boolean => /^(?:CONNECT|TRACE|TRACK)$/i.test(method);

/** A segment that is removed when a path is normalized, or a character that becomes a slash. */
const CHANGING_PATH = /[\\\t]|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

/** What a proxy could understand otherwise, and so apply its rules to another path, host or key. */
function faultOf({ url = '/', rawHeaders }: IncomingMessage): string | undefined {
  // RFC 9112, section 3.2: a fragment is not part of any form of the request target.
  if (url.includes('#')) return 'the request target must not contain a fragment (#)';
  const path = /^[^?#]*/.exec(url)?.[0] ?? '';
  if (CHANGING_PATH.test(path)) return 'the path must not contain . or .. as a segment, or backslashes';
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && /^host$/i.test(name)) hosts += 1;
    else if (name.length === 13 && /^authorization$/i.test(name)) authorizations += 1;
  }
  if (hosts > 1) return 'the header Host must be given once';
  return authorizations > 1 ? 'the header Authorization must be given once' : undefined;
}

function unanswerable({ method = '' }: IncomingMessage, fault = ''): HttpAnswer {
  const [status, error] = isForbidden(method) ? [405, `${method} is not allowed here`] : [400, fault];
  return answerJson(
    { error },
    {
      status,
      headers: {
        'X-Request-Id': randomUUID(),
        ...(status === 405 && { Allow: 'GET, HEAD, POST, PUT, PATCH, DELETE' }),
      },
    },
  );
}

const REQUEST_TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';
const FAILURES: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the headers of the request must be at most 16 KiB'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'the chunk extensions of the request must be at most 16 KiB'],
  [REQUEST_TIMEOUT]: [408, 'the request took too long to arrive'],
};

/** Answers a malformed or slow request in the common error format, and closes the connection. */
function refuse(error: NodeJS.ErrnoException, socket: Connection, lingerMs: number): void {
  if (!socket.writable || error.code === 'ECONNRESET' || socket._httpMessage?.headersSent) {
    socket.destroy();
    return;
  }
  const [status, message] = FAILURES[error.code ?? ''] ?? [400, 'the request is not well-formed HTTP'];
  const body = JSON.stringify({ error: message });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
  ];
  endAfter(`${head.join('\r\n')}\r\n\r\n${body}`, socket, lingerMs);
}
