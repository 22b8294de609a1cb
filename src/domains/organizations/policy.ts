import { notFound } from '../../core/errors.ts';
import type { WorkContext } from '../../core/operation.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import {
  type Access,
  type ActingOrganization,
  type Actor,
  type Role,
  hasAccess,
  requireOrganization,
} from '../../core/access.ts';
import { requireNoOlderProcess } from '../../core/postgres/finished-version.ts';
import type { Reach } from '../../core/postgres/reading/reach.ts';

/** No acting organization is required to create an organization, but who acts as a viewer changes nothing. */
export const CREATE_ORGANIZATIONS: Access = {
  scopes: ['organizations.write'],
  isForPeople: true,
  role: 'member',
  inOrganization: false,
};
export const ADMINISTER_ORGANIZATION: Access = { scopes: ['organizations.write'], inOrganization: true, role: 'admin' };

/**
 * The acting organization. `named` is an optional id from the input.
 * @throws NotFoundError when `named` is the id of another organization.
 */
export function actingOrganization(actor: Actor, named: string | undefined): ActingOrganization {
  const organization = requireOrganization(actor);
  if (named !== undefined && named !== organization.id) throw notFound('organization');
  return organization;
}

/** The version that refuses changes of viewers. */
export const KNOWS_VIEWERS = '1.1.0';

/** Earlier versions take a viewer for a member. @throws ConflictError for that role while a process of one is running. */
export async function requireKnownRole(
  context: Pick<WorkContext, 'hasOlderProcess'>,
  role: Role | undefined,
): Promise<void> {
  if (role === 'viewer') await requireNoOlderProcess(context, KNOWS_VIEWERS, 'the role viewer cannot be given');
}

/** The memberships whose organizations the caller can see: all of the user, but for a bound key only that of its organization. */
export const reachedBy = ({
  userId,
  organization,
  isBound,
}: Actor): Reach<{ userId: UserId; organizationId: OrganizationId }> => ({
  all: { userId, ...(isBound && organization && { organizationId: organization.id }) },
});

/** Whether the caller can change an organization, its members and invitations: as an administrator who acts in it. */
export const mayAdminister = (actor: Actor, organizationId: OrganizationId): boolean =>
  hasAccess(actor, ADMINISTER_ORGANIZATION, organizationId);
