import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Handler } from './mcp-server.ts';

/** A small MCP server without authorization, whose answers a test replaces. It speaks only the older generation of the protocol. */

export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly cursor?: string; readonly protocolVersion?: string };
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly message: Message;
}

export interface OddServer {
  /** Members of the result of `initialize`. */
  readonly initialize?: object;
  readonly tools?: readonly unknown[];
  /** The result of `tools/list` for a cursor. */
  readonly page?: (cursor: string | undefined) => object;
  /** Changes a message before it is sent. */
  readonly sent?: (message: Record<string, unknown>) => unknown;
  /** Answers the request in another way. @returns whether it has. */
  readonly answer?: (exchange: Exchange) => boolean;
  readonly mediaType?: string;
}

export const ALPHA = { name: 'alpha', description: 'first', inputSchema: { type: 'object' } };
export const BETA = { name: 'beta', description: 'second', inputSchema: { type: 'object' } };

export function oddMcpHandler(odd: OddServer = {}): Handler {
  return (request, response) => void answer(odd, request, response);
}

async function answer(odd: OddServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const message = (body === '' ? {} : JSON.parse(body)) as Message;
  if (odd.answer?.({ request, response, message })) return;
  if (request.method !== 'POST') return void response.writeHead(405, { Allow: 'POST' }).end();
  if (message.id === undefined) return void response.writeHead(202).end();
  const result = resultOf(odd, message);
  const known = result ? { result } : { error: { code: -32_601, message: 'Method not found' } };
  send(odd, response, { jsonrpc: '2.0', id: message.id, ...known });
}

function resultOf({ initialize, page, tools = [ALPHA, BETA] }: OddServer, { method, params }: Message) {
  if (method === 'initialize') {
    const usual = { capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } };
    return { protocolVersion: '2025-06-18', ...usual, ...initialize };
  }
  if (method !== 'tools/list') return undefined;
  return page ? page(params?.cursor) : { tools };
}

function send(
  { sent = (message) => message, mediaType = 'application/json' }: OddServer,
  response: ServerResponse,
  message: Record<string, unknown>,
): void {
  const json = JSON.stringify(sent(message));
  response.writeHead(200, { 'Content-Type': mediaType });
  response.end(mediaType === 'text/event-stream' ? `event: message\ndata: ${json}\n\n` : json);
}

/** Answers the requests of one method. */
export function answering(method: string, run: (exchange: Exchange) => unknown): OddServer {
  return {
    answer: (exchange) => {
      if (exchange.message.method !== method) return false;
      run(exchange);
      return true;
    },
  };
}
