// What other nouns, the gateway and the operator use of mcp connections.

export { deleteConnections } from './deletion.ts';
export { McpConnection, type McpConnectionTables, type ToolPolicy } from './entity.ts';
export { createMcpConnectionInput } from './input.ts';
export { createMcpConnection, feedSubjectOf, readMcpConnections, resolveMcpConnections } from './operations.ts';
export { READ_MCP_CONNECTIONS, visibleTo } from './policy.ts';
export type { McpConnectionRow } from './queries.ts';
export { allowsTool } from './settings-operations.ts';
export { readTool } from './remote/tools.ts';
export { AuthorizationNeeded } from './remote/errors.ts';
export { headerProblemIn } from './remote/header-declarations.ts';
export {
  type CurrentAccess,
  type StdioConnection,
  type UsableConnection,
  accessOf,
  authorizationNeededBy,
  findUsableConnection,
  findAllUsableConnections,
  findUsableConnections,
  noteRefusal,
  noteUse,
} from './usable-connection.ts';
export {
  type ListMethod,
  type ServerList,
  keepGeneration,
  keptGeneration,
  keptList,
  noteListsChanged,
  readServerList,
  requireNoRecentFailure,
} from './server-lists.ts';
