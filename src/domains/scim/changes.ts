import { z } from 'zod';
import { type Access, ROLES, requireAccess, requireOrganization } from '../../core/access.ts';
import { groupBy } from '../../core/arrays.ts';
import { type AuditTarget, auditEntry, recordAudit } from '../../core/audit.ts';
import { ConflictError, ForbiddenError, NotFoundError } from '../../core/errors.ts';
import type { ApiKeyId, OrganizationId, UserId } from '../../core/ids.ts';
import { haveRoles, roleOfGroups } from '../../core/role-groups.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { type Readable, anyOf } from '../../core/postgres/reading/queries.ts';
import { apiKeyTopic } from '../api-keys/public.ts';
import type { GroupTables } from '../groups/public.ts';
import { SuspendedMembership, refuseLastAdmin } from '../memberships/public.ts';
import { Membership, Organization, lockOrganization, requireKnownRole } from '../organizations/public.ts';
import type { User } from '../users/public.ts';

/** What changes by SCIM have in common. */

export const ACCESS: Access = { scopes: ['scim'], inOrganization: true, role: 'admin' };

/** @throws ForbiddenError (403) for another caller than a service account of OIDC_ORGANIZATION. */
export async function requireScim({
  actor,
  em,
  settings,
}: Pick<OperationContext, 'actor' | 'em' | 'settings'>): Promise<void> {
  requireAccess(actor, ACCESS);
  if (actor.isServiceAccount !== true) throw new ForbiddenError('SCIM needs the API key of a service account');
  const slug = settings.company?.organization;
  const { id } = requireOrganization(actor);
  if (slug === undefined || (await em.count(Organization, { id, slug })) === 0)
    throw new ForbiddenError('SCIM serves the organization of OIDC_ORGANIZATION alone');
}

export const withScim =
  <Input, Result>(run: (context: OperationContext, input: Input) => Promise<Result>) =>
  async (context: OperationContext, input: Input): Promise<Result> => {
    await requireScim(context);
    return run(context, input);
  };

/** What a change of a person has done, beside the resource. */
export interface Written<Result> {
  readonly result: Result;
  readonly target: AuditTarget;
  /** Whose rights may have become fewer. */
  readonly userIds: readonly UserId[];
  readonly keyIds: readonly ApiKeyId[];
}

const anything = z.unknown();

/** Declares a change by SCIM. */
export function change<Input, Result>(
  name: string,
  run: (context: OperationContext, input: Input) => Promise<Written<Result>>,
) {
  return defineOperation<Input, Written<Result>, Result>({
    name,
    description: 'A change by SCIM.',
    access: ACCESS,
    // What is sent is read by `resources.ts` and `patch.ts`.
    input: anything as unknown as z.core.$ZodType<Input>,
    errors: [NotFoundError, ConflictError],
    run: withScim(async (context, input: Input) => {
      await lockOrganization(context.em, requireOrganization(context.actor).id);
      return run(context, input);
    }),
    target: ({ target }) => target,
    endsRightsOf: ({ userIds }) => userIds,
    afterCommit: ({ notifier }, { result, keyIds }) => {
      for (const id of keyIds) notifier.publish(apiKeyTopic(id));
      return Promise.resolve(result);
    },
  });
}

export const userTarget = (user: User, detail?: string): AuditTarget => ({
  type: 'User',
  id: user.id,
  label: user.label() ?? null,
  detail,
});

/** Gives the people with a record of SCIM the role of its groups, if groups decide roles. @throws ConflictError for the last administrator. */
export async function applyRoles(
  context: OperationContext,
  organizationId: OrganizationId,
  userIds: readonly UserId[],
  keepsLast = false,
): Promise<void> {
  const { em, settings } = context;
  const { company } = settings;
  if (!company || !haveRoles(company) || userIds.length === 0) return;
  const groups = await em
    .getKysely<Readable<GroupTables>>()
    .selectFrom('person_group_member as g')
    .innerJoin('person_group as p', (join) =>
      join.onRef('p.id', '=', 'g.group_id').onRef('p.organization_id', '=', 'g.organization_id'),
    )
    .select(['g.user_id as userId', 'p.scim_name as name', 'p.scim_external_id as externalId'])
    .where('g.organization_id', '=', organizationId)
    .where('g.user_id', '=', anyOf('uuid', userIds))
    .where('p.scim_name', 'is not', null)
    .execute();
  const ofUsers = groupBy(groups, ({ userId }) => userId);
  const namesOf = (id: UserId) =>
    (ofUsers.get(id) ?? []).flatMap(({ name, externalId }) => [name ?? '', externalId ?? '']);
  const place = { organization: organizationId, user: { $in: [...userIds] } };
  const memberships = [
    ...(await em.find(Membership, place, { populate: ['user'] })),
    ...(await em.find(SuspendedMembership, place, { populate: ['user'] })),
  ];
  // Promotions first, so that an administrator can be replaced by another one.
  const changed = memberships
    .map((membership) => ({
      membership,
      ...roleOfGroups(company, namesOf(membership.user.id), membership.role),
    }))
    .filter(({ membership, role }) => membership.role !== role)
    .toSorted((one, other) => ROLES.indexOf(one.role) - ROLES.indexOf(other.role));
  for (const { membership, role, group } of changed) {
    await requireKnownRole(context, role);
    if (membership instanceof Membership && membership.role === 'admin') {
      const admin = await em.count(Membership, { organization: organizationId, role: 'admin' });
      if (admin === 1 && keepsLast) continue;
      await refuseLastAdmin(em, membership);
    }
    if (membership instanceof Membership) membership.give(role, context.now());
    else membership.role = role;
    await em.flush();
    const detail = group === undefined ? role : `${role} (group ${group.slice(0, 200)})`;
    const target = { ...userTarget(membership.user, detail), organizationId };
    await recordAudit(em, auditEntry(context, 'changeOrganizationMemberRole', target));
  }
}
