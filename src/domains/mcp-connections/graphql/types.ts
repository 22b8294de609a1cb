import { mayManage } from '../policy.ts';
import { CALLS_OUT, OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { nodeType, uuidsOf } from '../../../core/graphql/nodes.ts';
import { resolveReference } from '../../../core/graphql/references.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { UserType } from '../../users/graphql.ts';
import { readUsers } from '../../users/operations.ts';
import { readTools } from '../tool-operations.ts';
import { readMcpConnections } from '../operations.ts';
import type { ServerInfo, Tool } from '../remote/client.ts';
import type { McpConnectionRow } from '../queries.ts';
import { standingOf } from '../status.ts';

export const TypeEnum = builder.enumType('McpServerType', {
  description: 'How an MCP server is reached.',
  values: {
    REMOTE: { value: 'remote', description: 'Over Streamable HTTP.' },
    STDIO: {
      value: 'stdio',
      description: 'By a command that is stored here and run elsewhere; the gateway never runs it.',
    },
  } as const,
});

export const VisibilityEnum = builder.enumType('McpServerVisibility', {
  description: 'Who sees a connection.',
  values: {
    SHARED: { value: 'shared', description: 'The whole organization; admins manage it.' },
    PERSONAL: { value: 'personal', description: 'Its owner alone.' },
  } as const,
});

export const AuthTypeEnum = builder.enumType('McpServerAuthType', {
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

export const RegistrationEnum = builder.enumType('McpServerOAuthRegistration', {
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

export const ServerInfoType = builder.objectRef<ServerInfo>('McpServerInfo').implement({
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

const MANAGERS =
  'an administrator for a shared connection, its owner for a personal one, with the scope `mcp_connections.write`';

export const McpServerType = nodeType<McpConnectionRow>('McpServer', {
  description:
    'An MCP connection: a registered MCP server, and how it is connected and authorized. Secrets are never shown, only their names.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readMcpConnections(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    name: t.exposeString('name', {
      description: '1 to 200 characters; unique among the shared ones, and among the personal ones of an owner.',
    }),
    type: t.expose('type', { type: TypeEnum, description: 'How it is reached.' }),
    visibility: t.expose('visibility', { type: VisibilityEnum, description: 'Who sees it.' }),
    owner: t.field({
      type: UserType,
      nullable: true,
      description:
        'Who created it; a personal connection is theirs alone. Null for a deleted account, and for somebody who has left the organization.',
      extensions: { ...OWN_STATEMENT, ...needs<McpConnectionRow>('ownerId') },
      resolve: ({ ownerId }, _, context, info) => resolveReference({ context, info }, 'User', ownerId, readUsers),
    }),
    viewerCanUpdate: t.boolean({
      description: `Whether the caller may change it: ${MANAGERS}.`,
      extensions: needs<McpConnectionRow>('visibility'),
      resolve: (connection, _, { actor }) => mayManage(actor, connection),
    }),
    viewerCanDelete: t.boolean({
      description: `Whether the caller may delete it: ${MANAGERS}.`,
      extensions: needs<McpConnectionRow>('visibility'),
      resolve: (connection, _, { actor }) => mayManage(actor, connection),
    }),
    viewerCanAuthorize: t.boolean({
      description: `Whether the caller may authorize it: for a remote server, ${MANAGERS}. False for stdio, which needs no authorization.`,
      extensions: needs<McpConnectionRow>('visibility', 'type'),
      resolve: (connection, _, { actor }) => connection.type === 'remote' && mayManage(actor, connection),
    }),
    command: t.exposeString('command', { nullable: true, description: 'The command of a stdio server.' }),
    args: t.exposeStringList('args', { nullable: true, description: 'The arguments of a stdio server.' }),
    envKeys: t.exposeStringList('envKeys', { description: 'Names of environment variables.' }),
    serverUrl: t.expose('serverUrl', { type: 'URL', nullable: true, description: 'Where a remote server is.' }),
    authType: t.expose('authType', {
      type: AuthTypeEnum,
      nullable: true,
      description: 'How a remote server is authorized.',
    }),
    headerKeys: t.exposeStringList('headerKeys', { description: 'Names of headers.' }),
    clientId: t.exposeString('clientId', { nullable: true, description: 'The OAuth client that its owner gave.' }),
    oauthRegistration: t.expose('oauthRegistration', {
      type: RegistrationEnum,
      nullable: true,
      description: 'Where the OAuth client comes from.',
    }),
    scope: t.exposeString('scope', {
      nullable: true,
      description: 'The scope that its owner wants; null to leave it to the server.',
    }),
    status: t.field({
      type: StatusEnum,
      description: 'Where it stands.',
      extensions: needs<McpConnectionRow>('status', 'authorizationExpiresAt'),
      resolve: (row, _, { now }) => standingOf(row, now()).status,
    }),
    statusReason: t.string({
      nullable: true,
      description: 'Why it does not work; null when it does.',
      extensions: needs<McpConnectionRow>('status', 'statusReason', 'authorizationExpiresAt'),
      resolve: (row, _, { now }) => standingOf(row, now()).statusReason,
    }),
    nextAction: t.field({
      type: NextActionEnum,
      description: 'What can be done about it.',
      extensions: needs<McpConnectionRow>('status', 'authorizationExpiresAt'),
      resolve: (row, _, { now }) => standingOf(row, now()).nextAction,
    }),
    issuer: t.expose('issuer', {
      type: 'URL',
      nullable: true,
      description: 'The authorization server that its tokens come from.',
    }),
    grantedScopes: t.exposeStringList('grantedScopes', { nullable: true, description: 'What was granted.' }),
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
      extensions: { ...CALLS_OUT, ...needs<McpConnectionRow>('id', 'type', 'updatedAt') },
      resolve: (row, _, context) => readTools(context, row),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was registered.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When it, or its status, was last changed; what `expectedUpdatedAt` is compared with.',
    }),
  }),
});
