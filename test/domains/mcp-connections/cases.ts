import { randomUUID } from 'node:crypto';
import type { Cases } from '../../support/operations/cases.ts';
import type { References } from '../../support/operations/references.ts';

const server = ({ mcpConnectionId: mcpServerId }: References) => ({ mcpServerId });
const onlyTool = () => ({ mode: 'ALL', names: [randomUUID()] });

export const mcpConnections: Cases = {
  createMcpConnection: {
    mutation: 'createMcpServer',
    input: ({ serverUrl }) => ({ remote: { name: randomUUID(), serverUrl } }),
    body: ({ serverUrl }) => ({ name: randomUUID(), serverUrl }),
    creates: 'McpServer',
  },
  updateMcpConnection: {
    mutation: 'updateMcpServer',
    input: (to) => ({ ...server(to), name: randomUUID() }),
    body: () => ({ name: randomUUID() }),
    target: 'McpServer',
  },
  updateMcpConnectionSettings: {
    mutation: 'updateMcpServerSettings',
    input: (to) => ({ ...server(to), toolPolicy: onlyTool() }),
    body: () => ({ toolPolicy: onlyTool() }),
    target: 'McpServer',
  },
  acceptMcpToolDefinitions: {
    input: (to) => ({ ...server(to), names: ['now'] }),
    body: () => ({ names: ['now'] }),
    target: 'McpServer',
  },
  authorizeMcpConnection: { mutation: 'authorizeMcpServer', input: server, target: 'McpServer' },
  testMcpConnection: { isOnlyInGraphQL: true, mutation: 'testMcpServer', input: server, target: 'McpServer' },
  deleteMcpConnection: { mutation: 'deleteMcpServer', input: server, target: 'McpServer' },
};
