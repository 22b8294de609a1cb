import { type Access, type Actor, hasAccess } from '../../core/operation.ts';
import type { Reach } from '../../core/postgres/reach.ts';

/** Creating an organization, which the caller need not act in one for. */
export const CREATE_ORGANIZATIONS: Access = { scopes: ['organizations.write'], inOrganization: false };
export const ADMINISTER_ORGANIZATION: Access = { scopes: ['organizations.write'], inOrganization: true, role: 'admin' };

/** The memberships whose organizations the caller reaches: all of the user, but for a key that belongs to one organization that one alone. */
export function reachedBy({ userId, organization, isBound }: Actor): Reach<{ userId: string; organizationId: string }> {
  return { all: { userId, ...(isBound && organization && { organizationId: organization.id }) } };
}

/** Whether the caller may change an organization, its members and invitations: the one they act in, as an administrator. */
export function mayAdminister(actor: Actor, organizationId: string): boolean {
  return hasAccess(actor, ADMINISTER_ORGANIZATION, organizationId);
}
