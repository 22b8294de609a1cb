import type { EntityManager } from '@mikro-orm/postgresql';
import { requireOrganization } from '../../core/access.ts';
import { ConflictError, NotFoundError, notFound } from '../../core/errors.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { revokeKeys, revokeKeysOfMember } from '../api-keys/public.ts';
import { ADMINISTER_ORGANIZATION, Membership, lockOrganization } from '../organizations/public.ts';
import { SuspendedMembership } from './entity.ts';
import { organizationMemberReference } from './input.ts';
import { READ_SUSPENDED_MEMBERS, refuseLastAdmin } from './policy.ts';
import { FORMER_MEMBERS, SUSPENDED_MEMBERS } from './queries.ts';

/** Memberships that SCIM suspends and gives back. */

type Context = Pick<OperationContext, 'em' | 'now'>;

/**
 * Suspends a membership, in the caller's transaction, which has locked the organization: bound keys are revoked, all other credentials are
 * blocked in it, or end if the person is in no other organization. Personal MCP connections stay. @returns the ids of keys that lost rights.
 * @throws ConflictError for the last administrator.
 */
export async function suspendMember({ em, now }: Context, membership: Membership): Promise<ApiKeyId[]> {
  await refuseLastAdmin(em, membership);
  const { organization, user, role, createdAt } = membership;
  em.create(SuspendedMembership, { organization, user, role, createdAt, suspendedAt: now() });
  em.remove(membership);
  await em.flush();
  const member = { organizationId: organization.id, userId: user.id };
  const lost = await revokeKeysOfMember(em, { ...member, isRemoved: true }, now());
  if ((await em.count(Membership, { user })) > 0) return lost;
  return [...lost, ...(await revokeKeys(em, { userId: user.id }, now()))];
}

/** Gives a suspended membership back with its role and date, in the caller's transaction. Keys do not come back. */
export async function reactivateMember({ em, now }: Context, suspended: SuspendedMembership): Promise<Membership> {
  const { organization, user, role, createdAt } = suspended;
  em.remove(suspended);
  const membership = em.create(Membership, { organization, user, role, createdAt, roleSince: now() });
  await em.flush();
  return membership;
}

/** Nothing but SCIM and `reactivateOrganizationMember` gives a suspended membership back. @throws ConflictError */
export async function refuseSuspended(em: EntityManager, organization: OrganizationId, user: UserId): Promise<void> {
  if ((await em.count(SuspendedMembership, { organization, user })) > 0)
    throw new ConflictError(
      'WRONG_STATE',
      'the membership is suspended; an administrator or the identity provider must reactivate it first',
    );
}

export const reactivateOrganizationMember = defineOperation({
  name: 'reactivateOrganizationMember',
  description:
    'Gives a membership back that was suspended with SCIM, with its role. Revoked keys do not come back, and blocked ones stay blocked.',
  access: ADMINISTER_ORGANIZATION,
  input: organizationMemberReference,
  errors: [NotFoundError],
  run: async (context, { userId }) => {
    const { em, actor } = context;
    const organization = requireOrganization(actor);
    await lockOrganization(em, organization.id);
    const place = { organization: organization.id, user: userId };
    const suspended = await em.findOne(SuspendedMembership, place, { populate: ['user', 'organization'] });
    if (!suspended) throw notFound('suspended member');
    return reactivateMember(context, suspended);
  },
  target: ({ user, role }) => ({ type: 'User', id: user.id, label: user.label() ?? null, detail: role }),
});

export const listSuspendedMembers = defineOperation({
  name: 'listSuspendedMembers',
  description: 'Members whose membership SCIM has suspended, by time of joining by default. They are in no other list.',
  access: READ_SUSPENDED_MEMBERS,
  run: SUSPENDED_MEMBERS.read,
});

export const listFormerMembers = defineOperation({
  name: 'listFormerMembers',
  description:
    'People who have left the organization or were removed, the last ones first by default. Their sessions and audit entries stay, and can be exported and erased.',
  access: READ_SUSPENDED_MEMBERS,
  run: FORMER_MEMBERS.read,
});
