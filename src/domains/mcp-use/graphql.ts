import { shown } from '../../core/graphql/derived-fields.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { toolResultDocument } from './documents.ts';
import { callMcpTool } from './operations.ts';

mutation(callMcpTool, {
  names: { mcpConnectionId: 'mcpServerId' },
  ids: { mcpConnectionId: 'McpServer', sessionId: 'Session' },
  types: { arguments: 'JSON' },
  payload: (t) => ({
    ...shown(t, toolResultDocument, ['isError', 'durationMs']),
    content: t.field({
      type: ['JSON'],
      description: 'The content blocks as the server sent them, of known and unknown types.',
      resolve: ({ content }) => [...content],
    }),
    structuredContent: t.expose('structuredContent', {
      type: 'JSON',
      nullable: true,
      description: toolResultDocument.shape.structuredContent.description,
    }),
  }),
});
