import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { ConflictError, NotFoundError, notFound } from '../../core/errors.ts';
import { type ActingOrganization, type Role, requireOrganization } from '../../core/access.ts';
import { type OperationContext, type WorkContext, defineOperation, guarded, unchanged } from '../../core/operation.ts';
import type { AuditTarget } from '../../core/audit.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import { apiKeyTopic, endSignInsOfMember, revokeKeysOfMember } from '../api-keys/public.ts';
import { removeFromGroups } from '../groups/public.ts';
import type { User } from '../users/public.ts';
import {
  ADMINISTER_ORGANIZATION,
  Membership,
  type Organization,
  actingOrganization,
  lockOrganization,
  requireKnownRole,
  requireRoomToOwn,
} from '../organizations/public.ts';
import { changeOrganizationMemberRoleInput, leaveOrganizationInput, organizationMemberReference } from './input.ts';
import { LEAVE_ORGANIZATION, READ_MEMBERS, refuseLastAdmin } from './policy.ts';
import { MEMBERS } from './queries.ts';
import { FormerMembership, ScimUser, SuspendedMembership } from './entity.ts';
import { refuseSuspended } from './suspension.ts';
import { deleteConnections } from '../mcp-connections/public.ts';

const CONNECTION_BATCH = 100;

/**
 * Ends a membership, revokes the member's keys of the organization, and deletes their personal MCP connections, whose
 * tokens a job revokes. Part of the caller's transaction, which has locked the membership.
 * @returns the ids of the keys that lost rights, so that their running requests can be ended.
 */
export async function endMembership(
  context: Pick<WorkContext, 'em' | 'secrets' | 'now' | 'newId'>,
  membership: Membership | SuspendedMembership,
  { isRemoved }: { readonly isRemoved: boolean },
): Promise<ApiKeyId[]> {
  const { em, now } = context;
  const organizationId = membership.organization.id;
  const userId = membership.user.id;
  em.remove(membership);
  const { label } = memberOf(membership);
  const place = { organization: organizationId, user: userId };
  await em.upsert(FormerMembership, { ...place, label: label ?? null, leftAt: now() });
  await em.nativeDelete(ScimUser, place);
  await removeFromGroups(em, { organizationId }, [userId]);
  const keyIds = await revokeKeysOfMember(em, { organizationId, userId, isRemoved }, now());
  let deleted: readonly string[];
  do deleted = await deleteConnections(context, { organizationId, personalOf: userId }, CONNECTION_BATCH);
  while (deleted.length === CONNECTION_BATCH);
  return keyIds;
}

export interface MemberChange {
  readonly organization: ActingOrganization;
  readonly user: User;
  readonly membership: Membership;
}

export const changeOrganizationMemberRole = defineOperation({
  name: 'changeOrganizationMemberRole',
  description: 'Changes the role of a member. The role of the last administrator cannot change.',
  access: ADMINISTER_ORGANIZATION,
  input: changeOrganizationMemberRoleInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { userId, role }) => {
    const { em, actor } = context;
    await requireKnownRole(context, role);
    const { organization, membership } = await lockMember(em, actor, userId);
    const change: MemberChange = { organization, membership, user: membership.user };
    if (membership.role === role) return unchanged(change);
    if (role === 'admin') await requireRoomToOwn(em, userId);
    else await refuseLastAdmin(em, membership);
    membership.give(role, context.now());
    return change;
  },
  target: (change) => ({ ...memberOf(change), detail: change.membership.role }),
  endsRightsOf: ({ user }) => [user.id],
});

export const removeOrganizationMember = defineOperation({
  name: 'removeOrganizationMember',
  description:
    'Removes a member, revokes their keys that are bound to the organization, blocks their unbound ones in it, and deletes their personal MCP connections in it; also one whose membership is suspended. The last administrator cannot be removed.',
  access: ADMINISTER_ORGANIZATION,
  input: organizationMemberReference,
  errors: [NotFoundError, ConflictError],
  run: async (context, { userId }) => {
    const { em, actor } = context;
    const member = await lockMember(em, actor, userId, (place) => em.findOne(SuspendedMembership, place));
    return endAndRevoke(context, member, userId !== context.actor.userId);
  },
  target: memberOf,
  endsRightsOf: ({ user }) => [user.id],
  afterCommit: notifyOfKeys,
});

