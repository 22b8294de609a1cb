// Several gateways on real sockets behind a round-robin load balancer.
import { once } from 'node:events';
import { Agent, type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable, pipeline } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { Gateway } from '../../../src/gateway/gateway.ts';
import { serve } from '../../../src/gateway/http/server.ts';

/** The number of gateways behind `TestGateway.fetch`. One gateway is called directly; several are called through the load balancer. */
export const gateways = Number(process.env['GATEWAYS'] ?? 1);

export interface Balanced {
  fetch(given: Request): Promise<Response>;
  close(): Promise<void>;
}

// A new connection for each request, because the server may close a reused one at the moment of the next request.
const agent = new Agent({ keepAlive: false });
const ignore = () => undefined;

export async function startBalanced(behind: readonly Gateway[]): Promise<Balanced> {
  const servers = await Promise.all(behind.map((gateway) => serve(gateway, { host: '127.0.0.1', port: 0 })));
  let requestCount = 0;
  const balancer = createServer((incoming, outgoing) =>
    forward(incoming, outgoing, `${servers[requestCount++ % servers.length]?.url}${incoming.url}`),
  );
  balancer.listen(0, '127.0.0.1');
  await once(balancer, 'listening');
  const origin = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`;
  return {
    fetch: (given) => sendRequest(given, origin),
    async close() {
      balancer.close();
      balancer.closeAllConnections();
      await Promise.all(servers.map((server) => server.stop(0)));
    },
  };
}

function forward(incoming: IncomingMessage, outgoing: ServerResponse, target: string): void {
  const { method, headers } = incoming;
  const onward = request(target, { method, headers, agent });
  // An answer that is cut off is also cut off for the caller. An answer may come before the body is read.
  onward.once('response', (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    pipeline(answer, outgoing, ignore);
  });
  onward.on('error', () => {
    if (!outgoing.headersSent) outgoing.destroy();
  });
  outgoing.once('close', () => onward.destroy());
  pipeline(incoming, onward, ignore);
}

/** Headers that servers and connections add to the answer. */
const OF_CONNECTIONS = /^(?:date|connection|keep-alive|transfer-encoding|content-length)$/i;

/** Like `fetch` without redirects. It reads no more of a request body than the gateway reads and the sockets buffer. */
async function sendRequest({ url, method, headers, body, signal }: Request, origin: string): Promise<Response> {
  const { pathname, search } = new URL(url);
  const onward = request(origin + pathname + search, { method, headers: Object.fromEntries(headers), agent, signal });
  // Node does this itself only for methods that usually have a body.
  if (body && !headers.has('content-length')) onward.setHeader('Transfer-Encoding', 'chunked');
  onward.on('error', ignore);
  if (body) pipeline(Readable.fromWeb(body as ReadableStream), onward, ignore);
  else onward.end();
  const [answer] = (await once(onward, 'response')) as [IncomingMessage];
  const { statusCode: status = 0, rawHeaders } = answer;
  const forwarded = rawHeaders.flatMap((name, index): [string, string][] =>
    index % 2 === 0 && !OF_CONNECTIONS.test(name) ? [[name, rawHeaders[index + 1] ?? '']] : [],
  );
  const content = status === 204 ? (answer.resume(), null) : (Readable.toWeb(answer) as globalThis.ReadableStream);
  return new Response(content, { status, headers: forwarded });
}
