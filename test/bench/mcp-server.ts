import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

/** An MCP server that answers each call of a tool with the same small result, so that what is before it is measured. */

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'b', version: '1' },
};
const CALLED = { content: [{ type: 'text', text: '2 issues' }], structuredContent: { count: 2 } };

const server = createServer((request, response) => {
  void text(request).then((body) => {
    if (request.method !== 'POST') return response.writeHead(405, { Allow: 'POST' }).end();
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    if (id === undefined) return response.writeHead(202).end();
    if (method === 'server/discover') return response.writeHead(400).end();
    const result = method === 'initialize' ? INITIALIZED : CALLED;
    response.writeHead(200, { 'Content-Type': 'application/json' });
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.on('SIGTERM', () => process.exit(0));
