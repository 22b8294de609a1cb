import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Handler } from './mcp-server.ts';

/** An MCP server whose lists a test replaces, and which tells what it was asked. */

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly uri?: string };
}

interface Item {
  readonly [name: string]: unknown;
}

export interface ListingServer {
  readonly handler: Handler;
  /** The methods of messages so far, and of other requests. */
  readonly asked: string[];
  tools: readonly Item[];
  resources: Readonly<Record<string, string>> | undefined;
  /** Members of the results of a server of the newest generation; undefined for an older one. */
  modern: object | undefined;
  hasSessions: boolean;
  /** Answers a message in another way. */
  answer: ((message: Message, response: ServerResponse) => boolean) | undefined;
}

export const tool = (name: string, more: Item = {}) => ({ name, inputSchema: { type: 'object' }, ...more });

export function listingServer(given: Partial<ListingServer> = {}): ListingServer {
  const server: ListingServer = {
    asked: [],
    tools: [tool('search')],
    resources: undefined,
    modern: undefined,
    hasSessions: false,
    answer: undefined,
    ...given,
    handler: (request, response) => {
      void text(request).then((body) => {
        const message = (body === '' ? { method: request.method } : JSON.parse(body)) as Message;
        server.asked.push(message.method ?? 'response');
        if (server.answer?.(message, response) === true) return;
        if (request.method !== 'POST' || message.id === undefined) {
          response.writeHead(202).end();
          return;
        }
        const result = resultOf(server, message);
        const isNew = message.method === 'initialize' && server.hasSessions;
        response.writeHead(200, {
          'Content-Type': 'application/json',
          ...(isNew && { 'Mcp-Session-Id': randomUUID() }),
        });
        const known = result ? { result } : { error: { code: -32_601, message: 'Method not found' } };
        response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...known }));
      });
    },
  };
  return server;
}

function resultOf({ tools, resources, modern }: ListingServer, { method, params }: Message): object | undefined {
  const complete = modern && { resultType: 'complete', ttlMs: 0, cacheScope: 'public', ...modern };
  const about = { capabilities: { tools: {} }, serverInfo: { name: 'lists', version: '1' } };
  if (method === 'server/discover') return modern && { ...about, ...complete, supportedVersions: ['2026-07-28'] };
  if (method === 'initialize') return { ...about, protocolVersion: '2025-06-18' };
  if (method === 'tools/list') return { ...complete, tools };
  if (method === 'tools/call') return { ...complete, content: [{ type: 'text', text: String(params?.name) }] };
  if (!resources) return undefined;
  if (method === 'resources/list')
    return { ...complete, resources: Object.keys(resources).map((uri) => ({ uri, name: uri })) };
  const found = method === 'resources/read' ? resources[params?.uri ?? ''] : undefined;
  return found === undefined ? undefined : { ...complete, contents: [{ uri: params?.uri, text: found }] };
}
