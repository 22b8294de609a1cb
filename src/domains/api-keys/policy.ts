import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import {
  type Access,
  type Actor,
  CREDENTIAL_KINDS,
  type CredentialKind,
  type Role,
  type Scope,
  hasAccess,
  scopesOf,
} from '../../core/access.ts';
import { ForbiddenError } from '../../core/errors.ts';
import { enumValue, enumValues, wording } from '../../core/text/wording.ts';
import { type Reach, isWithin } from '../../core/postgres/reading/reach.ts';

/** No acting organization is required, because an unbound key can read and change the unbound keys of its user without one. */
export const READ_API_KEYS: Access = { scopes: ['api_keys.read'], inOrganization: false };
export const WRITE_API_KEYS: Access = { scopes: ['api_keys.write'], inOrganization: false };
export const UNBLOCK_API_KEYS: Access = { scopes: ['api_keys.write'], inOrganization: true, role: 'admin' };

/** The columns that decide who can see and change a key. */
export interface Ownership {
  /** Null for an unbound key. */
  readonly organizationId: OrganizationId | null;
  readonly userId: UserId;
  readonly kind: CredentialKind;
}

/** A credential in an organization in which it acts, or, if it is unbound, in none. */
interface Listed extends Ownership {
  readonly actsIn: OrganizationId | null;
}

/**
 * The credentials that a caller can see: their own ones of the acting organization, for an administrator all secret keys that act in it, and
 * with an unbound key also their own unbound ones. Nobody can see the sign-ins of another user.
 */
export function reachedBy({ userId, organization, isBound }: Actor): Reach<Listed> {
  if (!organization) return { all: { actsIn: null, userId } };
  const { id, role } = organization;
  const seen: Partial<Listed>[] = [{ organizationId: id, userId }];
  if (!isBound) seen.push({ organizationId: null, userId });
  if (role === 'admin') seen.push({ kind: 'KEY' });
  return { all: { actsIn: id }, anyOf: seen };
}

/** Whether it is the unbound key of somebody else, which the caller can end for the acting organization only. */
export function isOfMember({ userId, organization }: Actor, key: Ownership): boolean {
  return organization?.role === 'admin' && key.organizationId === null && key.kind === 'KEY' && key.userId !== userId;
}

/** Whether the caller can change a key, if its user is a member of the acting organization. A bound key changes no unbound one of its user. */
export function isReached(actor: Actor, key: Ownership): boolean {
  const { userId, organization, isBound } = actor;
  if (isBound && key.organizationId === null && key.userId === userId) return false;
  return isWithin(reachedBy(actor), { ...key, actsIn: key.organizationId ?? organization?.id ?? null });
}

/** The key whose expiry limits the keys that the caller creates: the calling key, or that of the sign-in; null without one. */
export function limitingKey({ kind, keyId, signedInWithId }: Actor): ApiKeyId | null {
  return kind === 'SIGN_IN' ? (signedInWithId ?? null) : keyId;
}

/** The kinds of credentials that `revokeApiKey` ends. */
export const REVOCABLE: readonly CredentialKind[] = CREDENTIAL_KINDS;

/** Whether the caller can revoke a credential that they have read; only keys are renamed. */
export function mayManage(
  actor: Actor,
  { revokedAt, ...key }: Ownership & { readonly revokedAt: string | null },
  kinds: readonly CredentialKind[] = REVOCABLE,
): boolean {
  return (
    kinds.includes(key.kind) &&
    revokedAt === null &&
    hasAccess(actor, WRITE_API_KEYS) &&
    isReached(actor, key) &&
    (kinds === REVOCABLE || !isOfMember(actor, key))
  );
}

/** @throws ForbiddenError for a scope that keys cannot have where their owner has this role. */
export function requireScopesOf(role: Role, scopes: readonly Scope[]): void {
  const excess = scopes.filter((scope) => !scopesOf(role).includes(scope));
  if (excess.length > 0)
    throw new ForbiddenError(wording`scopes: ${enumValues(excess)} cannot be given to the role ${enumValue(role)}`);
}
