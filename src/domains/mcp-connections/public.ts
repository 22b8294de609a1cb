// What other nouns, the gateway and the operator use of mcp connections.

export { deleteConnections } from './deletion.ts';
export type { McpConnectionTables } from './entity.ts';
export { readMcpConnections, resolveMcpConnections } from './operations.ts';
export { READ_MCP_CONNECTIONS, visibleTo } from './policy.ts';