export const endOrganizationMemberSignIns = defineOperation({
  name: 'endOrganizationMemberSignIns',
  description:
    'Ends the sign-ins and connected apps of a member: those that act in this organization alone, and all sign-ins of a person in no other one; other sign-ins no longer act in this one. API keys stay.',
  access: ADMINISTER_ORGANIZATION,
  input: organizationMemberReference,
  errors: [NotFoundError],
  run: async ({ em, actor, now }, { userId }) => {
    const { organization, membership } = await lockMember(em, actor, userId);
    const keyIds = await endSignInsOfMember(em, { userId, organizationId: organization.id }, now());
    return { organization, membership, user: membership.user, keyIds };
  },
  target: memberOf,
  endsRightsOf: ({ user }) => [user.id],
  afterCommit: notifyOfKeys,
});

export const leaveOrganization = defineOperation({
  name: 'leaveOrganization',
  description:
    "Ends the caller's membership of the organization that the request acts in. Revokes their keys that are bound to it and deletes their personal MCP connections in it. The last administrator cannot leave.",
  access: LEAVE_ORGANIZATION,
  isOfViewers: true,
  input: leaveOrganizationInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { organizationId }) => {
    const { em, actor } = context;
    actingOrganization(actor, organizationId);
    return endAndRevoke(context, await lockMember(em, actor, actor.userId), false);
  },
  target: memberOf,
  endsRightsOf: ({ user }) => [user.id],
  afterCommit: notifyOfKeys,
});

/** A membership that has ended, with the keys that were revoked with it. */
interface EndedMembership extends Omit<MemberChange, 'membership'> {
  readonly keyIds: readonly ApiKeyId[];
}

async function endAndRevoke(
  context: OperationContext,
  { organization, membership }: { organization: ActingOrganization; membership: Membership | SuspendedMembership },
  isRemoved: boolean,
): Promise<EndedMembership> {
  if (membership instanceof Membership) await refuseLastAdmin(context.em, membership);
  const keyIds = await endMembership(context, membership, { isRemoved });
  return { organization, user: membership.user, keyIds };
}

/** Ends the live streams of the revoked keys. */
function notifyOfKeys<Ended extends Pick<EndedMembership, 'keyIds'>>(
  { notifier }: OperationContext,
  ended: Ended,
): Promise<Ended> {
  for (const id of ended.keyIds) notifier.publish(apiKeyTopic(id));
  return Promise.resolve(ended);
}

/** The users with these ids who are members of the acting organization. */
export const readMembers = guarded(READ_MEMBERS, MEMBERS.find);

export const listMembers = defineOperation({
  name: 'listMembers',
  description: 'Members of the organization, by time of joining by default.',
  access: READ_MEMBERS,
  run: MEMBERS.read,
});

/**
 * Makes the user a member, in the caller's transaction and without checking rights. A given role replaces that of an
 * existing membership.
 * @throws ConflictError when that would leave the organization without an administrator.
 */
export async function ensureMember(
  em: EntityManager,
  { organization, user }: { organization: Organization; user: User },
  { role, otherwise, origin, at }: { role: Role | undefined; otherwise: Role; origin: Membership['origin']; at: Date },
): Promise<Membership> {
  const membership = await em.findOne(Membership, { organization, user });
  if (!membership) await refuseSuspended(em, organization.id, user.id);
  if (!membership) return em.create(Membership, { organization, user, role: role ?? otherwise, origin, createdAt: at });
  if (role === undefined || role === membership.role) return membership;
  await lockOrganization(em, organization.id);
  await em.refresh(membership);
  await refuseLastAdmin(em, membership);
  membership.give(role, at);
  if (origin === 'group') membership.origin = origin;
  return membership;
}

function memberOf({ user }: Pick<MemberChange, 'user'>): AuditTarget {
  return { type: 'User', id: user.id, label: user.label() };
}

/** @param findOther finds what counts as a member, too, by default nothing */
async function lockMember<Other extends SuspendedMembership = never>(
  em: EntityManager,
  actor: OperationContext['actor'],
  userId: UserId,
  findOther?: (place: { organization: OrganizationId; user: UserId }) => Promise<Other | null>,
): Promise<{ organization: ActingOrganization; membership: Membership | Other }> {
  const organization = requireOrganization(actor);
  await lockOrganization(em, organization.id);
  // Waits for transactions that create a key of this membership.
  const place = { organization: organization.id, user: userId };
  const membership =
    (await em.findOne(Membership, place, { lockMode: LockMode.PESSIMISTIC_WRITE })) ?? (await findOther?.(place));
  if (!membership) throw notFound('member');
  const member: Membership | SuspendedMembership = membership;
  await em.populate(member, ['user']);
  return { organization, membership };
}
