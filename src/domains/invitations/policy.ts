import type { OrganizationId } from '../../core/ids.ts';
import type { Access, Actor } from '../../core/access.ts';
import { READ_MEMBERS } from '../memberships/public.ts';
import { ADMINISTER_ORGANIZATION, mayAdminister } from '../organizations/public.ts';

/** Access for creating and revoking invitations of the acting organization. */
export const MANAGE_INVITATIONS: Access = ADMINISTER_ORGANIZATION;
export const READ_INVITATIONS: Access = { ...READ_MEMBERS, role: 'admin' };
/** No acting organization is required to join an organization. */
export const ACCEPT_INVITATIONS: Access = { scopes: ['organizations.write'], inOrganization: false };

/** Whether the caller can revoke an invitation that they can see. */
export function mayRevoke(actor: Actor, { organizationId }: { readonly organizationId: OrganizationId }): boolean {
  return mayAdminister(actor, organizationId);
}
