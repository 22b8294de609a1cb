import { OWN_STATEMENT } from '../../core/graphql/builder.ts';
import { filterType } from '../../core/graphql/derived-inputs.ts';
import { shown } from '../../core/graphql/derived-fields.ts';
import { enumOf } from '../../core/graphql/enums.ts';
import { type PayloadFields, deleted, mutation, one } from '../../core/graphql/mutations.ts';
import { entityType, nodeQuery } from '../../core/graphql/nodes.ts';
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
import {
  type CreatedApiKey,
  createApiKey,
  listApiKeys,
  readApiKeys,
  renameApiKey,
  revokeApiKey,
  unblockApiKey,
} from './operations.ts';
import { READ_API_KEYS, mayManage } from './policy.ts';
import { SECRET_TEXT, apiKeyDocument } from './documents.ts';
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
    'The sign-in of a person in a browser, with a key or with an identity provider. It has no secret, and ends after the hours of `SIGN_IN_HOURS`.',
  OAUTH_GRANT: 'The grant of a person to a client, which has access tokens instead of a secret.',
});

const MANAGERS =
  'true for its user, and for a secret key for administrators of an organization in which it acts, with the scope `api_keys.write`. False once the key is revoked';

/**
 * A key. `organization` is set when the same request created the organization: the caller does not act in it yet, so a lookup would not
 * find it.
 */
interface ShownApiKey extends ApiKeyRow {
  readonly organization?: OrganizationRow;
}

export const ApiKeyType = entityType<ApiKeyRow, ShownApiKey>('ApiKey', {
  stored: { table: 'api_key', organization: 'organization_id' },
  description:
    'A credential of a user or a service account. Sign-ins can be seen by their user alone. A bound key acts in one organization; an unbound key acts in any organization of its user. The secret is shown only once, when the key is created.',
  read: readApiKeys,
  fields: (t) => ({
    ...shown(t, apiKeyDocument, ['name', 'preview', 'scopes', 'expiresAt', 'lastUsedAt', 'revokedAt', 'createdAt']),
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
    createdBy: actorField(
      t,
      'createdById',
      'Who made the key. Null for keys from before this was recorded, for those of the command line, and when that person has left the organization.',
    ),
    organization: t.field({
      type: OrganizationType,
      nullable: true,
      description: 'The organization that the key is bound to. Null for an unbound key.',
      extensions: { ...OWN_STATEMENT, ...needs<ApiKeyRow>('organizationId') },
      resolve: ({ organizationId, organization }, _, context, info) =>
        organization ?? resolveReference({ context, info }, 'Organization', organizationId, readOrganizations),
    }),
    isBound: t.boolean({
      description: 'Whether the key acts in one organization only. False for an unbound key.',
      extensions: needs<ApiKeyRow>('organizationId'),
      resolve: ({ organizationId }) => organizationId !== null,
    }),
    isBlockedHere: t.boolean({
      description:
        'Whether the unbound key is refused (403) in the organization that the request acts in, because an administrator has revoked it there, or its user was removed. `unblockApiKey` ends that.',
      extensions: needs<ApiKeyRow>('blockedIn'),
      resolve: ({ blockedIn }, _, { actor: { organization } }) =>
        organization !== undefined && blockedIn.includes(organization.id),
    }),
    isCurrent: t.boolean({
      description: 'Whether the request was sent with this key, or by the browser of this sign-in.',
      extensions: needs<ApiKeyRow>('id'),
      resolve: ({ id }, _, { actor }) => id === actor.keyId,
    }),
    viewerCanUpdate: t.boolean({
      description: `Whether the caller can rename the key: ${MANAGERS}, and for the unbound key of somebody else.`,
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

export const createdApiKey = (t: PayloadFields<CreatedApiKey>) => ({
  ...one('apiKey', ApiKeyType, 'The new key, without its secret.', ({ apiKey }: CreatedApiKey) => apiKeyRow(apiKey))(t),
  key: t.exposeString('key', { description: SECRET_TEXT }),
});

mutation(createApiKey, {
  ids: { organizationId: 'Organization' },
  payload: createdApiKey,
});

mutation(renameApiKey, {
  ids: { apiKeyId: 'ApiKey' },
  payload: one('apiKey', ApiKeyType, 'The renamed key.', apiKeyRow),
});

mutation(unblockApiKey, {
  ids: { apiKeyId: 'ApiKey' },
  payload: one('apiKey', ApiKeyType, 'The key.', apiKeyRow),
});

mutation(revokeApiKey, {
  ids: { apiKeyId: 'ApiKey' },
  payload: (t) => ({
    ...one('apiKey', ApiKeyType, 'The revoked key.', apiKeyRow)(t),
    ...deleted('ApiKey', 'revoked key')(t),
  }),
});
