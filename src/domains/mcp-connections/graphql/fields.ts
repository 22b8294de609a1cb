import { CALLS_OUT, OWN_STATEMENT } from '../../../core/graphql/builder.ts';
import type { FieldsOf } from '../../../core/graphql/nodes.ts';
import { resolveReference } from '../../../core/graphql/references.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { UserType } from '../../users/graphql.ts';
import { readUsers } from '../../users/operations.ts';
import { mayManage } from '../policy.ts';
import type { McpConnectionRow } from '../queries.ts';
import { standingOf } from '../status.ts';
import { readTools } from '../tool-operations.ts';
import { AuthTypeEnum, NextActionEnum, RegistrationEnum, StatusEnum, TypeEnum, VisibilityEnum } from './enums.ts';
import { ToolType } from './value-types.ts';

/** The fields of an MCP connection, by subject. */

type Fields = FieldsOf<McpConnectionRow>;

const MANAGERS =
  'an administrator for a shared connection, its owner for a personal one, with the scope `mcp_connections.write`';

/** What the connection is called, and whose it is. */
export function identityFields(t: Fields) {
  return {
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    name: t.exposeString('name', {
      description:
        '1 to 200 characters; unique among the shared connections, and among the personal connections of an owner.',
    }),
    visibility: t.expose('visibility', { type: VisibilityEnum, description: 'Who can see the connection.' }),
    owner: t.field({
      type: UserType,
      nullable: true,
      description:
        'Who created the connection; a personal one belongs to them alone. Null when that user deleted their account or left the organization.',
      extensions: { ...OWN_STATEMENT, ...needs<McpConnectionRow>('ownerId') },
      resolve: ({ ownerId }, _, context, info) => resolveReference({ context, info }, 'User', ownerId, readUsers),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the connection was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When the connection or its status last changed; `expectedUpdatedAt` is compared with it.',
    }),
  };
}

/** How the server is reached, and its tools. */
export function serverFields(t: Fields) {
  return {
    type: t.expose('type', { type: TypeEnum, description: 'How the server is reached.' }),
    command: t.exposeString('command', {
      nullable: true,
      description: 'The command of a stdio server; null for a remote one.',
    }),
    args: t.exposeStringList('args', {
      nullable: true,
      description: 'The arguments of the command of a stdio server; null for a remote one.',
    }),
    envKeys: t.exposeStringList('envKeys', {
      description: 'Names of the environment variables of a stdio server; their values are never shown.',
    }),
    serverUrl: t.expose('serverUrl', {
      type: 'URL',
      nullable: true,
      description: 'URL of a remote server; null for a stdio one.',
    }),
    headerKeys: t.exposeStringList('headerKeys', {
      description: 'Names of the headers that are sent to a remote server; their values are never shown.',
    }),
    tools: t.field({
      type: [ToolType],
      nullable: true,
      description:
        'The tools of the live server, which is asked unless it was asked less than 30 seconds ago; null for stdio. One request asks at most 10 servers.',
      extensions: { ...CALLS_OUT, ...needs<McpConnectionRow>('id', 'type', 'updatedAt') },
      resolve: (row, _, context) => readTools(context, row),
    }),
  };
}

/** How a remote server is authorized, and what was granted. */
export function authorizationFields(t: Fields) {
  return {
    authType: t.expose('authType', {
      type: AuthTypeEnum,
      nullable: true,
      description: 'How a remote server is authorized; null for stdio.',
    }),
    clientId: t.exposeString('clientId', {
      nullable: true,
      description: 'The OAuth client id that was given with the connection; null when there is none.',
    }),
    oauthRegistration: t.expose('oauthRegistration', {
      type: RegistrationEnum,
      nullable: true,
      description: 'Where the OAuth client comes from; null unless `authType` is `OAUTH`.',
    }),
    scope: t.exposeString('scope', {
      nullable: true,
      description: 'The OAuth scopes to ask for, joined by spaces; null to leave them to the server.',
    }),
    issuer: t.expose('issuer', {
      type: 'URL',
      nullable: true,
      description: 'The authorization server that issued its tokens; null while there are none.',
    }),
    grantedScopes: t.exposeStringList('grantedScopes', {
      nullable: true,
      description: 'The OAuth scopes that were granted; null while that is not known.',
    }),
    authorizationExpiresAt: t.expose('authorizationExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the authorization that was started can be completed; null when none was started.',
    }),
    tokenExpiresAt: t.expose('tokenExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the access token expires, which is refreshed before; null when that is not known.',
    }),
  };
}

/** Whether it works, and what to do if it does not. */
export function statusFields(t: Fields) {
  return {
    status: t.field({
      type: StatusEnum,
      description: 'Whether the connection works, and if not, what is missing.',
      extensions: needs<McpConnectionRow>('status', 'authorizationExpiresAt'),
      resolve: (row, _, { now }) => standingOf(row, now()).status,
    }),
    statusReason: t.string({
      nullable: true,
      description: 'Why the connection does not work; null when it does.',
      extensions: needs<McpConnectionRow>('status', 'statusReason', 'authorizationExpiresAt'),
      resolve: (row, _, { now }) => standingOf(row, now()).statusReason,
    }),
    nextAction: t.field({
      type: NextActionEnum,
      description: 'What to do next, according to the status.',
      extensions: needs<McpConnectionRow>('status', 'authorizationExpiresAt'),
      resolve: (row, _, { now }) => standingOf(row, now()).nextAction,
    }),
    connectedAt: t.expose('connectedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when the connection works; null when it does not.',
    }),
    lastCheckedAt: t.expose('lastCheckedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the server was last asked, to the minute; null when it never was.',
    }),
  };
}

/** What the caller may do with it. */
export function viewerFields(t: Fields) {
  return {
    viewerCanUpdate: t.boolean({
      description: `Whether the caller may change the connection: ${MANAGERS}.`,
      extensions: needs<McpConnectionRow>('visibility'),
      resolve: (connection, _, { actor }) => mayManage(actor, connection),
    }),
    viewerCanDelete: t.boolean({
      description: `Whether the caller may delete the connection: ${MANAGERS}.`,
      extensions: needs<McpConnectionRow>('visibility'),
      resolve: (connection, _, { actor }) => mayManage(actor, connection),
    }),
    viewerCanAuthorize: t.boolean({
      description: `Whether the caller may authorize the connection: for a remote server, ${MANAGERS}. False for stdio, which needs no authorization.`,
      extensions: needs<McpConnectionRow>('visibility', 'type'),
      resolve: (connection, _, { actor }) => connection.type === 'remote' && mayManage(actor, connection),
    }),
  };
}
