import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES, createServer } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Request } from '@whatwg-node/fetch';
import { invalid } from '../core/errors.ts';
import type { Gateway } from './gateway.ts';

/** Puts the gateway on a port, with bounds that keep slow and idle peers from holding it. */
export interface RunningServer {
  readonly url: string;
  readonly bounds: { readonly headersTimeoutMs: number; readonly requestTimeoutMs: number };
  /** Stops accepting, lets running requests finish for at most `graceMs`, then closes what is left. */
  stop(graceMs: number): Promise<void>;
}

export interface ServeOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** A peer whose headers, or whole request, take longer is answered 408 and closed. */
  readonly headersTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
}

/** While stopping, requests that are already under way on open connections still come in for at most this long. */
const LAST_REQUESTS_MS = 1_000;
/** A peer whose body was refused may go on sending for this long, or it would be reset before it has read the answer. */
const LINGER_MS = 2_000;

export async function serve(gateway: Gateway, options: ServeOptions): Promise<RunningServer> {
  const { host, port, headersTimeoutMs = 10_000, requestTimeoutMs = 30_000 } = options;
  const connectionsCheckingInterval = Math.min(2_000, headersTimeoutMs / 2);
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval,
  });
  let isStopping = false;
  server.on('request', (incoming, outgoing) => {
    if (isStopping) outgoing.setHeader('Connection', 'close');
    void answer(gateway, incoming, outgoing);
  });
  server.on('clientError', refuse);
  server.listen(port, host);
  await once(server, 'listening');
  const stop = (graceMs: number) => {
    isStopping = true;
    return close(server, graceMs);
  };
  return {
    url: urlOf(server),
    bounds: { headersTimeoutMs: server.headersTimeout, requestTimeoutMs: server.requestTimeout },
    stop,
  };
}

/** What a person can open: a server on all addresses is also at the loopback one. */
function urlOf(server: Server): string {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('A TCP server has a port.');
  const host =
    { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[bound.address] ??
    (bound.family === 'IPv6' ? `[${bound.address}]` : bound.address);
  return `http://${host}:${bound.port}`;
}

/** Ends with the last connection. Each ends with its next answer, an idle one a little later: its peer may have sent a request just now. */
async function close(server: Server, graceMs: number): Promise<void> {
  // Of the close of an HTTP server only this part: it would end idle connections at once.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const idle = setTimeout(() => server.closeIdleConnections(), Math.min(LAST_REQUESTS_MS, graceMs));
  const deadline = setTimeout(() => server.close().closeAllConnections(), graceMs);
  await closed;
  clearTimeout(idle);
  clearTimeout(deadline);
  // Ends its timers too.
  server.close();
}

async function answer(gateway: Gateway, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const aborted = new AbortController();
  outgoing.once('close', () => {
    // An abort makes an exception, which is not for nothing; an answer that has gone out needs none.
    if (!outgoing.writableFinished) aborted.abort();
  });
  try {
    const request = toRequest(incoming, aborted.signal);
    const response = request ? await gateway(request) : unanswerable(incoming);
    // A body that was refused unread is not waited for: the connection ends with the answer.
    if (!incoming.complete) outgoing.setHeader('Connection', 'close');
    // The length is told of what is sent, once.
    response.headers.delete('content-length');
    const headers = [...response.headers].flat();
    if (isStream(response)) {
      outgoing.writeHead(response.status, headers);
      await pipeline(response.body as AsyncIterable<Uint8Array>, outgoing);
    } else {
      // A text goes out in one write with the headers; as bytes it would be copied before.
      const body = isText(response) ? await response.text() : Buffer.from(await response.arrayBuffer());
      await send(incoming, outgoing, response.status, headers, body);
    }
  } catch {
    // The gateway answers all failures itself; what is left are peers that went away.
    outgoing.destroy();
  }
}

async function send(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  status: number,
  headers: string[],
  body: Buffer | string,
): Promise<void> {
  // A HEAD or a 204 has no length of its own to tell.
  outgoing.writeHead(
    status,
    body.length > 0 ? [...headers, 'Content-Length', String(Buffer.byteLength(body))] : headers,
  );
  if (!incoming.complete) {
    if (body.length > 0) outgoing.write(body);
    incoming.resume();
    await Promise.race([once(incoming, 'close'), delay(LINGER_MS, undefined, { ref: false })]);
    outgoing.end();
  } else {
    outgoing.end(body);
  }
}

/** Answers that go on for long are sent as they come; all others in one piece. */
function isStream({ headers }: Response): boolean {
  return /^(?:text\/event-stream|multipart\/mixed)/.test(headers.get('content-type') ?? '');
}

function isText({ headers }: Response): boolean {
  return /^(?:text\/|application\/(?:json|graphql-response\+json))/.test(headers.get('content-type') ?? '');
}

/** The request in the form that the gateway takes; undefined when it has none: a target that is no address, a method such as TRACE. */
function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = 'GET', url = '/' } = incoming;
  const hasBody =
    method !== 'GET' &&
    method !== 'HEAD' &&
    (incoming.headers['content-length'] !== undefined || incoming.headers['transfer-encoding'] !== undefined);
  // Only the path and query matter: whatever the Host header says, addresses are made from the configuration.
  const target = url.startsWith('/') ? `http://gateway${url}` : url;
  if (!URL.canParse(target) || !/^https?:/i.test(target) || isForbidden(method)) return undefined;
  const init: RequestInit & { duplex: 'half' } = {
    method,
    // Only set-cookie, which no request has, would be more than one text.
    headers: incoming.headers as Record<string, string>,
    signal,
    duplex: 'half',
    ...(hasBody && { body: bodyOf(incoming) }),
  };
  return new Request(target, init);
}

