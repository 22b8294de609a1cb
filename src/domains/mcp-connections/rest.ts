import { z } from 'zod';
import { answerJson } from '../../core/http/messages.ts';
import { type PublicPage, route } from '../../core/http/route.ts';
import { type ConnectionResult, authorizeMcpConnection, completeAuthorization } from './oauth/operations.ts';
import { callbackPage } from './rest-callback-page.ts';
import { CALLBACK_PATH, CLIENT_METADATA_PATH, clientMetadataUrlOf } from './remote/connect.ts';
import { AUTH_TYPES, TYPES, VISIBILITIES } from './entity.ts';
import { createMcpConnectionInput, mcpConnectionReference } from './input.ts';
import { clientMetadata } from './oauth/client.ts';
import { createMcpConnection } from './operations.ts';
import { type McpConnectionRow, connectionRow } from './queries.ts';

const tag = 'MCP connections';

const connectionDocument = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    type: z.enum(TYPES),
    visibility: z.enum(VISIBILITIES),
    serverUrl: z.string().nullable(),
    connectedAt: z.iso.datetime().nullable(),
    args: z.array(z.string()).nullable(),
    authType: z.enum(AUTH_TYPES).nullable(),
    command: z.string().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    envKeys: z.array(z.string()),
    headerKeys: z.array(z.string()),
  })
  .meta({ id: 'McpConnection' });

const resultDocument = z
  .strictObject({ authorizationUrl: z.url().nullable(), connection: connectionDocument })
  .meta({ id: 'McpConnectionResult' });

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
    method: 'POST',
    path: '/v1/mcp-connections',
    operationId: 'createMcpConnection',
    tag,
    callsOut: true,
    summary:
      'Register an MCP connection: a stdio command, which is stored only, or a remote server, which is connected or begins its authorization.',
    input: createMcpConnectionInput,
    output: resultDocument,
    status: 201,
    errors: [400, 403, 404, 409, 500, 502],
    examples: { input: { name: 'Issue tracker', serverUrl: 'https://mcp.example.com/mcp' } },
    run: async (context, input) => toResultDocument(await createMcpConnection(context, input)),
  }),
  route({
    method: 'POST',
    path: '/v1/mcp-connections/:mcpConnectionId/authorize',
    operationId: 'authorizeMcpConnection',
    tag,
    callsOut: true,
    summary:
      'Connect a remote connection, or begin its authorization; `authorizationUrl` is set when its user has to authorize it.',
    input: mcpConnectionReference,
    output: resultDocument,
    status: 200,
    errors: [400, 403, 404, 409, 500, 502],
    optionalBody: true,
    run: async (context, input) => toResultDocument(await authorizeMcpConnection(context, input)),
  }),
];

/** Pages that need no key: where authorization servers send the browser back to, and where they read what client this is. */
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
      return callbackPage(await completeAuthorization(context, { state: state ?? '', code, error, iss }));
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
