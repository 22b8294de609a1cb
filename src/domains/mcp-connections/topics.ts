import type { McpConnectionId } from '../../core/ids.ts';

/** The notification topic for changes of a connection. */
export const mcpConnectionTopic = (connectionId: McpConnectionId): string => `mcp-connection:${connectionId}`;
