import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { connectionType } from '../../core/graphql/connections.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { acceptingIds, keyFromId, toGlobalId, uuidsOf } from '../../core/graphql/global-ids.ts';
import { nodeType } from '../../core/graphql/nodes.ts';
import { orderType } from '../../core/graphql/orders.ts';
import { SCOPES, SCOPE_DECLARATIONS } from '../../core/access.ts';
import { resolveReference } from '../../core/graphql/references.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../core/graphql/selection.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import { type OrganizationRow, readOrganizations } from '../organizations/public.ts';
import { UserType } from '../users/graphql.ts';
import { readUsers } from '../users/public.ts';
import { apiKeyFilter, createApiKeyInput, renameApiKeyInput, revokeApiKeyInput } from './input.ts';
import { createApiKey, listApiKeys, readApiKeys, renameApiKey, revokeApiKey } from './operations.ts';
import { READ_API_KEYS, mayManage } from './policy.ts';
import { type ApiKeyOrderField, type ApiKeyRow, apiKeyRow } from './queries.ts';

export const ScopeEnum = builder.enumType('Scope', {
  description: 'A permission of an API key.',
  values: Object.fromEntries(
    SCOPES.map((scope) => [
      scope.replaceAll('.', '_').toUpperCase(),
      { value: scope, description: `\`${scope}\`: ${SCOPE_DECLARATIONS[scope].description}` },
    ]),
  ),
});

const MANAGERS =
  'true for its user and for administrators of the organization that it is bound to, with the scope `api_keys.write`. False once the key is revoked';

/**
 * A key. `organization` is set when the same request created the organization: the caller does not act in it yet, so a lookup would not
 * find it.
 */
interface ShownApiKey extends ApiKeyRow {
  readonly organization?: OrganizationRow;
}

export const ApiKeyType = nodeType<ApiKeyRow, ShownApiKey>('ApiKey', {
  description:
    'A credential of a user. A bound key acts in one organization; an unbound key acts in any organization of its user. The secret is shown only once, when the key is created.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readApiKeys(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    name: t.exposeString('name', { description: 'The name of the key, 1 to 100 characters.' }),
    preview: t.exposeString('preview', {
      description: 'The first and last characters of the key, to recognize it: `wgk_ab12…yz`.',
    }),
    scopes: t.expose('scopes', { type: [ScopeEnum], description: 'The permissions of the key, at least one.' }),
    user: t.field({
      type: UserType,
      nullable: true,
      description: 'The user who owns the key. Null when that user has left the organization.',
      extensions: { ...OWN_STATEMENT, ...needs<ApiKeyRow>('userId') },
      resolve: ({ userId }, _, context, info) => resolveReference({ context, info }, 'User', userId, readUsers),
    }),
    organization: t.field({
      type: OrganizationType,
      nullable: true,
      description: 'The organization that the key is bound to. Null for an unbound key.',
      extensions: { ...OWN_STATEMENT, ...needs<ApiKeyRow>('organizationId') },
      resolve: ({ organizationId, organization }, _, context, info) =>
        organization ?? resolveReference({ context, info }, 'Organization', organizationId, readOrganizations),
    }),
    viewerCanUpdate: t.boolean({
      description: `Whether the caller can rename the key: ${MANAGERS}.`,
      extensions: needs<ApiKeyRow>('organizationId', 'userId', 'revokedAt'),
      resolve: (key, _, { actor }) => mayManage(actor, key),
    }),
    viewerCanRevoke: t.boolean({
      description: `Whether the caller can revoke the key: ${MANAGERS}.`,
      extensions: needs<ApiKeyRow>('organizationId', 'userId', 'revokedAt'),
      resolve: (key, _, { actor }) => mayManage(actor, key),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key expires. Null when it never expires.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key last authenticated a request, to the minute. Null when it was never used.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key was revoked. Null for an active key.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the key was created.' }),
  }),
});

export const ApiKeyConnection = connectionType(ApiKeyType, { of: 'API keys' });

