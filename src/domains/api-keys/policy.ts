import type { OrganizationId, UserId } from '../../core/ids.ts';
import { type Access, type Actor, hasAccess } from '../../core/operation.ts';
import { type Reach, isWithin } from '../../core/postgres/reach.ts';

/** An unbound key reads and changes the unbound keys of its user without acting in an organization. */
export const READ_API_KEYS: Access = { scopes: ['api_keys.read'], inOrganization: false };
export const WRITE_API_KEYS: Access = { scopes: ['api_keys.write'], inOrganization: false };

/** What decides who may see and change a key. */
interface Ownership {
  /** Null for an unbound key. */
  readonly organizationId: OrganizationId | null;
  readonly userId: UserId;
}

/**
 * The caller's own keys of the organization they act in, and for an administrator all keys of it; with an unbound key also the caller's own
 * unbound keys. Nobody reaches the unbound keys of somebody else.
 */
export function reachedBy({ userId, organization, isBound }: Actor): Reach<Ownership> {
  const unbound = { userId, organizationId: null };
  if (!organization) return { all: unbound };
  const inOrganization = {
    organizationId: organization.id,
    ...(organization.role !== 'admin' && { userId }),
  };
  return isBound ? { all: inOrganization } : { all: {}, anyOf: [inOrganization, unbound] };
}

/** Whether the caller may rename and revoke a key that they see. */
export function mayManage(
  actor: Actor,
  { revokedAt, ...key }: Ownership & { readonly revokedAt: string | null },
): boolean {
  return revokedAt === null && hasAccess(actor, WRITE_API_KEYS) && isWithin(reachedBy(actor), key);
}
