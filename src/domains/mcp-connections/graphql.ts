import { z } from 'zod';
import { builder } from '../../core/builder.ts';
import { toConnection } from '../../core/connection.ts';
import { ConflictError, NotFoundError, RemoteFailedError } from '../../core/errors.ts';
import { mutation } from '../../core/mutation.ts';
import { keyFromId, nodeType, toGlobalId, uuidsOf } from '../../core/node.ts';
import { OrganizationType } from '../organizations/graphql.ts';
import { authorizeMcpConnection } from './authorization.ts';
import { followMcpConnection } from './changes.ts';
import { createMcpConnectionInput, mcpConnectionReference, updateMcpConnectionInput } from './input.ts';
import { readTools, testMcpConnection } from './live.ts';
import {
  createMcpConnection,
  deleteMcpConnection,
  listMcpConnections,
  readMcpConnections,
  updateMcpConnection,
} from './operations.ts';
import type { ServerInfo, Tool } from './remote.ts';
import type { McpConnectionRow } from './rows.ts';
import { standingOf } from './status.ts';

const TypeEnum = builder.enumType('McpServerType', {
  description: 'How an MCP server is reached.',
  values: {
    REMOTE: { value: 'remote', description: 'Over Streamable HTTP.' },
    STDIO: {
      value: 'stdio',
      description: 'By a command that is stored here and run elsewhere; the gateway never runs it.',
    },
  } as const,
});

const VisibilityEnum = builder.enumType('McpServerVisibility', {
  description: 'Who sees a connection.',
  values: {
    SHARED: { value: 'shared', description: 'The whole organization; admins manage it.' },
    PERSONAL: { value: 'personal', description: 'Its owner alone.' },
  } as const,
});

const AuthTypeEnum = builder.enumType('McpServerAuthType', {
  description: 'How a remote server is authorized.',
  values: {
    OAUTH: {
      value: 'oauth',
      description: 'By its user, with OAuth; a server that asks for nothing is connected at once.',
    },
    CLIENT_CREDENTIALS: {
      value: 'client_credentials',
      description: 'By client id and secret (RFC 6749, section 4.4).',
    },
    STATIC_HEADERS: { value: 'static_headers', description: 'By headers that are sent with each request.' },
  } as const,
});

const RegistrationEnum = builder.enumType('McpServerOAuthRegistration', {
  description: 'Where the OAuth client comes from.',
  values: {
    AUTOMATIC: {
      value: 'automatic',
      description: 'A client id metadata document where the server supports it, else dynamic registration.',
    },
    PRE_REGISTERED: { value: 'pre_registered', description: 'The owner has registered one; `clientId` names it.' },
  } as const,
});

const StatusEnum = builder.enumType('McpServerStatus', {
  description: 'Where a connection stands.',
  values: {
    STORED: { description: 'A stdio command, which is only stored.' },
    PENDING_AUTHORIZATION: {
      description:
        'An authorization was begun; its user has to complete it at the `authorizationUrl`, within 10 minutes.',
    },
    CONNECTED: { description: 'It works.' },
    AUTHORIZATION_REQUIRED: { description: 'Its user has to authorize it, for the first time or again.' },
    UNREACHABLE: {
      description: 'The server, or its authorization server, failed when last asked; credentials are kept.',
    },
    MISCONFIGURED: { description: 'The server does not accept what is stored.' },
  },
});

const NextActionEnum = builder.enumType('McpServerNextAction', {
  description: 'What can be done about the status.',
  values: {
    NONE: { description: 'Nothing.' },
    COMPLETE_AUTHORIZATION: {
      description: 'Open the `authorizationUrl` that was answered, or authorize again for a new one.',
    },
    AUTHORIZE: { description: 'Call `authorizeMcpServer`.' },
    TEST: { description: 'Call `testMcpServer` when the server is back.' },
    UPDATE: { description: 'Correct the connection with `updateMcpServer`, then authorize it.' },
  },
});

const ToolType = builder.objectRef<Tool>('McpTool').implement({
  description:
    'A tool, as the live server describes it. Its texts come from that server: do not trust them more than it.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'What it is called by.' }),
    title: t.exposeString('title', { nullable: true, description: 'What people read.' }),
    description: t.exposeString('description', { nullable: true, description: 'What it does.' }),
    inputSchema: t.field({
      type: 'JSON',
      description: 'JSON Schema of its arguments.',
      resolve: ({ inputSchema }) => inputSchema,
    }),
  }),
});

