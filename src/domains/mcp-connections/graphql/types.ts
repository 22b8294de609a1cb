import { type FieldsOf, entityType } from '../../../core/graphql/nodes.ts';
import { readMcpConnections } from '../operations.ts';
import type { McpConnectionRow } from '../queries.ts';
import { exposed, exposedWith, nullable } from '../../../core/graphql/fields.ts';
import { toGlobalId } from '../../../core/graphql/global-ids.ts';
import { CALLS_OUT } from '../../../core/graphql/builder.ts';
import { WORK } from '../../../core/work-budget.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { actorField } from '../../organizations/graphql/actors.ts';
import { userField } from '../../users/graphql.ts';
import { mayManage } from '../policy.ts';
import { standingOf } from '../status.ts';
import { TOOL_COLUMNS, readTools } from '../tool-operations.ts';
import {
  AuthTypeEnum,
  NextActionEnum,
  RegistrationEnum,
  StatusEnum,
  ToolCallRecordingEnum,
  ToolChangeEnum,
  TypeEnum,
  VisibilityEnum,
} from './enums.ts';
import { SETTINGS_TEXTS } from '../texts.ts';
import { mayUse } from '../tool-rules.ts';
import { AccessType, ToolPolicyType, ToolRuleType, ToolType } from './value-types.ts';

/** The fields of an MCP connection, in groups. */

type Fields = FieldsOf<McpConnectionRow>;

const MANAGERS =
  'administrators for a shared connection, the owner for a personal one, in both cases with the scope `mcp_connections.write`';

/** Fields that identify the connection and its owner. */
export const identityFields = (t: Fields) => ({
  name: t.exposeString('name', {
    description:
      'Name of 1 to 200 characters. It is unique among the shared connections, and among the personal connections of each owner.',
  }),
  visibility: t.expose('visibility', { type: VisibilityEnum, description: 'Who can see the connection.' }),
  owner: userField(
    t,
    'ownerId',
    'The user who created the connection, and who owns it when it is personal. Null when that user deleted their account or left the organization, and for a service account.',
    undefined,
    'Use `ownedBy`, which has service accounts too. Removed on 2027-12-01.',
  ),
  ownedBy: actorField(
    t,
    'ownerId',
    'The person or service account that created the connection, and that owns it when it is personal. Null when that person deleted their account or left the organization.',
  ),
  createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the connection was created.' }),
  updatedAt: t.expose('updatedAt', {
    type: 'DateTime',
    description: 'When the connection or its status last changed. `expectedUpdatedAt` is compared with it.',
  }),
});

const OF_TOOLS = { ...CALLS_OUT, ...needs<McpConnectionRow>(...TOOL_COLUMNS) };

/** Fields about the server and its tools. */
export const serverFields = (t: Fields) => ({
  ...exposed(t, {
    type: [TypeEnum, 'How the server is reached.'],
    command: [nullable('String'), 'Command of a stdio server, 1 to 4096 characters. Null for a remote server.'],
    args: [nullable(['String']), 'Arguments of the command, at most 100. Null for a remote server.'],
    serverUrl: [nullable('URL'), 'URL of a remote server. Null for a stdio server.'],
  }),
  envKeys: t.exposeStringList('envKeys', {
    description:
      'Names of the environment variables of a stdio server. The values are never shown. Empty for a remote server.',
  }),
  headerKeys: t.exposeStringList('headerKeys', {
    description:
      'Names of the headers that are sent to a remote server. The values are never shown. Empty for a stdio server.',
  }),
  tools: t.field({
    type: [ToolType],
    nullable: true,
    description: `Tools of the server. What the caller may not use is shown only to who can change the connection. The list is kept for up to 60 seconds, and then read from the server again; a server that has failed is asked again after 10 seconds. Null for a stdio server. A request asks ${WORK.toolServers} servers at a time, so that it can list the tools of any number of connections.`,
    extensions: OF_TOOLS,
    resolve: async (row, _, context) => (await readTools(context, row))?.tools ?? null,
  }),
  toolCount: t.int({
    nullable: true,
    description: 'Number of tools that `tools` lists, read together with it. Null for a stdio server.',
    extensions: OF_TOOLS,
    resolve: async (row, _, context) => (await readTools(context, row))?.tools.length ?? null,
  }),
  toolsReadAt: t.field({
    type: 'DateTime',
    nullable: true,
    description: 'When `tools` was read from the server, at most 60 seconds ago. Null for a stdio server.',
    extensions: OF_TOOLS,
    resolve: async (row, _, context) => (await readTools(context, row))?.readAt ?? null,
  }),
  toolsNotice: t.string({
    nullable: true,
    description:
      'Says that the server has more tools than `tools` lists: at most 2,000, in 100 pages and 4 MiB. Null when all are listed. It is read together with `tools`.',
    extensions: OF_TOOLS,
    resolve: async (row, _, context) => (await readTools(context, row))?.notice ?? null,
  }),
});

