import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { connectionType, resolveList } from '../../core/graphql/connections.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { acceptingIds, keyFromId, nodeType, toGlobalId, uuidsOf } from '../../core/graphql/nodes.ts';
import { orderType } from '../../core/graphql/orders.ts';
import { SCOPES, type Scope } from '../../core/operation.ts';
import { resolveReference } from '../../core/graphql/references.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../core/graphql/selection.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import { type OrganizationRow, readOrganizations } from '../organizations/operations.ts';
import { UserType } from '../users/graphql.ts';
import { readUsers } from '../users/operations.ts';
import { apiKeyFilter, createApiKeyInput, renameApiKeyInput, revokeApiKeyInput } from './input.ts';
import { createApiKey, listApiKeys, readApiKeys, renameApiKey, revokeApiKey } from './operations.ts';
import { READ_API_KEYS, mayManage } from './policy.ts';
import { type ApiKeyOrderField, type ApiKeyRow, apiKeyRow } from './queries.ts';

const SCOPE_DESCRIPTIONS: Record<Scope, string> = {
  'mcp_connections.read': 'See MCP connections.',
  'mcp_connections.write': 'Create, change, authorize and delete MCP connections.',
  'api_keys.read': 'See API keys, never the secret.',
  'api_keys.write': 'Create, rename and revoke API keys.',
  'sessions.read': 'Read sessions and their events.',
  'sessions.write': 'Change sessions.',
  'sessions.record': 'Record sessions and their events; for agent runners.',
  'organizations.write': 'Create and change organizations and their members.',
  'users.delete': "Delete the caller's own account.",
  'behavioral_events.event_definitions.read_write': 'Manage event definitions.',
  'analytics.behavioral_events.send': 'Send event occurrences.',
  social: 'Use the deprecated social publishing API.',
};

export const ScopeEnum = builder.enumType('Scope', {
  description: 'What a key may do.',
  values: Object.fromEntries(
    SCOPES.map((scope) => [
      scope.replaceAll('.', '_').toUpperCase(),
      { value: scope, description: `\`${scope}\`: ${SCOPE_DESCRIPTIONS[scope]}` },
    ]),
  ),
});

const MANAGERS =
  'its user, or an administrator of the organization it is bound to, with the scope `api_keys.write`. False once it is revoked';

/** A key, with the organization that it is bound to where that was made with it: the caller need not act there. */
interface ShownApiKey extends ApiKeyRow {
  readonly organization?: OrganizationRow;
}

