import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { serve } from './serve.ts';

/**
 * An MCP server whose tool answers with the words that it was asked for and nothing else, so that what is before it is measured: over HTTP,
 * or with `--stdio` over its standard input and output.
 */

const INITIALIZED = { capabilities: { tools: {} }, serverInfo: { name: 'b', version: '1' } };
const SEARCH = { name: 'search', inputSchema: { type: 'object', properties: { query: { type: 'string' } } } };

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string; readonly arguments?: { readonly query?: string } };
}

function resultOf({ method, params }: Message): object {
  if (method === 'initialize') return { ...INITIALIZED, protocolVersion: params?.protocolVersion ?? '2025-11-25' };
  if (method === 'tools/list') return { tools: [SEARCH] };
  const query = params?.arguments?.query ?? '';
  return { content: [{ type: 'text', text: `2 issues with ${query}` }], structuredContent: { count: 2 } };
}

const answerTo = (message: Message) => JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) });

if (process.argv.includes('--stdio')) {
  createInterface(process.stdin).on('line', (line) => {
    const message = JSON.parse(line) as Message;
    if (message.id !== undefined) process.stdout.write(`${answerTo(message)}\n`);
  });
} else {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.method !== 'POST') return response.writeHead(405, { Allow: 'POST' }).end();
      const message = JSON.parse(body) as Message;
      if (message.id === undefined) return response.writeHead(202).end();
      if (message.method === 'server/discover') return response.writeHead(400).end();
      return response.writeHead(200, { 'Content-Type': 'application/json' }).end(answerTo(message));
    });
  });
  serve(server);
}
