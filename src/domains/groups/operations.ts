import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import type { AuditTarget } from '../../core/audit.ts';
import { ConflictError, NotFoundError, invalid, nameTaken, notFound, limitReached } from '../../core/errors.ts';
import type { GroupId, OrganizationId, UserId } from '../../core/ids.ts';
import { isEmptyUpdate, requireUnchanged } from '../../core/input/expected-version.ts';
import { givenNames } from '../../core/keys-of.ts';
import { type OperationContext, defineOperation, guarded, unchanged } from '../../core/operation.ts';
import { type Readable, anyOf } from '../../core/postgres/reading/queries.ts';
import { ADMINISTER_ORGANIZATION, lockOrganization } from '../organizations/public.ts';
import type { UserTables } from '../users/public.ts';
import { Group, GroupMember, type GroupTables } from './entity.ts';
import { createGroupInput, groupReference, updateGroupInput } from './input.ts';
import { GROUPS } from './queries.ts';

/** Maximum number of groups of an organization. */
export const MAX_GROUPS = 1000;

const targetOf = ({ id, name }: Pick<Group, 'id' | 'name'>): AuditTarget => ({ type: 'Group', id, label: name });
const answer = (context: OperationContext, { id }: Pick<Group, 'id'>) => GROUPS.one(context, id, 'group');

/** Refuses another group with the same name, or for the same group of the provider. The caller has locked the organization. */
async function refuseTaken(
  em: EntityManager,
  group: { readonly id?: GroupId; readonly organizationId: OrganizationId },
  { name, externalName }: { readonly name?: string | undefined; readonly externalName?: string | null | undefined },
): Promise<void> {
  const others = { organization: group.organizationId, ...(group.id !== undefined && { id: { $ne: group.id } }) };
  if (name !== undefined && (await em.count(Group, { ...others, name })) > 0) throw nameTaken(name, 'another group');
  const tied =
    externalName == null ? [] : [{ externalName }, { scimName: externalName }, { scimExternalId: externalName }];
  if (tied.length > 0 && (await em.count(Group, { ...others, $or: tied })) > 0)
    throw nameTaken(externalName ?? '', 'another group', 'externalName');
}

/** Inserts a group in the caller's transaction, which has locked the organization. @throws ConflictError at the maximum number. */
export async function insertGroup(
  { em, now, newId }: Pick<OperationContext, 'em' | 'now' | 'newId'>,
  organizationId: OrganizationId,
  given: {
    readonly name: string;
    readonly externalName: string | null;
    readonly scimName?: string;
    readonly scimExternalId?: string | null;
  },
): Promise<Group> {
  if ((await em.count(Group, { organization: organizationId })) >= MAX_GROUPS)
    throw limitReached(MAX_GROUPS, `an organization has at most ${MAX_GROUPS} groups; delete one first`);
  const at = now();
  const group = em.create(Group, {
    scimName: null,
    scimExternalId: null,
    ...given,
    id: newId(),
    organization: organizationId,
    createdAt: at,
    updatedAt: at,
  });
  em.persist(group);
  await em.flush();
  return group;
}

type Place = { readonly organizationId: OrganizationId; readonly groupId: GroupId };

