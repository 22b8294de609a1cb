// What the gateway uses of the use of MCP connections.

export { USE_MCP_CONNECTIONS, USE_SESSION_CONNECTIONS } from './policy.ts';