const ServerInfoType = builder.objectRef<ServerInfo>('McpServerInfo').implement({
  description: 'What a server says of itself.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    version: t.exposeString('version', { description: 'Its version.' }),
    protocolVersion: t.exposeString('protocolVersion', {
      nullable: true,
      description: 'The revision of the Model Context Protocol that was agreed on.',
    }),
  }),
});

export const McpServerType = nodeType<McpConnectionRow>('McpServer', {
  description:
    'An MCP connection: a registered MCP server, and how it is connected and authorized. Secrets are never shown, only their names.',
  keyOf: ({ id }) => id,
  load: (context, keys) => readMcpConnections(context, uuidsOf(keys)),
  fields: (t) => ({
    databaseId: t.field({ type: 'UUID', description: 'The id that REST uses.', resolve: ({ id }) => id }),
    name: t.exposeString('name', {
      description: '1 to 200 characters; unique among the shared ones, and among the personal ones of an owner.',
    }),
    type: t.field({ type: TypeEnum, description: 'How it is reached.', resolve: ({ type }) => type }),
    visibility: t.field({ type: VisibilityEnum, description: 'Who sees it.', resolve: ({ visibility }) => visibility }),
    command: t.exposeString('command', { nullable: true, description: 'The command of a stdio server.' }),
    args: t.stringList({
      nullable: true,
      description: 'The arguments of a stdio server.',
      resolve: ({ args }) => args,
    }),
    envKeys: t.stringList({ description: 'Names of environment variables.', resolve: ({ envKeys }) => envKeys }),
    serverUrl: t.field({
      type: 'URL',
      nullable: true,
      description: 'Where a remote server is.',
      resolve: ({ serverUrl }) => serverUrl,
    }),
    authType: t.field({
      type: AuthTypeEnum,
      nullable: true,
      description: 'How a remote server is authorized.',
      resolve: ({ authType }) => authType,
    }),
    headerKeys: t.stringList({ description: 'Names of headers.', resolve: ({ headerKeys }) => headerKeys }),
    clientId: t.exposeString('clientId', { nullable: true, description: 'The OAuth client that its owner gave.' }),
    oauthRegistration: t.field({
      type: RegistrationEnum,
      nullable: true,
      description: 'Where the OAuth client comes from.',
      resolve: ({ oauthRegistration }) => oauthRegistration,
    }),
    scope: t.exposeString('scope', {
      nullable: true,
      description: 'The scope that its owner wants; null to leave it to the server.',
    }),
    status: t.field({
      type: StatusEnum,
      description: 'Where it stands.',
      resolve: (row, _, { now }) => standingOf(row, now()).status,
    }),
    statusReason: t.string({
      nullable: true,
      description: 'Why it does not work; null when it does.',
      resolve: (row, _, { now }) => standingOf(row, now()).statusReason,
    }),
    nextAction: t.field({
      type: NextActionEnum,
      description: 'What can be done about it.',
      resolve: (row, _, { now }) => standingOf(row, now()).nextAction,
    }),
    issuer: t.string({
      nullable: true,
      description: 'The authorization server that its tokens come from.',
      resolve: ({ authorizationServer }) => authorizationServer?.issuer,
    }),
    grantedScopes: t.stringList({
      nullable: true,
      description: 'What was granted.',
      resolve: ({ grantedScopes }) => grantedScopes,
    }),
    connectedAt: t.expose('connectedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it is connected; null when it is not.',
    }),
    lastCheckedAt: t.expose('lastCheckedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the server was last asked, to the minute.',
    }),
    authorizationExpiresAt: t.expose('authorizationExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when an authorization that was begun can be completed.',
    }),
    tokenExpiresAt: t.expose('tokenExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the access token expires; it is refreshed before.',
    }),
    tools: t.field({
      type: [ToolType],
      nullable: true,
      description:
        'The tools of the live server, asked for now unless that was less than 30 seconds ago; null for stdio. At most 10 servers are asked in one request.',
      resolve: (row, _, context) => readTools(context, row),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was registered.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it, or its status, was last changed.' }),
  }),
});