/** Adds people and service accounts to a group, in the caller's transaction. */
export async function addToGroup(em: EntityManager, member: Place, userIds: readonly UserId[]): Promise<void> {
  if (userIds.length === 0) return;
  const rows = userIds.map((userId) => ({
    organization_id: member.organizationId,
    group_id: member.groupId,
    user_id: userId,
  }));
  const tables = em.getKysely<Readable<GroupTables>>();
  await tables
    .insertInto('person_group_member')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Removes these people and service accounts, or all, from a group, or from all groups of the organization, in the caller's transaction. */
export async function removeFromGroups(
  em: EntityManager,
  { organizationId, groupId }: Pick<Place, 'organizationId'> & Partial<Place>,
  userIds?: readonly UserId[],
): Promise<void> {
  await em
    .getKysely<Readable<GroupTables>>()
    .deleteFrom('person_group_member')
    .where('organization_id', '=', organizationId)
    .$if(groupId !== undefined, (query) => query.where('group_id', '=', groupId as GroupId))
    .$if(userIds !== undefined, (query) => query.where('user_id', '=', anyOf('uuid', userIds ?? [])))
    .execute();
}

/**
 * Makes a person a member of the groups that are tied to those of the identity provider with these names, and of no other such group, in the
 * caller's transaction. Groups that SCIM manages stay. @returns what has changed, for the audit log.
 */
export async function followGroups(
  em: EntityManager,
  {
    organizationId,
    userId,
    names,
    at,
  }: { organizationId: OrganizationId; userId: UserId; names: readonly string[]; at: Date },
): Promise<string | undefined> {
  const groups = await em.find(Group, { organization: organizationId, externalName: { $ne: null }, scimName: null });
  if (groups.length === 0) return undefined;
  const current = await em.find(GroupMember, { organization: organizationId, user: userId });
  const isIn = new Set(current.map(({ group }) => group.id));
  const changed = groups.filter(({ id, externalName }) => isIn.has(id) !== names.includes(externalName ?? ''));
  for (const group of changed) {
    const member = { organizationId, groupId: group.id };
    await (isIn.has(group.id) ? removeFromGroups(em, member, [userId]) : addToGroup(em, member, [userId]));
    group.updatedAt = at;
  }
  return changed.map(({ id, name }) => `${isIn.has(id) ? 'left' : 'joined'} ${name}`).join(', ') || undefined;
}

/**
 * Locks the organization and checks that all groups that something else will name are there.
 * @param named The field that names each. @throws ValidationError (400)
 */
export async function requireGroups(
  em: EntityManager,
  organizationId: OrganizationId,
  named: ReadonlyMap<GroupId, string>,
): Promise<void> {
  if (named.size === 0) return;
  await lockOrganization(em, organizationId);
  const groups = await em.find(Group, { organization: organizationId, id: { $in: [...named.keys()] } });
  const known = new Set(groups.map(({ id }) => id));
  for (const [id, field] of named) if (!known.has(id)) throw invalid(field, 'there is no such group', 'NOT_FOUND');
}

/** The MCP connections whose settings name a group. The caller has locked the organization. */
export async function connectionsWith(em: EntityManager, { id, organization }: Group): Promise<readonly string[]> {
  const query = sql<{ name: string }>`
    select case c.visibility when 'shared' then c.name else 'a personal connection' end as name from mcp_connection as c
    where c.organization_id = ${organization.id} and (c.access -> 'groupIds' @> to_jsonb(${id}::text) or ${id} = any(c.approver_group_ids)
      or exists (select from jsonb_array_elements(c.tool_rules) as r where r -> 'groupIds' @> to_jsonb(${id}::text)))
    order by c.id`;
  return (await query.execute(em.getKysely())).rows.map(({ name }) => name);
}

/** @throws ValidationError (400) that names the first id that is of nobody in the organization. */
async function requireHere(em: EntityManager, organizationId: OrganizationId, ids: readonly UserId[]): Promise<void> {
  const found = await em
    .getKysely<Readable<UserTables>>()
    .selectFrom('user_account as u')
    .select('u.id')
    .where('u.id', '=', anyOf('uuid', ids))
    .where(
      sql<boolean>`(u.service_organization_id = ${organizationId} and u.service_deleted_at is null or exists (
        select from membership m where m.user_id = u.id and m.organization_id = ${organizationId}))`,
    )
    .execute();
  const here = new Set<string>(found.map(({ id }) => id));
  const missing = ids.findIndex((id) => !here.has(id));
  if (missing !== -1)
    throw invalid(`memberIds.${missing}`, 'must be a member or a service account of the organization', 'NOT_FOUND');
}

export const createGroup = defineOperation({
  name: 'createGroup',
  description: 'Creates a group of people and service accounts. An organization has at most 1000 groups.',
  access: ADMINISTER_ORGANIZATION,
  input: createGroupInput,
  errors: [ConflictError],
  run: async (context, { name, externalName = null, memberIds = [] }) => {
    const { em, actor } = context;
    const { id: organizationId } = requireOrganization(actor);
    await lockOrganization(em, organizationId);
    await refuseTaken(em, { organizationId }, { name, externalName });
    await requireHere(em, organizationId, memberIds);
    const group = await insertGroup(context, organizationId, { name, externalName });
    await addToGroup(em, { organizationId, groupId: group.id }, memberIds);
    return group;
  },
  target: targetOf,
  answer,
});

async function loadGroup({ em, actor }: OperationContext, id: GroupId): Promise<Group> {
  const { id: organization } = requireOrganization(actor);
  await lockOrganization(em, organization);
  const group = await em.findOne(Group, { id, organization }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!group) throw notFound('group');
  return group;
}

export const updateGroup = defineOperation({
  name: 'updateGroup',
  description:
    'Changes a group. An absent field does not change. Only SCIM changes the members and `externalName` of a group that it manages.',
  access: ADMINISTER_ORGANIZATION,
  input: updateGroupInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { groupId, expectedUpdatedAt, ...changes }) => {
    const { em, now } = context;
    const group = await loadGroup(context, groupId);
    const organizationId = group.organization.id;
    requireUnchanged(group, { expectedUpdatedAt }, { type: 'Group', key: group.id });
    if (isEmptyUpdate(changes)) return unchanged(group);
    const { name, externalName, memberIds } = changes;
    const [kept] = givenNames({ memberIds, externalName });
    if (group.scimName !== null && kept !== undefined)
      throw new ConflictError('WRONG_STATE', `${kept}: SCIM manages this group; change it at the identity provider`, [
        kept,
      ]);
    await refuseTaken(em, { id: group.id, organizationId }, { name, externalName });
    if (name !== undefined) group.name = name;
    if (externalName !== undefined) group.externalName = externalName;
    if (memberIds) {
      await requireHere(em, organizationId, memberIds);
      await removeFromGroups(em, { organizationId, groupId });
      await addToGroup(em, { organizationId, groupId }, memberIds);
    }
    group.updatedAt = now();
    return group;
  },
  target: (group, { groupId: _id, expectedUpdatedAt: _expected, ...changes }) => ({
    ...targetOf(group),
    changedFields: givenNames(changes),
  }),
  answer,
});

export const deleteGroup = defineOperation({
  name: 'deleteGroup',
  description:
    'Deletes a group. Its members stay in the organization. A group that the settings of an MCP connection name cannot be deleted.',
  access: ADMINISTER_ORGANIZATION,
  input: groupReference,
  errors: [NotFoundError, ConflictError],
  run: async (context, { groupId }) => {
    const group = await loadGroup(context, groupId);
    const [connection, ...others] = await connectionsWith(context.em, group);
    if (connection !== undefined)
      throw new ConflictError(
        'IN_USE',
        `the settings of ${connection}${others.length > 0 ? ` and ${others.length} more MCP connections` : ''} name the group; change them first`,
      );
    context.em.remove(group);
    return group;
  },
  target: targetOf,
});

export const listGroups = defineOperation({
  name: 'listGroups',
  description: 'Groups of the organization, oldest first by default.',
  access: ADMINISTER_ORGANIZATION,
  run: GROUPS.read,
});

export const readGroups = guarded(ADMINISTER_ORGANIZATION, GROUPS.find);
