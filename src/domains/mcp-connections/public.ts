// What other nouns, the gateway and the operator use of mcp connections.

export {
  deleteAuthorizationsOf,
  deleteConnections,
  deleteExpiredAuthorizations,
  forgetConnectionOwner,
} from './deletion.ts';
export { McpAuthorization, McpConnection, type McpConnectionTables, McpTokenRevocation } from './entity.ts';
export { mcpRefreshJob } from './oauth/token-refresh-job.ts';
export { mcpTokenRevocationJob } from './oauth/token-revocation.ts';
export { readMcpConnections, resolveMcpConnections } from './operations.ts';
export { READ_MCP_CONNECTIONS, visibleTo } from './policy.ts';
export { requireStillManaged } from './replayed-connections.ts';
export { mcpConnectionTopic } from './topics.ts';
export { readConnectionVersions } from './queries.ts';
