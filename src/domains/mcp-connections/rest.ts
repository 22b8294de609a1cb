import { z } from 'zod';
import { answerJson } from '../../core/http/messages.ts';
import { documentOf, readOnly } from '../../core/http/documents.ts';
import { MCP_CONNECTION_TEXTS } from './texts.ts';
import { type PublicPage, route } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { answerCallback, confirmAuthorization, declineAuthorization } from './oauth/confirmation.ts';
import { type ConnectionResult, authorizeMcpConnection } from './oauth/operations.ts';
import { callbackPage, confirmationPage } from './rest-callback-page.ts';
import { CALLBACK_PATH, CLIENT_METADATA_PATH, clientMetadataUrlOf } from './remote/connect.ts';
import { AUTH_TYPES, TYPES, VISIBILITIES } from './entity.ts';
import {
  createMcpConnectionInput,
  listMcpConnectionsInput,
  mcpConnectionReference,
  updateMcpConnectionInput,
} from './input.ts';
import { clientMetadata } from './oauth/client.ts';
import {
  createMcpConnection,
  deleteMcpConnection,
  listMcpConnections,
  readMcpConnection,
  updateMcpConnection,
} from './operations.ts';
import { type McpConnectionRow, connectionRow } from './queries.ts';

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
  authorizationUrl: 'Address where a person authorizes the connection. Null when none is needed.',
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

function toConnectionDocument(row: McpConnectionRow): z.input<typeof connectionDocument> {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    visibility: row.visibility,
    serverUrl: row.serverUrl,
    connectedAt: row.connectedAt,
    args: row.args,
    authType: row.authType,
    command: row.command,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    envKeys: row.envKeys,
    headerKeys: row.headerKeys,
  };
}

function toResultDocument({ connection, authorizationUrl }: ConnectionResult): z.input<typeof resultDocument> {
  return { authorizationUrl, connection: toConnectionDocument(connectionRow(connection)) };
}

export const mcpConnectionRoutes = [
  route({
    method: 'GET',
    path: '/v1/mcp-connections',
    operationId: 'listMcpConnections',
    access: listMcpConnections.access,
    tag,
    summary: 'List the MCP connections that the caller can see, by name.',
    description:
      'Lists the shared connections of the organization and the personal ones of the caller. Needs the scope `mcp_connections.read`.',
    input: listMcpConnectionsInput,
    output: listDocument(connectionDocument),
    status: 200,
    errors: [400],
    examples: { output: { items: [connectionExample], nextCursor: null } },
    run: (context, { limit, cursor, type, visibility }) => {
      const filter = { types: type && [type], visibilities: visibility && [visibility] };
      return readList({ limit, cursor }, (page) => listMcpConnections(context, { filter, page }), toConnectionDocument);
    },
  }),
  route({
    method: 'POST',
    path: '/v1/mcp-connections',
    operationId: 'createMcpConnection',
    access: createMcpConnection.access,
    tag,
    callsOut: true,
    summary: 'Create an MCP connection.',
    description:
      'The body has one of two shapes, selected by `type`; without `type` it is `remote`. A stdio command is stored and never run. A remote server is called at once: it is connected, or an authorization is started and `authorizationUrl` is set. When the server fails (502), nothing is stored. Only administrators can create shared connections. Needs the scope `mcp_connections.write`.',
    input: createMcpConnectionInput,
    output: resultDocument,
    status: 201,
    errors: [400, 403, 404, 409, 500, 502],
    examples: { input: { name: 'Issue tracker', serverUrl: 'https://mcp.example.com/mcp' }, output: resultExample },
    run: async (context, input) => toResultDocument(await createMcpConnection(context, input)),
  }),
  route({
    method: 'POST',
    path: '/v1/mcp-connections/:mcpConnectionId/authorize',
    operationId: 'authorizeMcpConnection',
    access: authorizeMcpConnection.access,
    tag,
    callsOut: true,
    summary: 'Connect or authorize a remote MCP connection.',
    description:
      'Connects with the stored credentials, or starts an authorization. `authorizationUrl` is then the address where the user must grant access within 10 minutes. 409 for a stdio connection. Only administrators can authorize shared connections. Needs the scope `mcp_connections.write`.',
    input: mcpConnectionReference,
    output: resultDocument,
    status: 200,
    errors: [400, 403, 404, 409, 500, 502],
    optionalBody: true,
    examples: { output: resultExample },
    run: async (context, input) => toResultDocument(await authorizeMcpConnection(context, input)),
  }),
  route({
    method: 'GET',
    path: '/v1/mcp-connections/:mcpConnectionId',
    operationId: 'readMcpConnection',
    access: readMcpConnection.access,
    tag,
    summary: 'Read an MCP connection.',
    description:
      'The answer contains the names of headers and environment variables, never their values. Needs the scope `mcp_connections.read`.',
    input: mcpConnectionReference,
    output: connectionDocument,
    status: 200,
    errors: [400, 404],
    examples: { output: connectionExample },
    run: async (context, input) => toConnectionDocument(await readMcpConnection(context, input)),
  }),
  route({
    method: 'PATCH',
    path: '/v1/mcp-connections/:mcpConnectionId',
    operationId: 'updateMcpConnection',
    access: updateMcpConnection.access,
    optionalBody: true,
    tag,
    summary: 'Update an MCP connection without calling its server.',
    description:
      'A missing field does not change. `env` and `headers` are merged by name; `null` removes one. A new `serverUrl` or `clientId` deletes the authorization. Fields of the other type are refused unless they are `null`. Shared connections are changed by administrators, personal ones by their owner. Needs the scope `mcp_connections.write`.',
    input: updateMcpConnectionInput,
    output: connectionDocument,
    status: 200,
    errors: [400, 404, 409],
    examples: { input: { name: 'Issue tracker' }, output: connectionExample },
    run: async (context, input) => toConnectionDocument(connectionRow(await updateMcpConnection(context, input))),
  }),
  route({
    method: 'DELETE',
    path: '/v1/mcp-connections/:mcpConnectionId',
    operationId: 'deleteMcpConnection',
    access: deleteMcpConnection.access,
    tag,
    callsOut: true,
    summary: 'Delete an MCP connection with its secrets.',
    description:
      'Its tokens are revoked if the authorization server supports that, and it is removed from all sessions. Shared connections are deleted by administrators, personal ones by their owner. Needs the scope `mcp_connections.write`.',
    input: mcpConnectionReference,
    status: 204,
    errors: [400, 404],
    run: async (context, input) => void (await deleteMcpConnection(context, input)),
  }),
];

/** Pages that need no API key: the OAuth callback and the client metadata document. */
export const mcpConnectionPages: readonly PublicPage[] = [
  {
    path: CALLBACK_PATH,
    operationId: 'completeMcpAuthorization',
    answer: async (context, query) => {
      const [state, code, error, iss] = ['state', 'code', 'error', 'iss'].map((name) => {
        const values = query.getAll(name);
        // RFC 6749, section 3.1: a parameter occurs at most once.
        return values.length === 1 && (values[0]?.length ?? 0) <= 8192 ? values[0] : undefined;
      });
      const answer = await answerCallback(context, { state: state ?? '', code, error, iss });
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
