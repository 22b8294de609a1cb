import type { Actor } from '../../core/operation.ts';
import type { Reach } from '../../core/postgres/reach.ts';

/** The memberships whose organizations the caller reaches: all of the user, but for a key that belongs to one organization that one alone. */
export function reachedBy({ userId, organization, isBound }: Actor): Reach<{ userId: string; organizationId: string }> {
  return { all: { userId, ...(isBound && organization && { organizationId: organization.id }) } };
}
