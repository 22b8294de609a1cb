import { type IncomingMessage, type ServerResponse, createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A host on which the gateway has one path beside other applications. */
export interface PathProxy {
  /** The public address of the gateway. */
  readonly url: string;
  /** Requests that were for no path of the gateway. */
  readonly others: readonly string[];
  setTarget(url: string): void;
  stop(): Promise<void>;
}

/** Passes on what is below the path, with the path or without it, and metadata of whatever is on the host. */
export async function startPathProxy(
  path: string,
  { removesPath }: { readonly removesPath: boolean },
): Promise<PathProxy> {
  let target = '';
  const others: string[] = [];
  const pathOf = (url: string): string | undefined => {
    if (url === path || url.startsWith(`${path}/`)) return removesPath ? url.slice(path.length) || '/' : url;
    return url.startsWith('/.well-known/') ? url : undefined;
  };
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { url = '/', method, headers } = incoming;
    const passed = pathOf(url);
    if (passed === undefined) {
      others.push(`${method} ${url}`);
      outgoing.writeHead(404).end();
      return;
    }
    const sent = sendRequest(new URL(passed, target), { method, headers }, (received) => {
      outgoing.writeHead(received.statusCode ?? 502, received.headers);
      received.pipe(outgoing);
    });
    sent.on('error', () => outgoing.destroy());
    outgoing.on('close', () => sent.destroy());
    incoming.pipe(sent);
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    others,
    setTarget: (url) => void (target = url),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