/** Methods that fetch's `Request` does not take (Fetch standard, forbidden method). */
function isForbidden(method: string): boolean {
  return /^(?:CONNECT|TRACE|TRACK)$/i.test(method);
}

/** The body as it comes in. Unlike `Readable.toWeb`, a reader who stops early does not end the connection, which has yet to be answered. */
function bodyOf(incoming: IncomingMessage): BodyInit {
  // One of announced length is read whole or not at all, for which this Request takes Node's own stream: it costs a third of a web stream.
  if (incoming.headers['content-length'] !== undefined) return incoming as unknown as BodyInit;
  const chunks: AsyncIterator<Uint8Array> = incoming.iterator({ destroyOnReturn: false });
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch {
        // The peer went away, or was too slow: its own doing, and nothing to be alarmed about.
        controller.error(invalid('', 'the body ended before it was complete'));
      }
    },
    async cancel() {
      await chunks.return?.();
    },
  };
  // Nothing is read ahead of who asks for it.
  return new ReadableStream(source, { highWaterMark: 0 });
}

function unanswerable({ method = '' }: IncomingMessage): Response {
  const [status, error] = isForbidden(method)
    ? [405, `${method} is not allowed here`]
    : [400, 'the request target is not an address'];
  return Response.json(
    { error },
    {
      status,
      headers: { 'X-Request-Id': randomUUID(), ...(status === 405 && { Allow: 'GET, HEAD, POST, PATCH, DELETE' }) },
    },
  );
}

const STATUS_OF_FAILURE: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Answers what is no HTTP, or took too long, in the form of every error, and closes. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex & { _httpMessage?: ServerResponse | null }): void {
  if (!socket.writable || error.code === 'ECONNRESET' || socket._httpMessage?.headersSent) {
    socket.destroy();
    return;
  }
  const status = STATUS_OF_FAILURE[error.code ?? ''] ?? 400;
  const body = JSON.stringify({
    error:
      status === 408
        ? 'the request took too long to arrive'
        : 'the request is not well-formed HTTP, or its headers are too large',
  });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
