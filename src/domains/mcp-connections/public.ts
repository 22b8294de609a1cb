// What other nouns, the gateway and the operator use of mcp connections.

export { deleteConnections } from './deletion.ts';
export { McpConnection, type McpConnectionTables } from './entity.ts';
export { createMcpConnectionInput } from './input.ts';
export { createMcpConnection, readMcpConnections, resolveMcpConnections } from './operations.ts';
export { READ_MCP_CONNECTIONS, feedSubjectOf, isVisibleTo } from './policy.ts';
export { changeNotice, changesIn, definitionsIn, heldIn, noting } from './tool-definitions.ts';
export type { McpConnectionRow } from './queries.ts';
export { type ToolRules, effectOf, isOpenTo, isRestricted } from './tool-rules.ts';
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
