import { type Access, type Actor, requireOrganization } from '../../core/access.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import type { Reach } from '../../core/postgres/reading/reach.ts';
import { READ_API_KEYS, WRITE_API_KEYS } from '../api-keys/public.ts';

// No grant can have the scope to write, so that a client ends no other.
export const READ_CONNECTED_APPS: Access = { ...READ_API_KEYS, inOrganization: true };
export const WRITE_CONNECTED_APPS: Access = { ...WRITE_API_KEYS, inOrganization: true, isForPeople: true };

/** Whose grants they are, and the organization that they act in. */
interface Ownership {
  readonly userId: UserId;
  readonly organizationId: OrganizationId;
}

/** The connected apps that a caller can see and revoke: their own ones in the acting organization. */
export const reachedApps = (actor: Actor): Reach<Ownership> => ({
  all: { userId: actor.userId, organizationId: requireOrganization(actor).id },
});
