import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { GroupId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import { Organization } from '../organizations/public.ts';
import { User } from '../users/public.ts';

const GroupSchema = defineEntity({
  name: 'Group',
  tableName: 'person_group',
  properties: {
    id: p.uuid().$type<GroupId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    name: p.text(),
    externalName: p.text().nullable(),
    /** `displayName` as SCIM has sent it; null for a group that SCIM does not manage. */
    scimName: p.text().nullable(),
    scimExternalId: p.text().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  indexes: [{ name: 'person_group_organization_index', properties: ['organization', 'createdAt', 'id'] }],
  uniques: [{ name: 'person_group_external_name_unique', properties: ['organization', 'externalName'] }],
});

/** People and service accounts of an organization. */
export class Group extends GroupSchema.class {}
GroupSchema.setClass(Group);

const GroupMemberSchema = defineEntity({
  name: 'GroupMember',
  tableName: 'person_group_member',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    group: () => p.manyToOne(Group).primary().deleteRule('cascade'),
    user: () => p.manyToOne(User).primary().deleteRule('cascade'),
  },
  indexes: [
    { name: 'person_group_member_group_index', properties: ['group'] },
    { name: 'person_group_member_user_index', properties: ['user'] },
  ],
});

/** Who is in a group. Whoever is no longer in the organization does not count. */
export class GroupMember extends GroupMemberSchema.class {}
GroupMemberSchema.setClass(GroupMember);

export type GroupTables = InferKyselyDB<typeof GroupSchema | typeof GroupMemberSchema>;
export const GROUP_COLUMNS = columnNames<GroupTables, 'person_group'>(GroupSchema, 'person_group');