export const ApiKeyFilter = builder.inputType('ApiKeyFilter', {
  description:
    'Conditions on API keys. A key is listed when it meets all of them. A condition with an empty list matches nothing.',
  validate: acceptingIds(apiKeyFilter, { userIds: 'User' }),
  fields: (t) => ({
    includeRevoked: t.boolean({ defaultValue: false, description: 'Whether revoked keys are listed too.' }),
    userIds: t.idList({ description: 'Keys of any of these users: at most 100 values of `id` or `databaseId`.' }),
    search: t.string({
      description:
        'Keys whose name contains this text of at most 100 characters. Case is ignored; there are no wildcards.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Keys created at this time or later.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Keys created before this time.' }),
  }),
});

export const API_KEY_ORDER = orderType<ApiKeyOrderField>('ApiKey', {
  of: 'API keys',
  fields: { CREATED_AT: 'Time of creation.', NAME: 'Name of the key.' },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});

organizationList('apiKeys', {
  type: ApiKeyType,
  connection: ApiKeyConnection,
  description:
    'API keys of the organization, newest first by default. Administrators see all keys, members only their own.',
  access: listApiKeys.access,
  filter: { type: ApiKeyFilter, description: 'Conditions on the keys. When absent, all active keys are listed.' },
  order: API_KEY_ORDER,
  list: (context, { page, ...asked }, selected: Columns<ApiKeyRow>) => listApiKeys(context, asked, page, selected),
});

builder.queryField('apiKey', (t) =>
  t.field({
    type: ApiKeyType,
    nullable: true,
    description: 'One API key, which may be revoked. Null when the caller can see no such key.',
    extensions: { ...OWN_STATEMENT, ...refusable(READ_API_KEYS) },
    args: { id: t.arg.id({ required: true, description: '`id` or `databaseId` of the key.' }) },
    resolve: async (_, { id }, context, info) => {
      const keys = uuidsOf([String(keyFromId('ApiKey', id))]);
      return (await readApiKeys(context, keys, selectedColumns<ApiKeyRow>(info, 'ApiKey')))[0] ?? null;
    },
  }),
);

mutation('createApiKey', {
  access: createApiKey.access,
  description:
    'Creates an API key of the caller: bound to the organization that the request acts in, bound to `organizationId`, or unbound. The new key never has more rights than the calling key. A user has at most 25 active keys in an organization and 25 active unbound keys.',
  schema: createApiKeyInput,
  ids: { organizationId: 'Organization' },
  input: (t) => ({
    name: t.string({ required: true, description: '1 to 100 characters.' }),
    scopes: t.field({
      type: [ScopeEnum],
      required: true,
      description: 'The permissions of the new key: at least one, and only scopes that the calling key has.',
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description:
        'When the key expires; must not be later than the expiry of the calling key. When absent, the key expires when the calling key does, or never.',
    }),
    organizationId: t.id({
      description:
        '`id` or `databaseId` of the organization to bind the key to. The caller must be a member of it. When absent, the organization that the request acts in.',
    }),
    allOrganizations: t.boolean({
      defaultValue: false,
      description:
        'Whether to create an unbound key, which acts in any organization of its user. Must not be combined with `organizationId`.',
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
    key: t.exposeString('key', { description: 'The secret key itself. It is shown only in this answer.' }),
  }),
});

mutation('renameApiKey', {
  access: renameApiKey.access,
  description: 'Renames an API key.',
  schema: renameApiKeyInput,
  ids: { apiKeyId: 'ApiKey' },
  input: (t) => ({
    apiKeyId: t.id({ required: true, description: '`id` or `databaseId` of the key.' }),
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
  description: 'Revokes an active API key. Every request that begins after the answer is refused with 401.',
  schema: revokeApiKeyInput,
  ids: { apiKeyId: 'ApiKey' },
  input: (t) => ({ apiKeyId: t.id({ required: true, description: '`id` or `databaseId` of the key.' }) }),
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
