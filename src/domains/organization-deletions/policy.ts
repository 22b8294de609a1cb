import type { OrganizationId } from '../../core/ids.ts';
import { type Access, type Actor, hasAccess } from '../../core/operation.ts';
import { ADMINISTER_ORGANIZATION } from '../organizations/policy.ts';

/** Deleting the acting organization, and seeing what would be lost. */
export const DELETE_ORGANIZATION: Access = ADMINISTER_ORGANIZATION;

/** Whether the caller may delete an organization: the one they act in, as an administrator. */
export function mayDelete(actor: Actor, organizationId: OrganizationId): boolean {
  return hasAccess(actor, DELETE_ORGANIZATION, organizationId);
}
