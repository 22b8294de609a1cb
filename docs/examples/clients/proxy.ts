import { type IncomingMessage, createServer, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import { Readable } from 'node:stream';

/**
 * A proxy between your page and the gateway, so that the page needs no key, over HTTP and WebSocket. `keyFor` returns the key of the user
 * who is signed in to your server, for example by your session cookie; if it returns none, the answer is 401.
 */
export function createProxy(gatewayUrl: string, keyFor: (request: IncomingMessage) => string | undefined) {
  const server = createServer(async (request, response) => {
    const key = keyFor(request);
    if (key === undefined) return void response.writeHead(401).end();
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const headers = { ...forwardedHeaders(request), Authorization: `Bearer ${key}` };
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
    const answer = await fetch(gatewayUrl + request.url, {
      method: request.method ?? 'GET',
      headers,
      signal: gone.signal,
      ...(hasBody && { body: Readable.toWeb(request) as never, duplex: 'half' }),
    }).catch(() => undefined);
    if (!answer) return void response.writeHead(502).end();
    const passed = [...answer.headers].filter(([name]) => !OF_THE_CONNECTION.has(name) && !OF_THE_ENCODING.has(name));
    response.writeHead(answer.status, Object.fromEntries(passed));
    // A live tail is forwarded as it arrives.
    if (answer.body)
      Readable.fromWeb(answer.body as never)
        .on('error', () => response.destroy())
        .pipe(response);
    else response.end();
  });
  return server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const key = keyFor(request);
    if (key === undefined) return refuse(socket, '401 Unauthorized');
    forwardUpgrade(
      gatewayUrl + request.url,
      { ...forwardedHeaders(request), Authorization: `Bearer ${key}` },
      socket,
      head,
    );
  });
}

/** Opens a WebSocket at the gateway, and joins it with that of the page. The key is in the headers, so `connection_init` needs none. */
function forwardUpgrade(url: string, headers: Record<string, string>, socket: Duplex, head: Buffer): void {
  const send = url.startsWith('https:') ? requestHttps : requestHttp;
  const upstream = send(url, { headers: { ...headers, Connection: 'Upgrade', Upgrade: 'websocket' } });
  socket.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
  upstream.on('error', () => refuse(socket, '502 Bad Gateway'));
  upstream.on('response', ({ statusCode, statusMessage }) => refuse(socket, `${statusCode} ${statusMessage}`));
  upstream.on('upgrade', (answer, tunnel, first) => {
    const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
    socket.write(first);
    tunnel.write(head);
    tunnel.on('error', () => socket.destroy()).pipe(socket);
    socket.on('close', () => tunnel.destroy()).pipe(tunnel);
  });
  upstream.end();
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

/** Headers that belong to one connection (RFC 9110, section 7.6.1), and so are not forwarded. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** `fetch` has already decoded the body. */
const OF_THE_ENCODING: ReadonlySet<string> = new Set(['content-encoding', 'content-length']);
/** Credentials of your page are not for the gateway. `fetch` sets the others. */
const OF_THE_PAGE: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'host',
  'content-length',
  'accept-encoding',
  'expect',
]);

function forwardedHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || OF_THE_CONNECTION.has(name) || OF_THE_PAGE.has(name) ? [] : [[name, String(value)]],
    ),
  );
}
