// An agent that uses all MCP connections of its session at one address (docs/mcp.md).
//
//   GATEWAY=http://127.0.0.1:4000 KEY=wgk_... SESSION=... node_modules/.bin/node docs/examples/connections/agent.ts login
//
// GATEWAY  address of the gateway
// KEY      API key with the scopes mcp_connections.use and sessions.record
// SESSION  id of the session
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const { GATEWAY = 'http://127.0.0.1:4000', KEY = '', SESSION = '' } = process.env;
const [, , query = ''] = process.argv;

const client = new Client({ name: 'agent', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(
  new StreamableHTTPClientTransport(new URL(`/v1/sessions/${SESSION}/mcp`, GATEWAY), {
    requestInit: { headers: { Authorization: `Bearer ${KEY}` } },
  }),
);
const { tools } = await client.listTools();
for (const { name } of tools.filter((tool) => tool.annotations?.readOnlyHint)) {
  const { content } = await client.callTool({ name, arguments: { query } });
  for (const block of content) if (block.type === 'text') process.stdout.write(`${name}: ${block.text}\n`);
}
await client.close();