export const ApiKeyType = nodeType<ApiKeyRow, ShownApiKey>('ApiKey', {
  description:
    'A credential of a user: bound to one organization, or unbound, and then it acts in any organization of its user. The secret itself is shown once, when it is created.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readApiKeys(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    name: t.exposeString('name', { description: 'What it is called; 1 to 100 characters.' }),
    preview: t.exposeString('preview', {
      description: 'Its first and last characters, to recognize the key by: `wgk_ab12…yz`.',
    }),
    scopes: t.expose('scopes', { type: [ScopeEnum], description: 'What it may do.' }),
    user: t.field({
      type: UserType,
      nullable: true,
      description: 'The user whom it belongs to. Null for somebody who has left the organization.',
      extensions: { ...OWN_STATEMENT, ...needs<ApiKeyRow>('userId') },
      resolve: ({ userId }, _, context, info) => resolveReference({ context, info }, 'User', userId, readUsers),
    }),
    organization: t.field({
      type: OrganizationType,
      nullable: true,
      description: 'The organization that it is bound to. Null for an unbound key.',
      extensions: { ...OWN_STATEMENT, ...needs<ApiKeyRow>('organizationId') },
      resolve: ({ organizationId, organization }, _, context, info) =>
        organization ?? resolveReference({ context, info }, 'Organization', organizationId, readOrganizations),
    }),
    viewerCanUpdate: t.boolean({
      description: `Whether the caller may rename it: ${MANAGERS}.`,
      extensions: needs<ApiKeyRow>('organizationId', 'userId', 'revokedAt'),
      resolve: (key, _, { actor }) => mayManage(actor, key),
    }),
    viewerCanRevoke: t.boolean({
      description: `Whether the caller may revoke it: ${MANAGERS}.`,
      extensions: needs<ApiKeyRow>('organizationId', 'userId', 'revokedAt'),
      resolve: (key, _, { actor }) => mayManage(actor, key),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key expires; null for never.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it last authenticated, to the minute.',
    }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'When it was revoked.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
});

export const ApiKeyConnection = connectionType(ApiKeyType, { of: 'API keys' });

export const ApiKeyFilter = builder.inputType('ApiKeyFilter', {
  description: 'Which API keys to list. All given conditions must be met; an empty list matches nothing.',
  validate: acceptingIds(apiKeyFilter, { userIds: 'User' }),
  fields: (t) => ({
    includeRevoked: t.boolean({ defaultValue: false, description: 'Whether to list revoked keys, too.' }),
    userIds: t.idList({ description: 'Of any of these users, at most 100; either id.' }),
    search: t.string({
      description: 'Its name contains this text of at most 100 characters. Case is ignored; `%` and `_` are plain.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Created at this moment or after it.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Created before this moment.' }),
  }),
});

export const API_KEY_ORDER = orderType<ApiKeyOrderField>('ApiKey', {
  of: 'API keys',
  fields: { CREATED_AT: 'Time of creation.', NAME: 'What the key is called.' },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});

builder.objectField(OrganizationType, 'apiKeys', (t) =>
  t.connection(
    {
      type: ApiKeyType,
      description: 'Its API keys, newest first unless ordered otherwise: all for an admin, their own for a member.',
      args: {
        filter: t.arg({ type: ApiKeyFilter, description: 'Which ones; all that are active when absent.' }),
        orderBy: t.arg(API_KEY_ORDER.argument),
      },
      extensions: {
        ...refusable(listApiKeys.access, { actingOrganization: true }),
        ...needs<{ id: string }>('id'),
      },
      resolve: ({ id: organizationId }, args, context, info) => {
        const { filter, orderBy, ...page } = args;
        const selected = selectedColumns<ApiKeyRow>(info, 'ApiKey');
        const asked = { organizationId, filter: filter ?? {}, order: API_KEY_ORDER.orderOf(orderBy) };
        const list = () => listApiKeys(context, asked, page, selected);
        return resolveList({ context, info, args }, organizationId, list, selected);
      },
    },
    ApiKeyConnection,
  ),
);

builder.queryField('apiKey', (t) =>
  t.field({
    type: ApiKeyType,
    nullable: true,
    description: 'One API key, revoked ones included; null when there is none that the caller may see.',
    extensions: { ...OWN_STATEMENT, ...refusable(READ_API_KEYS) },
    args: { id: t.arg.id({ required: true, description: 'Either id of the key.' }) },
    resolve: async (_, { id }, context, info) => {
      const keys = uuidsOf([String(keyFromId('ApiKey', id))]);
      return (await readApiKeys(context, keys, selectedColumns<ApiKeyRow>(info, 'ApiKey')))[0] ?? null;
    },
  }),
);

mutation('createApiKey', {
  access: createApiKey.access,
  description:
    'Creates a key of the caller: for the organization that the request acts in, for `organizationId`, or for all of their organizations. It is never stronger than the calling key. A user has at most 25 active keys in an organization and 25 unbound ones.',
  schema: createApiKeyInput,
  ids: { organizationId: 'Organization' },
  input: (t) => ({
    name: t.string({ required: true, description: '1 to 100 characters.' }),
    scopes: t.field({
      type: [ScopeEnum],
      required: true,
      description: 'What it may do; at least one, and each of them a scope of the calling key.',
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description:
        'When the key expires, not after the calling key. When absent, it expires with the calling key, or never.',
    }),
    organizationId: t.id({
      description:
        "Either id of the organization that the key is bound to, one of the caller's; the one that the request acts in when absent.",
    }),
    allOrganizations: t.boolean({
      defaultValue: false,
      description:
        'Whether the key is unbound: it acts in any organization of its user. Not together with `organizationId`.',
    }),
  }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input) => {
    const { apiKey, key } = await createApiKey(context, input);
    return { apiKey: apiKeyRow(apiKey), key };
  },
  payload: (t) => ({
    apiKey: t.field({
      type: ApiKeyType,
      description: 'The new key, without its secret.',
      resolve: ({ apiKey }) => apiKey,
    }),
    key: t.exposeString('key', { description: 'The secret. It is shown here and never again.' }),
  }),
});

mutation('renameApiKey', {
  access: renameApiKey.access,
  description: 'Changes what a key is called.',
  schema: renameApiKeyInput,
  ids: { apiKeyId: 'ApiKey' },
  input: (t) => ({
    apiKeyId: t.id({ required: true, description: 'Either id of the key.' }),
    name: t.string({ required: true, description: '1 to 100 characters.' }),
  }),
  errors: [NotFoundError],
  run: async (context, input) => ({ apiKey: apiKeyRow(await renameApiKey(context, input)) }),
  payload: (t) => ({
    apiKey: t.field({ type: ApiKeyType, description: 'The renamed key.', resolve: ({ apiKey }) => apiKey }),
  }),
});

mutation('revokeApiKey', {
  access: revokeApiKey.access,
  description: 'Revokes an active key: no request that begins after the answer is accepted with it.',
  schema: revokeApiKeyInput,
  ids: { apiKeyId: 'ApiKey' },
  input: (t) => ({ apiKeyId: t.id({ required: true, description: 'Either id of the key.' }) }),
  errors: [NotFoundError],
  run: async (context, input) => ({ apiKey: apiKeyRow(await revokeApiKey(context, input)) }),
  payload: (t) => ({
    apiKey: t.field({ type: ApiKeyType, description: 'The revoked key.', resolve: ({ apiKey }) => apiKey }),
    deletedId: t.id({
      description: 'Global id of the revoked key.',
      resolve: ({ apiKey }) => toGlobalId('ApiKey', apiKey.id),
    }),
  }),
});
