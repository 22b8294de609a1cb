// Two small MCP servers on this machine, to try docs/mcp.md with: issues and a wiki.
//
//   node_modules/.bin/node docs/examples/connections/servers.ts
//
// ISSUES_PORT, WIKI_PORT  their ports (default 4101 and 4102)
//
// The server of the issues needs `Authorization: Bearer secret-of-issues`; the wiki is open.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { z } from 'zod';

const { ISSUES_PORT = '4101', WIKI_PORT = '4102' } = process.env;

interface Served {
  readonly name: string;
  readonly port: string;
  /** Of the texts that `search` looks through. */
  readonly texts: readonly string[];
  readonly authorization?: string;
}

function serve({ name, port, texts, authorization }: Served): void {
  const handler = toNodeHandler(
    createMcpHandler(() => {
      const server = new McpServer({ name, version: '1.0.0' });
      const search = {
        description: `Searches the ${name}.`,
        inputSchema: z.object({ query: z.string() }),
        annotations: { readOnlyHint: true },
      };
      server.registerTool('search', search, ({ query }) => ({
        content: [{ type: 'text', text: texts.filter((text) => text.includes(query)).join('\n') }],
      }));
      const remove = { description: 'Removes everything.', annotations: { destructiveHint: true } };
      server.registerTool('remove_all', remove, () => ({ content: [{ type: 'text', text: 'removed' }] }));
      return server;
    }),
  );
  createServer((request, response) => {
    const isAllowed = authorization === undefined || request.headers.authorization === authorization;
    if (isAllowed) void handler(request, response);
    else response.writeHead(401).end();
  }).listen(Number(port), '127.0.0.1', () => process.stdout.write(`${name}: http://127.0.0.1:${port}/mcp\n`));
}

serve({
  name: 'issues',
  port: ISSUES_PORT,
  texts: ['#1 The login fails after an hour', '#2 The footer is cut'],
  authorization: 'Bearer secret-of-issues',
});
serve({ name: 'wiki', port: WIKI_PORT, texts: ['A login lasts for one hour.', 'The office is in Ghent.'] });
