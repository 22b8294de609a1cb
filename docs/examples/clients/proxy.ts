import { type IncomingMessage, createServer } from 'node:http';
import { Readable } from 'node:stream';

/**
 * A proxy between your page and the gateway, so that the page needs no key. `keyFor` returns the key of the user who is signed in to your
 * server, for example by your session cookie; if it returns none, the answer is 401.
 */
export function createProxy(gatewayUrl: string, keyFor: (request: IncomingMessage) => string | undefined) {
  return createServer(async (request, response) => {
    const key = keyFor(request);
    if (key === undefined) return void response.writeHead(401).end();
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const headers = { Authorization: `Bearer ${key}`, ...forwardedHeaders(request) };
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
    const answer = await fetch(gatewayUrl + request.url, {
      method: request.method ?? 'GET',
      headers,
      signal: gone.signal,
      ...(hasBody && { body: Readable.toWeb(request) as never, duplex: 'half' }),
    }).catch(() => undefined);
    if (!answer) return void response.writeHead(502).end();
    const contentType = answer.headers.get('Content-Type');
    response.writeHead(answer.status, contentType === null ? {} : { 'Content-Type': contentType });
    // A live tail is forwarded as it arrives.
    if (answer.body)
      Readable.fromWeb(answer.body as never)
        .on('error', () => response.destroy())
        .pipe(response);
    else response.end();
  });
}

function forwardedHeaders({ headers }: IncomingMessage): Record<string, string> {
  const names = ['content-type', 'accept', 'idempotency-key', 'last-event-id'];
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}
