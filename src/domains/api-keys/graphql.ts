import { OWN_STATEMENT } from '../../core/graphql/builder.ts';
import { filterType } from '../../core/graphql/derived-inputs.ts';
import { exposedWith, nullable } from '../../core/graphql/fields.ts';
import { enumOf } from '../../core/graphql/enums.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { toGlobalId, uuidsOf } from '../../core/graphql/global-ids.ts';
import { nodeQuery, nodeType } from '../../core/graphql/nodes.ts';
import { listType } from '../../core/graphql/lists.ts';
import { CREDENTIAL_KINDS, SCOPES, SCOPE_DECLARATIONS } from '../../core/access.ts';
import { referenceTo, resolveReference } from '../../core/graphql/references.ts';
import { needs } from '../../core/graphql/selection.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { actorField } from '../organizations/graphql/actors.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import { type OrganizationRow, readOrganizations } from '../organizations/public.ts';
import { userField } from '../users/graphql.ts';
import { apiKeyFilter } from './input.ts';
import { createApiKey, listApiKeys, readApiKeys, renameApiKey, revokeApiKey } from './operations.ts';
import { READ_API_KEYS, mayManage } from './policy.ts';
import { API_KEY_TEXTS } from './texts.ts';
import { type ApiKeyRow, apiKeyRow } from './queries.ts';

export const ScopeEnum = enumOf(
  'Scope',
  'A permission of an API key.',
  SCOPES,
  (scope) => `\`${scope}\`: ${SCOPE_DECLARATIONS[scope].description}`,
);

const CredentialKindEnum = enumOf('ApiKeyKind', 'What an API key is.', CREDENTIAL_KINDS, {
  KEY: 'A secret key.',
  SIGN_IN:
    'The sign-in of a person in a browser, with a key or with an identity provider. It has no secret, and ends after 12 hours.',
  OAUTH_GRANT: 'The grant of a person to a client, which has access tokens instead of a secret.',
});

const MANAGERS =
  'true for its user, and for a secret key for administrators of the organization that it is bound to, with the scope `api_keys.write`. False once the key is revoked';

/**
 * A key. `organization` is set when the same request created the organization: the caller does not act in it yet, so a lookup would not
 * find it.
 */
interface ShownApiKey extends ApiKeyRow {
  readonly organization?: OrganizationRow;
}

export const ApiKeyType = nodeType<ApiKeyRow, ShownApiKey>('ApiKey', {
  description:
    'A credential of a user or a service account. Sign-ins can be seen by their user alone. A bound key acts in one organization; an unbound key acts in any organization of its user. The secret is shown only once, when the key is created.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readApiKeys(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses.' }),
    ...exposedWith(t, API_KEY_TEXTS, {
      name: 'String',
      preview: 'String',
      scopes: [ScopeEnum],
      expiresAt: nullable('DateTime'),
      lastUsedAt: nullable('DateTime'),
      revokedAt: nullable('DateTime'),
      createdAt: 'DateTime',
    }),
    kind: t.expose('kind', {
      type: CredentialKindEnum,
      description: 'What the row is: lists of keys have keys only, and `Viewer.signIns` has sign-ins.',
    }),
    owner: actorField(
      t,
      'userId',
      'The person or service account that owns the key. Null when that person has left the organization, and when the service account was deleted.',
    ),
    user: userField(
      t,
      'userId',
      'The user who owns the key. Null when that user has left the organization, and for a key of a service account: `owner` has both.',
    ),
    organization: t.field({
      type: OrganizationType,
      nullable: true,
      description: 'The organization that the key is bound to. Null for an unbound key.',
      extensions: { ...OWN_STATEMENT, ...needs<ApiKeyRow>('organizationId') },
      resolve: ({ organizationId, organization }, _, context, info) =>
        organization ?? resolveReference({ context, info }, 'Organization', organizationId, readOrganizations),
    }),
    isCurrent: t.boolean({
      description: 'Whether the request was sent with this key, or by the browser of this sign-in.',
      extensions: needs<ApiKeyRow>('id'),
      resolve: ({ id }, _, { actor }) => id === actor.keyId,
    }),
    viewerCanUpdate: t.boolean({
      description: `Whether the caller can rename the key: ${MANAGERS}.`,
      extensions: needs<ApiKeyRow>('kind', 'organizationId', 'userId', 'revokedAt'),
      resolve: (key, _, { actor }) => mayManage(actor, key, ['KEY']),
    }),
    viewerCanRevoke: t.boolean({
      description: `Whether the caller can revoke the key: ${MANAGERS}.`,
      extensions: needs<ApiKeyRow>('kind', 'organizationId', 'userId', 'revokedAt'),
      resolve: (key, _, { actor }) => mayManage(actor, key),
    }),
  }),
});

export const apiKeyField = referenceTo(ApiKeyType, readApiKeys);

export const API_KEY_LIST = listType(ApiKeyType, {
  of: 'API keys',
  filter: filterType('ApiKeyFilter', apiKeyFilter, { ids: { ownerIds: 'Actor', userIds: 'User' } }),
  conditions: 'Conditions on the keys. When absent, all active keys are listed.',
  fields: { CREATED_AT: 'Time of creation.', NAME: 'Name of the key.' },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});
organizationList('apiKeys', API_KEY_LIST, listApiKeys);

nodeQuery('apiKey', ApiKeyType, {
  description: 'One API key, which may be revoked. Null when the caller can see no such key.',
  of: 'key',
  access: READ_API_KEYS,
  read: readApiKeys,
});

mutation(createApiKey, {
  ids: { organizationId: 'Organization' },
  payload: (t) => ({
    apiKey: t.field({
      type: ApiKeyType,
      description: 'The new key, without its secret.',
      resolve: ({ apiKey }) => apiKeyRow(apiKey),
    }),
    key: t.exposeString('key', { description: 'The secret key itself. It is shown only in this answer.' }),
  }),
});

mutation(renameApiKey, {
  ids: { apiKeyId: 'ApiKey' },
  payload: (t) => ({
    apiKey: t.field({ type: ApiKeyType, description: 'The renamed key.', resolve: (apiKey) => apiKeyRow(apiKey) }),
  }),
});

mutation(revokeApiKey, {
  ids: { apiKeyId: 'ApiKey' },
  payload: (t) => ({
    apiKey: t.field({ type: ApiKeyType, description: 'The revoked key.', resolve: (apiKey) => apiKeyRow(apiKey) }),
    deletedId: t.id({
      description: 'Global id of the revoked key.',
      resolve: ({ id }) => toGlobalId('ApiKey', id),
    }),
  }),
});
