import type { McpConnectionId } from '../../core/ids.ts';

/** The notification topic for changes of a connection. */
export function mcpConnectionTopic(connectionId: McpConnectionId): string {
  return `mcp-connection:${connectionId}`;
}
