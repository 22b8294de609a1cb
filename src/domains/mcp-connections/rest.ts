import { answerJson } from '../../core/http/messages.ts';
import { readMcpConnectionSettings, updateMcpConnectionSettings } from './settings-operations.ts';
import { type PublicPage, routesOf } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { answerCallback, confirmAuthorization, declineAuthorization } from './authorization/confirmation.ts';
import { acceptMcpToolDefinitions } from './tool-operations.ts';
import { authorizeMcpConnection } from './authorization/operations.ts';
import { callbackPage, confirmationPage } from './rest-callback-page.ts';
import {
  connectionDocument,
  connectionExample,
  resultDocument,
  resultExample,
  settingsDocument,
  settingsExample,
  toConnection,
  toResult,
  toSettings,
} from './documents.ts';
import { listMcpConnectionsInput } from './input.ts';
import { CALLBACK_PATH, CLIENT_METADATA_PATH, clientMetadata, clientMetadataUrlOf } from './authorization/client.ts';
import {
  createMcpConnection,
  deleteMcpConnection,
  listMcpConnections,
  readMcpConnection,
  updateMcpConnection,
} from './operations.ts';
import { connectionRow } from './queries.ts';

const route = routesOf('MCP connections');

export const mcpConnectionRoutes = [
  route('GET /v1/mcp-connections', listMcpConnections, {
    input: listMcpConnectionsInput,
    output: listDocument(connectionDocument),
    examples: { output: { items: [connectionExample], nextCursor: null } },
    run: (context, { limit, cursor, type, visibility }) => {
      const filter = { types: type && [type], visibilities: visibility && [visibility] };
      return readList({ limit, cursor }, (page) => listMcpConnections(context, { filter, page }), toConnection);
    },
  }),
  route('POST /v1/mcp-connections', createMcpConnection, {
    output: resultDocument,
    examples: { input: { name: 'Issue tracker', serverUrl: 'https://mcp.example.com/mcp' }, output: resultExample },
    toDocument: toResult,
  }),
  route('POST /v1/mcp-connections/:mcpConnectionId/authorize', authorizeMcpConnection, {
    output: resultDocument,
    status: 200,
    examples: { output: resultExample },
    toDocument: toResult,
  }),
  route('GET /v1/mcp-connections/:mcpConnectionId', readMcpConnection, {
    output: connectionDocument,
    examples: { output: connectionExample },
    toDocument: toConnection,
  }),
  route('PATCH /v1/mcp-connections/:mcpConnectionId', updateMcpConnection, {
    output: connectionDocument,
    examples: { input: { name: 'Issue tracker' }, output: connectionExample },
    toDocument: (connection) => toConnection(connectionRow(connection)),
  }),
  route('GET /v1/mcp-connections/:mcpConnectionId/settings', readMcpConnectionSettings, {
    output: settingsDocument,
    examples: { output: settingsExample },
    toDocument: toSettings,
  }),
  route('PATCH /v1/mcp-connections/:mcpConnectionId/settings', updateMcpConnectionSettings, {
    output: settingsDocument,
    examples: {
      input: { toolPolicy: { mode: 'ONLY', names: ['search_issues', 'read_issue'] } },
      output: settingsExample,
    },
    toDocument: (connection) => toSettings(connectionRow(connection)),
  }),
  route('POST /v1/mcp-connections/:mcpConnectionId/tool-definitions/accept', acceptMcpToolDefinitions, {
    output: settingsDocument,
    status: 200,
    examples: { input: { names: ['search_issues'] }, output: settingsExample },
    toDocument: (connection) => toSettings(connectionRow(connection)),
  }),
  route('DELETE /v1/mcp-connections/:mcpConnectionId', deleteMcpConnection),
];

/** Parameters of the authorization response (RFC 6749, section 4.1.2; RFC 9207). */
const PARAMETERS = ['state', 'code', 'error', 'error_description', 'iss'] as const;

/** Pages that need no API key: the OAuth callback and the client metadata document. */
export const mcpConnectionPages: readonly PublicPage[] = [
  {
    path: CALLBACK_PATH,
    operationId: 'completeMcpAuthorization',
    answer: async (context, query) => {
      const [state, code, error, description, iss] = PARAMETERS.map((name) => {
        const values = query.getAll(name);
        // RFC 6749, section 3.1: a parameter occurs at most once.
        return values.length === 1 && (values[0]?.length ?? 0) <= 8192 ? values[0] : undefined;
      });
      const answer = await answerCallback(context, { state: state ?? '', code, error, description, iss });
      return answer.kind === 'unconfirmed' ? confirmationPage(answer) : callbackPage(answer);
    },
    submit: async (context, form) => {
      const run = form.get('decision') === 'decline' ? declineAuthorization : confirmAuthorization;
      return callbackPage(await run(context, form.get('confirmation') ?? ''));
    },
  },
  {
    path: CLIENT_METADATA_PATH,
    operationId: 'readMcpClientMetadata',
    answer: async ({ settings }) =>
      answerJson(
        {
          client_id: clientMetadataUrlOf(settings),
          client_uri: settings.publicUrl,
          ...clientMetadata(settings.publicUrl + CALLBACK_PATH),
        },
        { headers: { 'Cache-Control': 'public, max-age=3600' } },
      ),
  },
];
