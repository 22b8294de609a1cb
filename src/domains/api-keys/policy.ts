import type { Actor } from '../../core/operation.ts';
import type { Reach } from '../../core/postgres/reach.ts';

/** What decides who may see and change a key. */
interface Ownership {
  readonly organizationId: string | null;
  readonly userId: string;
}

/** The caller's own keys, of the organization they act in or of none, and for an administrator all of the organization. */
export function reachedBy({ userId, organization }: Actor): Reach<Ownership> {
  const ofNone = { organizationId: null };
  if (!organization) return { all: { userId, ...ofNone } };
  const inOrganization = { organizationId: organization.id };
  return organization.role === 'admin'
    ? { all: {}, anyOf: [inOrganization, { userId, ...ofNone }] }
    : { all: { userId }, anyOf: [inOrganization, ofNone] };
}
