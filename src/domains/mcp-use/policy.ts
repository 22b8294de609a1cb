import type { Access } from '../../core/access.ts';

/** Shared connections are used by every member with the scope, personal ones by their owner alone. */
export const USE_MCP_CONNECTIONS: Access = { scopes: ['mcp_connections.use'], inOrganization: true };

/** The calls are recorded in the session. */
export const USE_SESSION_CONNECTIONS: Access = {
  scopes: ['mcp_connections.use', 'sessions.record'],
  inOrganization: true,
};
