import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { z } from 'zod';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A real HTTP server on loopback whose handler can be replaced while it runs. */
export interface Peer {
  readonly origin: string;
  handler: Handler;
  /** Requests so far, as `METHOD path`. */
  readonly requests: string[];
  /** The number of open connections. */
  connections(): Promise<number>;
  stop(): Promise<void>;
}

export async function startPeer(handler: Handler): Promise<Peer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split('?')[0]}`);
    peer.handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const peer: Peer = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    handler,
    requests,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return peer;
}

/** An MCP server of the official package with two tools. It supports both generations of the protocol unless an option excludes one. */
export function mcpHandler(options: { legacy?: 'reject' } = {}): Handler {
  const handler = toNodeHandler(
    createMcpHandler(() => {
      const server = new McpServer({ name: 'fixture', version: '1.2.3' });
      server.registerTool(
        'add',
        { title: 'Add', description: 'Adds two numbers.', inputSchema: z.object({ a: z.number(), b: z.number() }) },
        ({ a, b }) => ({
          content: [{ type: 'text', text: String(a + b) }],
        }),
      );
      server.registerTool('now', { description: 'Tells the time.' }, () => ({
        content: [{ type: 'text', text: 'now' }],
      }));
      return server;
    }, options),
  );
  return (request, response) => void handler(request, response);
}

/** An MCP server that supports only the older generation of the protocol: it does not know `server/discover`. */
export function legacyMcpHandler(): Handler {
  const serve = mcpHandler();
  return (request, response) => {
    if (request.headers['mcp-method'] === 'server/discover') {
      response.writeHead(400, { 'Content-Type': 'text/plain' }).end('Bad Request');
      return;
    }
    serve(request, response);
  };
}
