import { notFound } from '../../core/errors.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import {
  type Access,
  type ActingOrganization,
  type Actor,
  hasAccess,
  requireOrganization,
} from '../../core/operation.ts';
import type { Reach } from '../../core/postgres/reach.ts';
import { READ_PEOPLE } from '../users/policy.ts';

/** Creating an organization, which the caller need not act in one for. */
export const CREATE_ORGANIZATIONS: Access = { scopes: ['organizations.write'], inOrganization: false };
export const ADMINISTER_ORGANIZATION: Access = { scopes: ['organizations.write'], inOrganization: true, role: 'admin' };

/** Leaving the acting organization. */
export const LEAVE_ORGANIZATION: Access = { scopes: ['organizations.write'], inOrganization: true };
/** Seeing who is in the acting organization. */
export const READ_MEMBERS: Access = { ...READ_PEOPLE, inOrganization: true };

/**
 * The acting organization, which an input may name as well.
 * @throws NotFoundError when it names another one, whose it may be.
 */
export function actingOrganization(actor: Actor, named: string | undefined): ActingOrganization {
  const organization = requireOrganization(actor);
  if (named !== undefined && named !== organization.id) throw notFound('organization');
  return organization;
}

/** The memberships whose organizations the caller reaches: all of the user, but for a key that belongs to one organization that one alone. */
export function reachedBy({
  userId,
  organization,
  isBound,
}: Actor): Reach<{ userId: UserId; organizationId: OrganizationId }> {
  return { all: { userId, ...(isBound && organization && { organizationId: organization.id }) } };
}

/** Whether the caller may change an organization, its members and invitations: the one they act in, as an administrator. */
export function mayAdminister(actor: Actor, organizationId: OrganizationId): boolean {
  return hasAccess(actor, ADMINISTER_ORGANIZATION, organizationId);
}