builder.objectField(OrganizationType, 'mcpServers', (t) =>
  t.connection(
    {
      type: McpServerType,
      description: 'Its MCP connections that the caller may see, by name: the shared ones and their own personal ones.',
      args: {
        type: t.arg({ type: TypeEnum, description: 'Only those reached this way.' }),
        visibility: t.arg({ type: VisibilityEnum, description: 'Only shared, or only personal ones.' }),
      },
      resolve: async (_, { type, visibility, ...page }, context) => {
        const list = await listMcpConnections(context, { type, visibility }, page);
        return { ...toConnection(list.page), total: list.total };
      },
    },
    {
      description: 'A page of MCP connections.',
      fields: (c) => ({
        totalCount: c.int({
          description: 'How many fit the filter; costs a statement, only when asked for.',
          resolve: (connection) => connection.total(),
        }),
      }),
    },
    { description: 'An MCP connection in a list.' },
  ),
);

builder.subscriptionField('mcpServer', (t) =>
  t.field({
    type: McpServerType,
    description:
      'Follows an MCP connection: as it is now, then each time it has changed, such as when its user has completed the authorization. Ends when it is deleted.',
    args: { mcpServerId: t.arg.id({ required: true, description: 'Either id of the connection.' }) },
    subscribe: (_, { mcpServerId }, context) => {
      const [mcpConnectionId] = uuidsOf([String(keyFromId('McpServer', mcpServerId))]);
      if (!mcpConnectionId) throw new NotFoundError('MCP connection not found');
      return followMcpConnection(context, { mcpConnectionId });
    },
    resolve: (row) => row,
  }),
);

const NamedValueInput = builder.inputType('McpNamedValueInput', {
  description: 'A header or an environment variable.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 256 characters.' }),
    value: t.string({ required: true, description: 'At most 16384 characters; stored encrypted and never shown.' }),
  }),
});

const NamedChangeInput = builder.inputType('McpNamedChangeInput', {
  description: 'A change of a header or an environment variable.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 256 characters.' }),
    value: t.string({ description: 'The new value; null removes it.' }),
  }),
});

const StdioInput = builder.inputType('StdioMcpServerInput', {
  description: 'An MCP server that is started by a command. The command is stored and never run here.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 200 characters.' }),
    command: t.string({ required: true, description: '1 to 4096 characters.' }),
    args: t.stringList({ description: 'At most 100, each at most 8192 characters.' }),
    env: t.field({ type: [NamedValueInput], description: 'Environment variables.' }),
    visibility: t.field({ type: VisibilityEnum, description: '`SHARED` when absent.' }),
  }),
});

const RemoteInput = builder.inputType('RemoteMcpServerInput', {
  description: 'An MCP server that is reached over Streamable HTTP.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 200 characters.' }),
    serverUrl: t.string({ required: true, description: 'http(s), without user information and fragment.' }),
    authType: t.field({ type: AuthTypeEnum, description: '`OAUTH` when absent.' }),
    clientId: t.string({ description: '1 to 4096 characters; for a client that the owner registered.' }),
    clientSecret: t.string({ description: '1 to 65536 characters; stored encrypted and never shown.' }),
    headers: t.field({ type: [NamedValueInput], description: 'For `STATIC_HEADERS`.' }),
    oauthRegistration: t.field({ type: RegistrationEnum, description: '`AUTOMATIC` when absent.' }),
    scope: t.string({ description: '1 to 4096 characters: what to ask for; left to the server when absent.' }),
    visibility: t.field({ type: VisibilityEnum, description: '`SHARED` when absent.' }),
  }),
});

/** Lists of names and values become the objects that REST takes. A name that is given twice cannot be one. */
function withRecords(given: unknown, context: z.RefinementCtx): unknown {
  if (typeof given !== 'object' || given === null) return given;
  return Object.fromEntries(
    Object.entries(given).map(([field, value]: [string, unknown]) => {
      if ((field !== 'env' && field !== 'headers') || !Array.isArray(value)) return [field, value];
      const pairs = (value as { name: string; value?: string | null }[]).map((pair): [string, string | null] => [
        pair.name,
        pair.value ?? null,
      ]);
      if (new Set(pairs.map(([name]) => name)).size < pairs.length)
        context.addIssue({ code: 'custom', path: [field], message: 'must not name one twice' });
      return [field, Object.fromEntries(pairs)];
    }),
  );
}

const IDS = { mcpServerId: 'McpServer' };
const id = 'Either id of the connection.';

/** GraphQL says `mcpServerId` where REST says `mcpConnectionId`. */
function withConnectionId(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !('mcpServerId' in given)) return given;
  const { mcpServerId: mcpConnectionId, ...rest } = given;
  return { mcpConnectionId, ...rest };
}

