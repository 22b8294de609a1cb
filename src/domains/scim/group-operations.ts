import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { requireOrganization } from '../../core/access.ts';
import type { AuditTarget } from '../../core/audit.ts';
import { notFound } from '../../core/errors.ts';
import { type GroupId, type OrganizationId, type UserId, isUuid } from '../../core/ids.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import { type Readable, anyOf } from '../../core/postgres/reading/queries.ts';
import {
  Group,
  type GroupTables,
  addToGroup,
  connectionsWith,
  insertGroup,
  removeFromGroups,
} from '../groups/public.ts';
import { User } from '../users/public.ts';
import { ScimError } from './errors.ts';
import { patchedGroup } from './patch.ts';
import { type GroupState, MAX_MEMBERS, groupIn } from './resources.ts';
import { type StoredGroup, people, type Asked, store } from './people.ts';
import { ACCESS, withScim, type Written, change, applyRoles } from './changes.ts';
import type { Deleted } from './user-operations.ts';

/** What SCIM does with groups. */

export const GROUP_FILTERS = ['displayname', 'externalid', 'id'];

async function findGroups(
  em: EntityManager,
  organizationId: OrganizationId,
  { filter, offset, count }: Asked,
  withMembers: boolean,
): Promise<{ items: StoredGroup[]; total: number }> {
  const where = {
    organization: organizationId,
    scimName: filter?.attribute === 'displayname' ? filter.value : { $ne: null },
    ...(filter?.attribute === 'externalid' && { scimExternalId: filter.value }),
    ...(filter?.attribute === 'id' && { id: isUuid(filter.value) ? filter.value : NOBODY }),
  };
  const groups = await em.find(Group, where, {
    orderBy: { createdAt: 'asc', id: 'asc' },
    offset,
    limit: Math.max(count, 1),
    refresh: true,
  });
  const total = await em.count(Group, where);
  const members =
    withMembers && count > 0
      ? await membersOf(
          em,
          organizationId,
          groups.map(({ id }) => id),
        )
      : new Map<string, Set<string>>();
  const items = groups.slice(0, count).map(({ id, scimName, scimExternalId, createdAt, updatedAt }) => ({
    id,
    createdAt,
    updatedAt,
    state: {
      displayName: scimName ?? '',
      externalId: scimExternalId ?? null,
      members: members.get(id) ?? new Set<string>(),
    },
  }));
  return { items, total };
}

const NOBODY = '00000000-0000-0000-0000-000000000000';

async function membersOf(em: EntityManager, organizationId: OrganizationId, groupIds: readonly string[]) {
  const rows = await em
    .getKysely<Readable<GroupTables>>()
    .selectFrom('person_group_member')
    .select(['group_id as groupId', 'user_id as userId'])
    .where('organization_id', '=', organizationId)
    .where('group_id', '=', anyOf('uuid', groupIds))
    .orderBy('user_id')
    .execute();
  const members = new Map<string, Set<string>>();
  for (const { groupId, userId } of rows) members.set(groupId, (members.get(groupId) ?? new Set()).add(userId));
  return members;
}

export const listScimGroups = guarded(
  ACCESS,
  withScim(({ em, actor }, { withMembers, ...asked }: Asked & { readonly withMembers: boolean }) =>
    findGroups(em, requireOrganization(actor).id, asked, withMembers),
  ),
);

async function oneGroup(em: EntityManager, organizationId: OrganizationId, id: string): Promise<StoredGroup> {
  const { items } = await findGroups(
    em,
    organizationId,
    { filter: { attribute: 'id', value: id }, offset: 0, count: 1 },
    true,
  );
  const [found] = items;
  if (!found) throw notFound('group');
  return found;
}

export const readScimGroup = guarded(
  ACCESS,
  withScim(({ em, actor }, id: string) => oneGroup(em, requireOrganization(actor).id, id)),
);

const groupTarget = ({ id, name }: Group): AuditTarget => ({ type: 'Group', id, label: name });

/** @throws ScimError (409) if another group of SCIM, or one that is tied to another, has the name. */
async function refuseGroupName(
  em: EntityManager,
  organization: OrganizationId,
  { displayName }: GroupState,
  self: GroupId,
): Promise<void> {
  if ((await em.count(Group, { organization, id: { $ne: self }, scimName: displayName })) > 0)
    throw new ScimError('uniqueness', 'displayName: another group has it');
}

