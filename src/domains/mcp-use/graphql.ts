import { mutation } from '../../core/graphql/mutations.ts';
import { TOOL_RESULT_TEXTS } from './texts.ts';
import { callMcpTool } from './tool-call.ts';

mutation(callMcpTool, {
  names: { mcpConnectionId: 'mcpServerId' },
  ids: { mcpConnectionId: 'McpServer', sessionId: 'Session' },
  types: { arguments: 'JSON' },
  payload: (t) => ({
    isError: t.exposeBoolean('isError', { description: TOOL_RESULT_TEXTS.isError }),
    content: t.field({
      type: ['JSON'],
      description: 'The content blocks as the server sent them, of known and unknown types.',
      resolve: ({ content }) => [...content],
    }),
    structuredContent: t.expose('structuredContent', {
      type: 'JSON',
      nullable: true,
      description: TOOL_RESULT_TEXTS.structuredContent,
    }),
    durationMs: t.exposeInt('durationMs', { description: TOOL_RESULT_TEXTS.durationMs }),
  }),
});