/** Fields about the authorization of a remote server. */
export const authorizationFields = (t: Fields) => ({
  ...exposed(t, {
    authType: [nullable(AuthTypeEnum), 'How the remote server is authorized. Null for a stdio server.'],
    clientId: [nullable('String'), 'OAuth client id that was given with the connection. Null when none was given.'],
    scope: [nullable('String'), 'OAuth scopes to request, separated by spaces. Null when the server decides.'],
    issuer: [nullable('URL'), 'Authorization server that issued the tokens. Null while there are no tokens.'],
    grantedScopes: [nullable(['String']), 'OAuth scopes that were granted. Null while they are unknown.'],
  }),
  oauthRegistration: t.expose('oauthRegistration', {
    type: RegistrationEnum,
    nullable: true,
    description: 'Where the OAuth client comes from. Null unless `authType` is `OAUTH`.',
  }),
  authorizationExpiresAt: t.expose('authorizationExpiresAt', {
    type: 'DateTime',
    nullable: true,
    description: 'When the pending authorization expires. Null when no authorization is pending.',
  }),
  tokenExpiresAt: t.expose('tokenExpiresAt', {
    type: 'DateTime',
    nullable: true,
    description: 'When the access token expires. It is refreshed before that time. Null when the expiry is unknown.',
  }),
});

/** Fields that `updateMcpServerSettings` changes. */
export const settingsFields = (t: Fields) => ({
  ...exposedWith(t, SETTINGS_TEXTS, {
    handle: 'String',
    toolPolicy: ToolPolicyType,
    access: AccessType,
    onToolChange: ToolChangeEnum,
    recordToolCalls: ToolCallRecordingEnum,
    audience: nullable('String'),
    resource: nullable('String'),
    allowMissingPkceMetadata: 'Boolean',
  }),
  approverGroupIds: t.idList({
    description: SETTINGS_TEXTS.approverGroupIds,
    extensions: needs<McpConnectionRow>('approverGroupIds'),
    resolve: ({ approverGroupIds }) => approverGroupIds.map((id) => toGlobalId('Group', id)),
  }),
  toolRules: t.field({
    type: [ToolRuleType],
    description: SETTINGS_TEXTS.toolRules,
    extensions: needs<McpConnectionRow>('toolRules'),
    resolve: ({ toolRules }) => [...toolRules],
  }),
});

export const statusFields = (t: Fields) => ({
  status: t.field({
    type: StatusEnum,
    description: 'Whether the connection works.',
    extensions: needs<McpConnectionRow>('status', 'authorizationExpiresAt'),
    resolve: (row, _, { now }) => standingOf(row, now()).status,
  }),
  statusReason: t.string({
    nullable: true,
    description: 'Why the connection does not work. Null when it works.',
    extensions: needs<McpConnectionRow>('status', 'statusReason', 'authorizationExpiresAt'),
    resolve: (row, _, { now }) => standingOf(row, now()).statusReason,
  }),
  nextAction: t.field({
    type: NextActionEnum,
    description: 'The next step to make the connection work.',
    extensions: needs<McpConnectionRow>('status', 'authorizationExpiresAt'),
    resolve: (row, _, { now }) => standingOf(row, now()).nextAction,
  }),
  ...exposed(t, {
    connectedAt: [nullable('DateTime'), 'When the connection was established. Null when it is not connected.'],
    lastCheckedAt: [
      nullable('DateTime'),
      'When the gateway last called the server, to the minute. Null when it never did.',
    ],
  }),
});

/** Fields about the rights of the caller. */
export function viewerFields(t: Fields) {
  const viewerCan = (action: string) =>
    t.boolean({
      description: `Whether the caller can ${action} the connection: ${MANAGERS}.`,
      extensions: needs<McpConnectionRow>('visibility'),
      resolve: (connection, _, { actor }) => mayManage(actor, connection),
    });
  return {
    viewerCanUpdate: viewerCan('change'),
    viewerCanDelete: viewerCan('delete'),
    viewerCanUse: t.boolean({
      description:
        'Whether the caller can use the connection: those to whom `access` opens it, with the scope `mcp_connections.use`.',
      extensions: needs<McpConnectionRow>('access'),
      resolve: (connection, _, context) => mayUse(context, connection),
    }),
    viewerCanAuthorize: t.boolean({
      description: `Whether the caller can authorize the connection: ${MANAGERS}. False for a stdio connection, which needs no authorization.`,
      extensions: needs<McpConnectionRow>('visibility', 'type'),
      resolve: (connection, _, { actor }) => connection.type === 'remote' && mayManage(actor, connection),
    }),
  };
}

export const McpServerType = entityType<McpConnectionRow>('McpServer', {
  stored: { table: 'mcp_connection' },
  description:
    'An MCP connection: a registered MCP server with its configuration, authorization and status. Names of secrets are shown, their values never.',
  read: readMcpConnections,
  fields: (t) => ({
    ...identityFields(t),
    ...serverFields(t),
    ...authorizationFields(t),
    ...settingsFields(t),
    ...statusFields(t),
    ...viewerFields(t),
  }),
});
