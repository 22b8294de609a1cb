import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { GroupId, UserId } from '../../core/ids.ts';
import { conditionsOn } from '../../core/postgres/reading/conditions.ts';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, contains, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { ActorRow, UserRow, UserTables } from '../users/public.ts';
import { GROUP_COLUMNS, type GroupTables } from './entity.ts';
import type { GroupFilter, GroupMemberFilter } from './input.ts';

const db = queriesOn<GroupTables & UserTables>();

/** Whether the account `u` belongs to the organization of the membership `g` in a group. A table of members that are suspended is not asked. */
const IS_HERE = sql<boolean>`(u.service_organization_id = g.organization_id and u.service_deleted_at is null or exists (
  select from membership m where m.user_id = g.user_id and m.organization_id = g.organization_id))`;

export interface GroupRow extends RowOf<Readable<GroupTables>['person_group']> {
  readonly memberIds: readonly UserId[];
}

/** The groups of the acting organization. */
export const GROUPS = defineList<GroupRow, GroupFilter, 'CREATED_AT' | 'NAME'>()(db.selectFrom('person_group as p'), {
  name: 'GROUP',
  alias: 'p',
  columns: [...GROUP_COLUMNS, 'memberIds'],
  expressions: {
    memberIds: () => sql`array(select g.user_id from person_group_member g join user_account u on u.id = g.user_id
      where g.group_id = p.id and g.organization_id = p.organization_id and ${IS_HERE} order by g.user_id)`,
  },
  reach: inActingOrganization,
  filter: ({ containing, between }) => ({ search: containing('name'), ...between('created', 'createdAt') }),
  orders: { CREATED_AT: { createdAt: 'timestamptz' }, NAME: { name: 'text' } },
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
});

/** Whether the creator of a row is in any of the given groups. */
export const isCreatorIn =
  (alias: string) =>
  (given: RawBuilder<unknown>): RawBuilder<SqlBool> =>
    sql`exists (select from person_group_member as g where g.user_id = ${sql.ref(`${alias}.creator_id`)}
      and g.organization_id = ${sql.ref(`${alias}.organization_id`)} and g.group_id = any(${given}::uuid[]))`;

/** Each row has the key and the role; they are optional so that rows are those of the union `Actor`. */
interface GroupMemberRow extends UserRow, Partial<Pick<ActorRow, 'role'>> {
  readonly userId?: UserId;
  readonly groupId?: GroupId;
}

const { createdFrom, createdBefore } = conditionsOn<'createdAt'>('u').between('created', 'createdAt');

/** The members of groups of the acting organization. */
export const GROUP_MEMBERS = defineList<GroupMemberRow, GroupMemberFilter, 'CREATED_AT' | 'NAME'>()(
  db.selectFrom('person_group_member as g').innerJoin('user_account as u', 'u.id', 'g.user_id'),
  {
    name: 'GROUP_MEMBER',
    alias: 'g',
    columns: ['id', 'userId', 'email', 'name', 'role', 'createdAt', 'updatedAt'],
    expressions: {
      id: 'g.user_id',
      email: 'u.email',
      name: 'u.name',
      role: 'u.service_role',
      createdAt: 'u.created_at',
      updatedAt: 'u.updated_at',
    },
    key: 'userId',
    below: { parent: 'groupId' },
    reach: inActingOrganization,
    where: () => IS_HERE,
    filter: () => ({
      search: (search) => contains(sql`concat_ws(' ', u.name, u.email)`, search),
      createdFrom,
      createdBefore,
    }),
    orders: { CREATED_AT: { createdAt: 'timestamptz' }, NAME: { name: { type: 'text', isNullable: true } } },
    otherwise: { field: 'CREATED_AT', direction: 'ASC' },
  },
);
