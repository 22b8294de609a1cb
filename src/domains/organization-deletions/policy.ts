import type { OrganizationId } from '../../core/ids.ts';
import { type Access, type Actor, hasAccess } from '../../core/access.ts';
import { ADMINISTER_ORGANIZATION } from '../organizations/public.ts';

/** Access for deleting the acting organization, and for the preview of the deletion. */
export const DELETE_ORGANIZATION: Access = ADMINISTER_ORGANIZATION;

/** Whether the caller can delete an organization: as an administrator who acts in it. */
export const mayDelete = (actor: Actor, organizationId: OrganizationId): boolean =>
  hasAccess(actor, DELETE_ORGANIZATION, organizationId);