/** Sets the members of a group, and gives them their roles. @returns whose roles may have changed. */
async function setMembers(
  context: OperationContext,
  group: Group,
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
): Promise<UserId[]> {
  const { em } = context;
  const organizationId = group.organization.id;
  if (after.size > MAX_MEMBERS) throw new ScimError('invalidValue', `members: must have at most ${MAX_MEMBERS} items`);
  const added = [...after].filter((id) => !before.has(id));
  const removed = [...before].filter((id) => !after.has(id));
  const known = added.every(isUuid)
    ? await people(em, organizationId)
        .select(['u.id', 'u.email', 's.user_id as recorded'])
        .where('u.id', '=', anyOf('uuid', added))
        .execute()
    : [];
  if (known.length < added.length) throw new ScimError('invalidValue', 'members.value: must be ids of users');
  // SCIM decides over whoever it puts in a group.
  for (const { id, email, recorded } of known)
    if (recorded === null)
      await store(context, organizationId, await em.findOneOrFail(User, { id }), {
        userName: email ?? '',
        externalId: null,
        displayName: null,
        name: {},
        active: true,
        email: email ?? '',
      });
  const member = { organizationId, groupId: group.id };
  if (removed.length > 0) await removeFromGroups(em, member, removed);
  await addToGroup(em, member, added);
  return [...added, ...removed];
}

export const createScimGroup = change(
  'createScimGroup',
  async (context, body: unknown): Promise<Written<StoredGroup>> => {
    const { em, actor, now } = context;
    const { id: organizationId } = requireOrganization(actor);
    const { displayName, externalId, members } = groupIn(body);
    const names = externalId === null ? [displayName] : [displayName, externalId];
    await refuseGroupName(em, organizationId, { displayName, externalId, members }, NOBODY);
    const tied = await em.findOne(Group, {
      organization: organizationId,
      externalName: { $in: names },
      scimName: null,
    });
    const scim = { scimName: displayName, scimExternalId: externalId };
    const group =
      tied ??
      (await insertGroup(context, organizationId, {
        name: displayName.slice(0, 200),
        externalName: displayName,
        ...scim,
      }));
    const before = tied
      ? ((await membersOf(em, organizationId, [tied.id])).get(tied.id) ?? new Set<string>())
      : new Set<string>();
    if (tied) em.assign(tied, { ...scim, updatedAt: now() });
    await em.flush();
    const userIds = await setMembers(context, group, before, members);
    await applyRoles(context, organizationId, userIds);
    return { result: await oneGroup(em, organizationId, group.id), target: groupTarget(group), userIds, keyIds: [] };
  },
);

interface ChangedGroup {
  readonly id: string;
  readonly body: unknown;
  readonly isPatch: boolean;
  readonly check: (current: StoredGroup) => void;
}

export const changeScimGroup = change(
  'updateScimGroup',
  async (context, { id, body, isPatch, check }: ChangedGroup): Promise<Written<StoredGroup>> => {
    const { em, actor, now } = context;
    const { id: organizationId } = requireOrganization(actor);
    const before = await oneGroup(em, organizationId, id);
    check(before);
    const wanted = isPatch ? patchedGroup(before.state, body) : groupIn(body, before.state);
    const group = await em.findOneOrFail(Group, { id: before.id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    const { displayName, externalId } = wanted;
    const isRenamed = displayName !== before.state.displayName || externalId !== before.state.externalId;
    if (isRenamed) {
      await refuseGroupName(em, organizationId, wanted, group.id);
      if (group.name === group.scimName) group.name = displayName.slice(0, 200);
      const isFree =
        (await em.count(Group, { organization: organizationId, id: { $ne: group.id }, externalName: displayName })) ===
        0;
      if (group.externalName === group.scimName && isFree) group.externalName = displayName;
      em.assign(group, { scimName: displayName, scimExternalId: externalId });
    }
    group.updatedAt = now();
    await em.flush();
    const changed = await setMembers(context, group, before.state.members, wanted.members);
    const userIds = isRenamed ? [...new Set([...changed, ...wanted.members])] : changed;
    await applyRoles(context, organizationId, userIds);
    return { result: await oneGroup(em, organizationId, group.id), target: groupTarget(group), userIds, keyIds: [] };
  },
);

export const deleteScimGroup = change(
  'deleteScimGroup',
  async (context, { id, check }: Deleted<StoredGroup>): Promise<Written<null>> => {
    const { em, actor, now } = context;
    const { id: organizationId } = requireOrganization(actor);
    const before = await oneGroup(em, organizationId, id);
    check(before);
    const group = await em.findOneOrFail(Group, { id: before.id });
    if ((await connectionsWith(em, group)).length === 0) em.remove(group);
    else {
      // It stays in the settings of the connections, and is nobody's.
      em.assign(group, { scimName: null, scimExternalId: null, externalName: null, updatedAt: now() });
      await removeFromGroups(em, { organizationId, groupId: group.id });
    }
    await em.flush();
    const userIds = [...before.state.members];
    await applyRoles(context, organizationId, userIds);
    return { result: null, target: groupTarget(group), userIds, keyIds: [] };
  },
);
