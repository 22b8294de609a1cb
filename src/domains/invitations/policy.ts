import type { OrganizationId } from '../../core/ids.ts';
import type { Access, Actor } from '../../core/operation.ts';
import { ADMINISTER_ORGANIZATION, READ_MEMBERS, mayAdminister } from '../organizations/policy.ts';

/** Inviting people to the acting organization, and revoking that. */
export const MANAGE_INVITATIONS: Access = ADMINISTER_ORGANIZATION;
export const READ_INVITATIONS: Access = { ...READ_MEMBERS, role: 'admin' };
/** Joining an organization, wherever the caller acts. */
export const ACCEPT_INVITATIONS: Access = { scopes: ['organizations.write'], inOrganization: false };

/** Whether the caller may revoke an invitation that they see. */
export function mayRevoke(actor: Actor, { organizationId }: { readonly organizationId: OrganizationId }): boolean {
  return mayAdminister(actor, organizationId);
}
