import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { ConflictError, notFound } from '../../core/errors.ts';
import { type ActingOrganization, type Role, requireOrganization } from '../../core/access.ts';
import { type OperationContext, guarded, unchanged, write } from '../../core/operation.ts';
import { type AuditTarget } from '../../core/audit.ts';
import type { UserId } from '../../core/ids.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import type { CountedPage, PageArguments } from '../../core/postgres/reading/keyset.ts';
import { apiKeyTopic } from '../api-keys/public.ts';
import type { User } from '../users/public.ts';
import {
  ADMINISTER_ORGANIZATION,
  Membership,
  type Organization,
  actingOrganization,
  lockOrganization,
  requireRoomToOwn,
} from '../organizations/public.ts';
import type {
  ChangeOrganizationMemberRoleInput,
  LeaveOrganizationInput,
  RemoveOrganizationMemberInput,
} from './input.ts';
import { endMembership } from './membership-end.ts';
import { LEAVE_ORGANIZATION, READ_MEMBERS } from './policy.ts';
import { type MemberList, type MemberRow, countMembers, findMembers, pageOfMembers } from './queries.ts';

export interface MemberChange {
  readonly organization: ActingOrganization;
  readonly user: User;
  readonly membership: Membership;
}

/**
 * Changes the role of a member.
 * @throws ConflictError when the organization would have no administrator, or the member would own more than the maximum of organizations.
 */
export const changeOrganizationMemberRole = write(
  async ({ em, actor }, { userId, role }: ChangeOrganizationMemberRoleInput) => {
    const { organization, membership } = await lockMember(em, actor, userId);
    const change: MemberChange = { organization, membership, user: membership.user };
    if (membership.role === role) return unchanged(change);
    if (role === 'admin') await requireRoomToOwn(em, userId);
    else await refuseLastAdmin(em, membership);
    membership.role = role;
    return change;
  },
  {
    access: ADMINISTER_ORGANIZATION,
    operation: 'changeOrganizationMemberRole',
    target: memberOf,
    endsRightsOf: ({ user }) => [user.id],
  },
);

/**
 * Removes a member and revokes their keys of the organization.
 * @throws ConflictError when the organization would have no administrator.
 */
export const removeOrganizationMember = guarded(
  ADMINISTER_ORGANIZATION,
  async (context: OperationContext, input: RemoveOrganizationMemberInput): Promise<MemberChange> => {
    const { change, keyIds } = await removeMember(context, input);
    for (const id of keyIds) context.notifier.publish(apiKeyTopic(id));
    return change;
  },
);

const removeMember = write(
  async (context, { userId }: RemoveOrganizationMemberInput) => {
    const { em, actor } = context;
    const { organization, membership } = await lockMember(em, actor, userId);
    await refuseLastAdmin(em, membership);
    const keyIds = await endMembership(context, membership);
    return { change: { organization, membership, user: membership.user }, keyIds };
  },
  {
    access: ADMINISTER_ORGANIZATION,
    operation: 'removeOrganizationMember',
    target: ({ change }) => memberOf(change),
    endsRightsOf: ({ change }) => [change.user.id],
  },
);

/**
 * Ends the caller's own membership and revokes their keys of the organization.
 * @throws ConflictError for the last administrator.
 */
export const leaveOrganization = guarded(
  LEAVE_ORGANIZATION,
  async (context: OperationContext, input: LeaveOrganizationInput): Promise<ActingOrganization> => {
    const { organization, keyIds } = await leave(context, input);
    for (const id of keyIds) context.notifier.publish(apiKeyTopic(id));
    return organization;
  },
);

const leave = write(
  async (context, { organizationId }: LeaveOrganizationInput) => {
    const { em, actor } = context;
    actingOrganization(actor, organizationId);
    const { organization, membership } = await lockMember(em, actor, actor.userId);
    await refuseLastAdmin(em, membership);
    return { organization, userId: actor.userId, keyIds: await endMembership(context, membership) };
  },
  {
    access: LEAVE_ORGANIZATION,
    endsRightsOf: ({ userId }) => [userId],
    operation: 'leaveOrganization',
    target: (_, __, { userId }) => ({ type: 'User', id: userId }),
  },
);

/** The users with these ids who are members of the acting organization. */
export const readMembers = guarded(
  READ_MEMBERS,
  (context: OperationContext, userIds: readonly UserId[], selected?: Columns<MemberRow>): Promise<MemberRow[]> =>
    findMembers(context, requireOrganization(context.actor).id, userIds, selected),
);

/**
 * Lists the members of the acting organization.
 * @throws ValidationError (400) when another organization is given.
 */
export const listMembers = guarded(
  READ_MEMBERS,
  async (
    context: OperationContext,
    list: MemberList,
    page: PageArguments,
    selected?: Columns<MemberRow>,
  ): Promise<CountedPage<MemberRow>> => {
    requireOrganization(context.actor, list.organizationId);
    return {
      page: await pageOfMembers(context, list, page, selected),
      total: () => countMembers(context, list),
    };
  },
);

/**
 * Makes the user a member, in the caller's transaction and without checking rights. A given role replaces that of an
 * existing membership.
 */
export async function ensureMember(
  em: EntityManager,
  { organization, user }: { organization: Organization; user: User },
  { role, otherwise, at }: { role: Role | undefined; otherwise: Role; at: Date },
): Promise<Membership> {
  const membership = await em.findOne(Membership, { organization, user });
  if (!membership) return em.create(Membership, { organization, user, role: role ?? otherwise, createdAt: at });
  if (role) membership.role = role;
  return membership;
}

function memberOf({ user }: MemberChange): AuditTarget {
  return { type: 'User', id: user.id };
}

async function lockMember(em: EntityManager, actor: OperationContext['actor'], userId: UserId) {
  const organization = requireOrganization(actor);
  await lockOrganization(em, organization.id);
  // Waits for transactions that create a key of this membership.
  const membership = await em.findOne(
    Membership,
    { organization: organization.id, user: userId },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  if (!membership) throw notFound('member');
  await em.populate(membership, ['user']);
  return { organization, membership };
}

async function refuseLastAdmin(em: EntityManager, membership: Membership): Promise<void> {
  if (membership.role !== 'admin') return;
  const admins = await em.count(Membership, { organization: membership.organization, role: 'admin' });
  if (admins === 1)
    throw new ConflictError(
      'LAST_ADMINISTRATOR',
      'the organization must have at least one administrator; make another member an administrator first, or delete the organization',
    );
}
