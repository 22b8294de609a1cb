import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP server on loopback that counts its connections. */
export class Listener {
  connectionCount = 0;
  handler: Handler = (_, response) => response.end('hello');
  readonly server: Server = createServer((request, response) => this.handler(request, response)).on(
    'connection',
    () => (this.connectionCount += 1),
  );

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
