import { z } from 'zod';
import { answerJson } from '../../core/http/messages.ts';
import { documentOf, readOnly } from '../../core/http/documents.ts';
import { MCP_CONNECTION_TEXTS, SETTINGS_TEXTS, TOOL_POLICY_TEXTS } from './texts.ts';
import { readMcpConnectionSettings, updateMcpConnectionSettings } from './settings-operations.ts';
import { type PublicPage, route } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { answerCallback, confirmAuthorization, declineAuthorization } from './oauth/confirmation.ts';
import { type ConnectionResult, authorizeMcpConnection } from './oauth/operations.ts';
import { callbackPage, confirmationPage } from './rest-callback-page.ts';
import { CALLBACK_PATH, CLIENT_METADATA_PATH, clientMetadataUrlOf } from './oauth/gateway-client.ts';
import { AUTH_TYPES, TOOL_CALL_RECORDINGS, TOOL_POLICY_MODES, TYPES, VISIBILITIES } from './entity.ts';
import { listMcpConnectionsInput } from './input.ts';
import { clientMetadata } from './oauth/client.ts';
import {
  createMcpConnection,
  deleteMcpConnection,
  listMcpConnections,
  readMcpConnection,
  updateMcpConnection,
} from './operations.ts';
import { type McpConnectionRow, connectionAnswer, connectionRow } from './queries.ts';

const tag = 'MCP connections';

const connectionDocument = documentOf(MCP_CONNECTION_TEXTS, {
  id: readOnly(z.uuid()),
  name: z.string(),
  type: readOnly(z.enum(TYPES)),
  visibility: readOnly(z.enum(VISIBILITIES)),
  serverUrl: z.string().nullable(),
  connectedAt: readOnly(z.iso.datetime().nullable()),
  args: z.array(z.string()).nullable(),
  authType: readOnly(z.enum(AUTH_TYPES).nullable()),
  command: z.string().nullable(),
  createdAt: readOnly(z.iso.datetime()),
  updatedAt: readOnly(z.iso.datetime()),
  envKeys: readOnly(z.array(z.string())),
  headerKeys: readOnly(z.array(z.string())),
}).meta({ id: 'McpConnection' });

const connectionExample: z.input<typeof connectionDocument> = {
  id: '8d0f6f3e-0c55-4f0b-9d3c-6a1b2c3d4e5f',
  name: 'Issue tracker',
  type: 'remote',
  visibility: 'shared',
  serverUrl: 'https://mcp.example.com/mcp',
  connectedAt: '2026-03-01T10:20:31.000Z',
  args: null,
  authType: 'oauth',
  command: null,
  createdAt: '2026-03-01T10:20:30.500Z',
  updatedAt: '2026-03-01T10:20:31.000Z',
  envKeys: [],
  headerKeys: [],
};

const RESULT_TEXTS = {
  authorizationUrl:
    'Address where a person authorizes the connection. Null when none is needed, as by a server that works without authorization, which is connected at once.',
  connection: 'The connection.',
};

const resultDocument = documentOf(RESULT_TEXTS, {
  authorizationUrl: z.url().nullable(),
  connection: connectionDocument,
}).meta({ id: 'McpConnectionResult' });

const resultExample: z.input<typeof resultDocument> = {
  authorizationUrl: 'https://auth.example.com/authorize?response_type=code&client_id=abc&state=xyz',
  connection: { ...connectionExample, connectedAt: null },
};

const settingsDocument = documentOf(SETTINGS_TEXTS, {
  handle: z.string(),
  toolPolicy: documentOf(TOOL_POLICY_TEXTS, { mode: z.enum(TOOL_POLICY_MODES), names: z.array(z.string()) }),
  recordToolCalls: z.enum(TOOL_CALL_RECORDINGS),
  audience: z.string().nullable(),
  resource: z.string().nullable(),
  allowMissingPkceMetadata: z.boolean(),
}).meta({ id: 'McpConnectionSettings' });

const settingsExample: z.input<typeof settingsDocument> = {
  handle: 'issue-tracker',
  toolPolicy: { mode: 'ONLY', names: ['search_issues', 'read_issue'] },
  recordToolCalls: 'ALL',
  audience: null,
  resource: null,
  allowMissingPkceMetadata: false,
};

type Settings = Pick<McpConnectionRow, keyof typeof settingsExample>;

function toSettingsDocument(row: Settings): z.input<typeof settingsDocument> {
  const { handle, toolPolicy, recordToolCalls, audience, resource, allowMissingPkceMetadata } = row;
  const { mode, names } = toolPolicy;
  return {
    handle,
    toolPolicy: { mode, names: [...names] },
    recordToolCalls,
    audience,
    resource,
    allowMissingPkceMetadata,
  };
}

function toResultDocument({ connection, authorizationUrl }: ConnectionResult): z.input<typeof resultDocument> {
  return { authorizationUrl, connection: connectionAnswer(connectionRow(connection)) };
}

export const mcpConnectionRoutes = [
  route(listMcpConnections, {
    method: 'GET',
    path: '/v1/mcp-connections',
    tag,
    input: listMcpConnectionsInput,
    output: listDocument(connectionDocument),
    status: 200,
    examples: { output: { items: [connectionExample], nextCursor: null } },
    run: (context, { limit, cursor, type, visibility }) => {
      const filter = { types: type && [type], visibilities: visibility && [visibility] };
      return readList({ limit, cursor }, (page) => listMcpConnections(context, { filter, page }), connectionAnswer);
    },
  }),
  route(createMcpConnection, {
    method: 'POST',
    path: '/v1/mcp-connections',
    tag,
    output: resultDocument,
    status: 201,
    examples: { input: { name: 'Issue tracker', serverUrl: 'https://mcp.example.com/mcp' }, output: resultExample },
    toDocument: toResultDocument,
  }),
  route(authorizeMcpConnection, {
    method: 'POST',
    path: '/v1/mcp-connections/:mcpConnectionId/authorize',
    tag,
    output: resultDocument,
    status: 200,
    optionalBody: true,
    examples: { output: resultExample },
    toDocument: toResultDocument,
  }),
  route(readMcpConnection, {
    method: 'GET',
    path: '/v1/mcp-connections/:mcpConnectionId',
    tag,
    output: connectionDocument,
    status: 200,
    examples: { output: connectionExample },
    toDocument: connectionAnswer,
  }),
  route(updateMcpConnection, {
    method: 'PATCH',
    path: '/v1/mcp-connections/:mcpConnectionId',
    tag,
    optionalBody: true,
    output: connectionDocument,
    status: 200,
    examples: { input: { name: 'Issue tracker' }, output: connectionExample },
    toDocument: (connection) => connectionAnswer(connectionRow(connection)),
  }),
  route(readMcpConnectionSettings, {
    method: 'GET',
    path: '/v1/mcp-connections/:mcpConnectionId/settings',
    tag,
    output: settingsDocument,
    status: 200,
    examples: { output: settingsExample },
    toDocument: toSettingsDocument,
  }),
  route(updateMcpConnectionSettings, {
    method: 'PATCH',
    path: '/v1/mcp-connections/:mcpConnectionId/settings',
    tag,
    optionalBody: true,
    output: settingsDocument,
    status: 200,
    examples: {
      input: { toolPolicy: { mode: 'ONLY', names: ['search_issues', 'read_issue'] } },
      output: settingsExample,
    },
    toDocument: (connection) => toSettingsDocument(connectionRow(connection)),
  }),
  route(deleteMcpConnection, { method: 'DELETE', path: '/v1/mcp-connections/:mcpConnectionId', tag, status: 204 }),
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
