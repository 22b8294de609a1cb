import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { ApiKeyId, OrganizationId } from '../../core/ids.ts';
import { CREDENTIAL_KINDS, type Scope } from '../../core/access.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import type { SealedColumn } from '../../core/secrets/secret-check.ts';
import type { SecretPlace } from '../../core/secrets/secrets.ts';
import { Organization } from '../organizations/public.ts';
import { User } from '../users/public.ts';

const ApiKeySchema = defineEntity({
  name: 'ApiKey',
  tableName: 'api_key',
  properties: {
    id: p.uuid().$type<ApiKeyId>().primary(),
    user: () => p.manyToOne(User).deleteRule('cascade'),
    /** Whether the owner is a service account. Stored here too, so that the look-up of a key of a person reads nothing more. */
    isOfServiceAccount: p.boolean().default(false),
    organization: () => p.manyToOne(Organization).nullable().deleteRule('cascade'),
    kind: p.enum(CREDENTIAL_KINDS).default('KEY'),
    /** The key that a browser was signed in with: the sign-in, and the grants made with it, have its rights, and end with it. */
    signedInWith: () => p.manyToOne(ApiKey).nullable().deleteRule('cascade'),
    name: p.text(),
    /** SHA-256 of the secret, which itself is never stored. A sign-in has none, and a grant has tokens instead. */
    hash: p.blob().nullable(),
    preview: p.text(),
    scopes: p.array<Scope>(),
    /** Organizations in which an unbound credential no longer acts: its person was removed, or an administrator has ended it there. */
    blockedIn: p.array<OrganizationId>().default([]),
    expiresAt: p.datetime().nullable(),
    /** Who made it. Null for keys of earlier versions and of the command line, and for sign-ins and grants. */
    createdBy: () => p.manyToOne(User).nullable().deleteRule('set null'),
    lastUsedAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
    /** Of a sign-in with the identity provider, with OIDC_LOGOUT: the id of the session there, and the ID token, encrypted. */
    providerSession: p.text().nullable(),
    idToken: p.text().nullable(),
    createdAt: p.datetime(),
  },
  uniques: [{ name: 'api_key_hash_unique', properties: ['hash'] }],
  indexes: [
    { name: 'api_key_organization_index', properties: ['organization', 'createdAt', 'id'] },
    { name: 'api_key_user_index', properties: ['user'] },
    // For administrators, who see the unbound keys of members, but not their many sign-ins.
    { name: 'api_key_unbound_index', properties: ['user'], where: `organization_id is null and kind = 'KEY'` },
    { name: 'api_key_created_by_index', properties: ['createdBy'], where: 'created_by_id is not null' },
    {
      name: 'api_key_provider_session_index',
      properties: ['providerSession'],
      where: 'provider_session is not null',
    },
    { name: 'api_key_signed_in_with_index', properties: ['signedInWith'], where: 'signed_in_with_id is not null' },
    { name: 'api_key_sign_in_expiry_index', properties: ['expiresAt'], where: `kind = 'SIGN_IN'` },
    { name: 'api_key_grant_expiry_index', properties: ['expiresAt'], where: `kind = 'OAUTH_GRANT'` },
  ],
});

/** A credential of a person, in at most one organization: a secret key, the sign-in of a browser, or a grant to a client. A service account has keys of its organization. */
export class ApiKey extends ApiKeySchema.class {
  isActive(at: Date): boolean {
    return this.revokedAt == null && (this.expiresAt == null || this.expiresAt > at);
  }

  /** For the audit log. */
  label(): string {
    return this.preview === '' ? this.name : `${this.name} (${this.preview})`;
  }

  revoke(at: Date): void {
    this.revokedAt = at;
  }

  /** @returns the scopes that the key did not have. */
  extend(scopes: readonly Scope[]): Scope[] {
    const added = scopes.filter((scope) => !this.scopes.includes(scope));
    this.scopes = [...this.scopes, ...added];
    return added;
  }

  /** Whether it no longer acts in an organization, but elsewhere. */
  isBlockedIn(organizationId: OrganizationId): boolean {
    return this.blockedIn.includes(organizationId);
  }

  rename(name: string): void {
    this.name = name;
  }
}
ApiKeySchema.setClass(ApiKey);

export type ApiKeyTables = InferKyselyDB<typeof ApiKeySchema>;
export const API_KEY_COLUMNS = columnNames<ApiKeyTables, 'api_key'>(ApiKeySchema, 'api_key');

/** Topic published when a key loses rights: long-running requests of the key then check their rights again. */
export const apiKeyTopic = (keyId: ApiKeyId): string => `api-key:${keyId}`;

export const placeOfIdToken = (id: string): SecretPlace => ({ table: 'api_key', row: id, field: 'id_token' });

/** The column with encrypted ID tokens. */
export const ID_TOKEN_COLUMN: SealedColumn = {
  table: 'api_key',
  column: 'id_token',
  keys: ['id'],
  placeOf: ({ id = '' }) => placeOfIdToken(id),
  condition: 'expires_at > now()',
};
