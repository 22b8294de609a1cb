import type { Actor } from '../../core/access.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import type { Reach } from '../../core/postgres/reading/reach.ts';

/** Whose grants they are, and the organization that they act in. */
interface Ownership {
  readonly userId: UserId;
  readonly organizationId: OrganizationId;
}

/** The connected apps that a caller can see and revoke: their own ones, with a bound key those of its organization. */
export function reachedApps({ userId, organization, isBound }: Actor): Reach<Ownership> {
  return { all: { userId, ...(isBound && organization && { organizationId: organization.id }) } };
}
