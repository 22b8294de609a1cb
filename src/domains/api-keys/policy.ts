import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import { type Access, type Actor, CREDENTIAL_KINDS, type CredentialKind, hasAccess } from '../../core/access.ts';
import { type Reach, isWithin } from '../../core/postgres/reading/reach.ts';

/** No acting organization is required, because an unbound key can read and change the unbound keys of its user without one. */
export const READ_API_KEYS: Access = { scopes: ['api_keys.read'], inOrganization: false };
export const WRITE_API_KEYS: Access = { scopes: ['api_keys.write'], inOrganization: false };

/** The columns that decide who can see and change a key. */
interface Ownership {
  /** Null for an unbound key. */
  readonly organizationId: OrganizationId | null;
  readonly userId: UserId;
  readonly kind: CredentialKind;
}

/**
 * The credentials that a caller can see: their own ones of the acting organization, for an administrator all secret keys of it, and
 * with an unbound key also their own unbound ones. Nobody can see the unbound keys and the sign-ins of another user.
 */
export function reachedBy({ userId, organization, isBound }: Actor): Reach<Ownership> {
  const unbound = { userId, organizationId: null };
  if (!organization) return { all: unbound };
  const { id: organizationId, role } = organization;
  const seen: Partial<Ownership>[] = [{ organizationId, userId }];
  if (role === 'admin') seen.push({ organizationId, kind: 'KEY' });
  return isBound ? { all: { organizationId }, anyOf: seen } : { all: {}, anyOf: [...seen, unbound] };
}

/** The key whose expiry limits the keys that the caller creates: the calling key, or that of the sign-in; null without one. */
export function limitingKey({ kind, keyId, signedInWithId }: Actor): ApiKeyId | null {
  return kind === 'SIGN_IN' ? (signedInWithId ?? null) : keyId;
}

/** The kinds of credentials that `revokeApiKey` ends. */
export const REVOCABLE: readonly CredentialKind[] = CREDENTIAL_KINDS;

/** Whether the caller can revoke a credential that they can see; only keys are renamed. */
export function mayManage(
  actor: Actor,
  { revokedAt, ...key }: Ownership & { readonly revokedAt: string | null },
  kinds: readonly CredentialKind[] = REVOCABLE,
): boolean {
  return (
    kinds.includes(key.kind) &&
    revokedAt === null &&
    hasAccess(actor, WRITE_API_KEYS) &&
    isWithin(reachedBy(actor), key)
  );
}
