import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Gateway } from './gateway.ts';

/** Puts the gateway on a port, with bounds that keep slow and idle peers from holding it. */
export interface RunningServer {
  readonly url: string;
  /** Stops accepting, lets running requests finish for at most `graceMs`, then closes what is left. */
  stop(graceMs: number): Promise<void>;
}

export async function serve(gateway: Gateway, { host, port }: { host: string; port: number }): Promise<RunningServer> {
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 5_000, connectionsCheckingInterval: 2_000 }, (incoming, outgoing) => {
    void answer(gateway, incoming, outgoing);
  });
  await listen(server, host, port);
  const { port: actualPort } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actualPort}`,
    stop: (graceMs) => stop(server, graceMs),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function stop(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(deadline);
      resolve();
    });
    server.closeIdleConnections();
  });
}

async function answer(gateway: Gateway, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const aborted = new AbortController();
  outgoing.once('close', () => aborted.abort());
  try {
    const response = await gateway(toRequest(incoming, aborted.signal));
    // A body that was refused unread is not waited for: the connection ends with the answer.
    if (!incoming.complete) outgoing.setHeader('Connection', 'close');
    const headers = [...response.headers].flat();
    if (isStream(response)) {
      outgoing.writeHead(response.status, headers);
      await pipeline(response.body as AsyncIterable<Uint8Array>, outgoing);
    } else {
      const body = Buffer.from(await response.arrayBuffer());
      // A HEAD or a 204 has no length of its own to tell.
      outgoing.writeHead(response.status, body.length > 0 ? [...headers, 'Content-Length', String(body.length)] : headers).end(body);
    }
  } catch {
    // The gateway answers all failures itself; what is left are peers that went away, and requests that are no HTTP.
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(400, { Connection: 'close' }).end();
  }
}

/** Answers that go on for long are sent as they come; all others in one piece. */
function isStream({ body, headers }: Response): boolean {
  return body !== null && /^(?:text\/event-stream|multipart\/mixed)/.test(headers.get('content-type') ?? '');
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/' } = incoming;
  const headers = new Headers();
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2) {
    headers.append(incoming.rawHeaders[index] ?? '', incoming.rawHeaders[index + 1] ?? '');
  }
  const hasBody = method !== 'GET' && method !== 'HEAD' && (incoming.headers['content-length'] !== undefined || incoming.headers['transfer-encoding'] !== undefined);
  // Only the path and query matter: whatever the Host header says, addresses are made from the configuration.
  return new Request(new URL(url.startsWith('/') ? `http://gateway${url}` : url), {
    method,
    headers,
    signal,
    ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' }),
  } as RequestInit);
}