const reference = z.preprocess(withConnectionId, mcpConnectionReference);
const authorizationUrl = {
  type: 'URL',
  nullable: true,
  description:
    'Where its user authorizes it, to be opened in a browser within 10 minutes; null when that is not needed.',
} as const;

mutation('createMcpServer', {
  description:
    'Registers an MCP connection. A remote server is spoken to: it is connected, or its authorization begins; when it fails, nothing is left behind.',
  isOneOf: true,
  schema: z.preprocess((given, context) => {
    const { stdio, remote } = given as { stdio?: object; remote?: object };
    return stdio
      ? { ...(withRecords(stdio, context) as object), type: 'stdio' }
      : { ...(withRecords(remote, context) as object), type: 'remote' };
  }, createMcpConnectionInput),
  input: (t) => ({
    stdio: t.field({ type: StdioInput, description: 'A command, which is stored only.' }),
    remote: t.field({ type: RemoteInput, description: 'A remote server.' }),
  }),
  errors: [ConflictError, RemoteFailedError],
  run: createMcpConnection,
  payload: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The new connection.',
      resolve: ({ connection }) => connection,
    }),
    authorizationUrl: t.field({ ...authorizationUrl, resolve: (result) => result.authorizationUrl }),
  }),
});

mutation('authorizeMcpServer', {
  description: 'Connects a remote connection with what is stored, or begins its authorization.',
  schema: reference,
  ids: IDS,
  input: (t) => ({ mcpServerId: t.id({ required: true, description: id }) }),
  errors: [NotFoundError, ConflictError, RemoteFailedError],
  run: authorizeMcpConnection,
  payload: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The connection.',
      resolve: ({ connection }) => connection,
    }),
    authorizationUrl: t.field({ ...authorizationUrl, resolve: (result) => result.authorizationUrl }),
  }),
});

mutation('testMcpServer', {
  description: 'Asks a remote server whether it answers with what is stored, and notes the outcome in its status.',
  schema: reference,
  ids: IDS,
  input: (t) => ({ mcpServerId: t.id({ required: true, description: id }) }),
  errors: [NotFoundError, ConflictError, RemoteFailedError],
  run: testMcpConnection,
  payload: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The connection.',
      resolve: ({ connection }) => connection,
    }),
    info: t.field({
      type: ServerInfoType,
      description: 'What the server says of itself.',
      resolve: ({ info }) => info,
    }),
  }),
});

mutation('updateMcpServer', {
  description:
    'Changes a connection; the server is not asked. A new `serverUrl` clears all credentials: nothing that was given for one server is shown to another.',
  schema: z.preprocess((given, context) => withConnectionId(withRecords(given, context)), updateMcpConnectionInput),
  ids: IDS,
  input: (t) => ({
    mcpServerId: t.id({ required: true, description: id }),
    name: t.string({ description: '1 to 200 characters; kept when absent.' }),
    command: t.string({ description: 'For stdio; kept when absent.' }),
    args: t.stringList({ description: 'For stdio; all of them; kept when absent.' }),
    env: t.field({ type: [NamedChangeInput], description: 'For stdio: merged by name.' }),
    serverUrl: t.string({ description: 'For remote servers; kept when absent.' }),
    headers: t.field({ type: [NamedChangeInput], description: 'For `STATIC_HEADERS`: merged by name, case ignored.' }),
    clientId: t.string({ description: 'For `OAUTH` and `CLIENT_CREDENTIALS`; kept when absent.' }),
    clientSecret: t.string({ description: 'For `OAUTH` and `CLIENT_CREDENTIALS`; kept when absent.' }),
    scope: t.string({
      description: 'What to ask for at the next authorization; kept when absent, left to the server when null.',
    }),
  }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input) => ({ connection: await updateMcpConnection(context, input) }),
  payload: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The changed connection.',
      resolve: ({ connection }) => connection,
    }),
  }),
});

mutation('deleteMcpServer', {
  description:
    'Deletes a connection with all its secrets, and revokes its tokens where the authorization server offers that (RFC 7009).',
  schema: reference,
  ids: IDS,
  input: (t) => ({ mcpServerId: t.id({ required: true, description: id }) }),
  errors: [NotFoundError],
  run: async (context, input) => ({ connection: await deleteMcpConnection(context, input) }),
  payload: (t) => ({
    deletedId: t.id({
      description: 'Global id of the connection that is gone.',
      resolve: ({ connection }) => toGlobalId('McpServer', connection.id),
    }),
  }),
});
