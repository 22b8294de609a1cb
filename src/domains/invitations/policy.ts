import type { OrganizationId, UserId } from '../../core/ids.ts';
import { type Access, type Actor, hasAccess, requireAccess } from '../../core/access.ts';
import type { Reach } from '../../core/postgres/reading/reach.ts';
import { READ_MEMBERS } from '../memberships/public.ts';
import { ADMINISTER_ORGANIZATION, mayAdminister } from '../organizations/public.ts';

/** Access for creating and revoking invitations of the acting organization. */
export const MANAGE_INVITATIONS: Access = ADMINISTER_ORGANIZATION;
export const READ_INVITATIONS: Access = { ...READ_MEMBERS, role: 'admin' };
/** No acting organization is required to join an organization. */
export const ACCEPT_INVITATIONS: Access = { scopes: ['organizations.write'], isForPeople: true, inOrganization: false };

/** Access to the open invitations of the caller's own e-mail address. */
export const READ_OWN_INVITATIONS: Access = ACCEPT_INVITATIONS;

/**
 * The invitations that a caller can read: those of the acting organization, those of their own e-mail address, or both.
 * @throws what {@link requireAccess} throws for the invitations of the organization, if the caller can read none at all.
 */
export function readableInvitations(actor: Actor): Reach<{ organizationId: OrganizationId; invitedUserId: UserId }> {
  const isInvited = hasAccess(actor, READ_OWN_INVITATIONS);
  if (!isInvited) requireAccess(actor, READ_INVITATIONS);
  const own = isInvited ? [{ invitedUserId: actor.userId }] : [];
  const { organization } = actor;
  const others = organization && hasAccess(actor, READ_INVITATIONS) ? [{ organizationId: organization.id }] : [];
  return { all: {}, anyOf: [...own, ...others] };
}

/** Whether the caller can revoke an invitation that they can see. */
export const mayRevoke = (actor: Actor, { organizationId }: { readonly organizationId: OrganizationId }): boolean =>
  mayAdminister(actor, organizationId);
