import type { EntityManager } from '@mikro-orm/postgresql';
import { ConflictError, notFound } from '../../core/errors.ts';
import {
  type ActingOrganization,
  type AuditTarget,
  type OperationContext,
  requireAdmin,
  requireScope,
  write,
} from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/entity.ts';
import { User } from '../users/entity.ts';
import { Membership } from './entity.ts';
import type {
  AddOrganizationMemberInput,
  ChangeOrganizationMemberRoleInput,
  RemoveOrganizationMemberInput,
} from './input.ts';
import { lockOrganization } from './operations.ts';

export interface MemberChange {
  readonly organization: ActingOrganization;
  readonly user: User;
  readonly membership: Membership;
}

/**
 * Makes a user a member, and creates the user when the address is new.
 * @throws ConflictError when they are a member already; ForbiddenError for callers who are not admins.
 */
export const addOrganizationMember = write(
  async ({ em, actor, now, newId }, { email, role }: AddOrganizationMemberInput): Promise<MemberChange> => {
    requireScope(actor, 'organizations.write');
    const organization = requireAdmin(actor);
    const at = now();
    await em.upsert(
      User,
      { id: newId(), email, createdAt: at },
      { onConflictFields: ['email'], onConflictAction: 'ignore' },
    );
    const user = await em.findOneOrFail(User, { email });
    const membership = em.create(Membership, { organization: organization.id, user, role, createdAt: at });
    return { organization, user, membership };
  },
  {
    operation: 'addOrganizationMember',
    target: memberOf,
    conflicts: {
      membership_pkey: ({ email }) => new ConflictError(`${email} is a member of the organization already`, ['email']),
    },
  },
);

/** @throws ConflictError when the organization would be left without an admin. */
export const changeOrganizationMemberRole = write(
  async ({ em, actor }, { userId, role }: ChangeOrganizationMemberRoleInput): Promise<MemberChange> => {
    const { organization, membership } = await lockMember(em, actor, userId);
    if (role !== 'admin') await refuseLastAdmin(em, membership);
    membership.role = role;
    return { organization, membership, user: membership.user };
  },
  { operation: 'changeOrganizationMemberRole', target: memberOf },
);

/**
 * Ends a membership; the member's keys of the organization are revoked with it.
 * @throws ConflictError when the organization would be left without an admin.
 */
export async function removeOrganizationMember(
  context: OperationContext,
  input: RemoveOrganizationMemberInput,
): Promise<MemberChange> {
  const { change, keys } = await removeMember(context, input);
  for (const { id } of keys) context.notifier.publish(apiKeyTopic(id));
  return change;
}

const removeMember = write(
  async ({ em, actor, now }, { userId }: RemoveOrganizationMemberInput) => {
    const { organization, membership } = await lockMember(em, actor, userId);
    await refuseLastAdmin(em, membership);
    em.remove(membership);
    // Keys without an organization stay, but no longer reach this one.
    const keys = await em.execute<{ id: string }[]>(
      `with revoked as (
         update api_key set revoked_at = ? where organization_id = ? and user_id = ? and revoked_at is null returning id
       )
       select id from revoked
       union all select id from api_key where organization_id is null and user_id = ? and revoked_at is null`,
      [now(), organization.id, userId, userId],
    );
    return { change: { organization, membership, user: membership.user }, keys };
  },
  { operation: 'removeOrganizationMember', target: ({ change }) => memberOf(change) },
);

function memberOf({ user }: MemberChange): AuditTarget {
  return { type: 'User', id: user.id };
}

async function lockMember(em: EntityManager, actor: OperationContext['actor'], userId: string) {
  requireScope(actor, 'organizations.write');
  const organization = requireAdmin(actor);
  await lockOrganization(em, organization.id);
  const membership = await em.findOne(
    Membership,
    { organization: organization.id, user: userId },
    { populate: ['user'] },
  );
  if (!membership) throw notFound('member');
  return { organization, membership };
}

async function refuseLastAdmin(em: EntityManager, membership: Membership): Promise<void> {
  if (membership.role !== 'admin') return;
  const admins = await em.count(Membership, { organization: membership.organization, role: 'admin' });
  if (admins === 1)
    throw new ConflictError('the organization must keep at least one admin; make another member an admin first');
}
