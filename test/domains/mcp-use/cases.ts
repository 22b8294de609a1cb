import { toolCall } from '../../support/fixtures/mcp-use.ts';
import type { Cases } from '../../support/operations/cases.ts';

export const mcpUse: Cases = {
  callMcpTool: {
    input: (to) => ({ mcpServerId: to.mcpConnectionId, name: 'now' }),
    body: () => ({ name: 'now' }),
    target: 'McpServer',
  },
  sendMcpMessage: { body: () => toolCall('now', {}), operation: 'callMcpTool', target: 'McpServer' },
  // The handle of the connection is its id.
  sendOwnMcpMessage: {
    body: (to) => toolCall(`${to.mcpConnectionId}__now`, {}),
    operation: 'callMcpTool',
    target: 'McpServer',
  },
  sendSessionMcpMessage: {
    body: (to) => toolCall(`${to.mcpConnectionId}__now`, {}),
    operation: 'callMcpTool',
    target: 'McpServer',
  },
};
