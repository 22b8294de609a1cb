import { type IncomingMessage, createServer } from 'node:http';
import { Readable } from 'node:stream';

/**
 * Between your page and the gateway: the page knows no key. `keyFor` finds the key of whoever is signed in to your own server, by your own
 * session cookie; without one the answer is 401.
 */
export function createProxy(gatewayUrl: string, keyFor: (request: IncomingMessage) => string | undefined) {
  return createServer(async (request, response) => {
    const key = keyFor(request);
    if (key === undefined) return void response.writeHead(401).end();
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const headers = { Authorization: `Bearer ${key}`, ...passedOn(request) };
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
    // Also a live tail: it is passed on as it comes.
    if (answer.body)
      Readable.fromWeb(answer.body as never)
        .on('error', () => response.destroy())
        .pipe(response);
    else response.end();
  });
}

function passedOn({ headers }: IncomingMessage): Record<string, string> {
  const names = ['content-type', 'accept', 'idempotency-key', 'last-event-id'];
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}
