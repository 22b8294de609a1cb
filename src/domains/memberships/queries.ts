import { type RawBuilder, sql } from 'kysely';
import type { WhereColumn } from '../../core/postgres/reading/conditions.ts';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, asRow, contains, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Membership, OrganizationTables } from '../organizations/public.ts';
import type { UserRow, UserTables } from '../users/public.ts';
import type { SuspensionTables } from './entity.ts';
import type { UserId } from '../../core/ids.ts';
import type { FormerMemberFilter, MemberFilter } from './input.ts';

const db = queriesOn<OrganizationTables & SuspensionTables & UserTables>();
type Tables = Readable<OrganizationTables>;

/** A membership with the columns of its user that clients can read. */
export interface MemberRow
  extends
    Pick<RowOf<Tables['membership']>, 'organizationId' | 'userId' | 'role' | 'createdAt'>,
    Pick<UserRow, 'email' | 'name'> {
  /** Null for a member whose membership is not suspended. */
  readonly suspendedAt: string | null;
  readonly userCreatedAt: UserRow['createdAt'];
  readonly userUpdatedAt: UserRow['updatedAt'];
}

const MEMBER_COLUMNS = [
  'organizationId',
  'userId',
  'role',
  'createdAt',
  'suspendedAt',
  'email',
  'name',
  'userCreatedAt',
  'userUpdatedAt',
] as const;

const ofUser = { email: 'u.email', name: 'u.name', userCreatedAt: 'u.created_at', userUpdatedAt: 'u.updated_at' };

interface OfPeople {
  readonly userIds?: readonly UserId[];
}

/** What the lists of members have in common. */
const declared = {
  alias: 'm',
  columns: MEMBER_COLUMNS,
  key: 'userId',
  always: ['organizationId'],
  reach: inActingOrganization,
  filter: ({ oneOf, between }: WhereColumn<keyof MemberRow>) => ({
    userIds: oneOf('userId', 'uuid'),
    roles: oneOf('role'),
    search: (search: RawBuilder<unknown>) => contains(sql`concat_ws(' ', u.name, u.email)`, search),
    ...between('created', 'createdAt'),
  }),
  orders: { JOINED_AT: { createdAt: 'timestamptz' } },
} as const;

/** The members of the acting organization. */
export const MEMBERS = defineList<MemberRow, MemberFilter & OfPeople, 'JOINED_AT'>()(
  db.selectFrom('membership as m').innerJoin('user_account as u', 'u.id', 'm.user_id'),
  { ...declared, name: () => 'MEMBER', expressions: { ...ofUser, suspendedAt: () => sql`null::timestamptz` } },
);

/** Those whose membership is suspended. */
export const SUSPENDED_MEMBERS = defineList<MemberRow, MemberFilter & OfPeople, 'JOINED_AT'>()(
  db.selectFrom('suspended_membership as m').innerJoin('user_account as u', 'u.id', 'm.user_id'),
  { ...declared, name: () => 'SUSPENDED_MEMBER', expressions: ofUser },
);

/** Somebody who was a member, by name and address of then. */
export type FormerMemberRow = Pick<
  RowOf<Readable<SuspensionTables>['former_membership']>,
  'organizationId' | 'userId' | 'label' | 'leftAt'
>;

/** A look-up for each row, which no plan turns into a hash of all memberships. */
const isNot = (table: 'membership' | 'suspended_membership') => sql`(
  select s.user_id from ${sql.table(table)} as s where s.organization_id = m.organization_id and s.user_id = m.user_id) is null`;

/** Those who have left or were removed, and have not come back. */
export const FORMER_MEMBERS = defineList<FormerMemberRow, FormerMemberFilter & OfPeople, 'LEFT_AT'>()(
  db.selectFrom('former_membership as m'),
  {
    alias: 'm',
    name: () => 'FORMER_MEMBER',
    columns: ['organizationId', 'userId', 'label', 'leftAt'],
    key: 'userId',
    reach: inActingOrganization,
    where: () => sql<boolean>`${isNot('membership')} and ${isNot('suspended_membership')}`,
    filter: ({ oneOf, between }) => ({
      userIds: oneOf('userId', 'uuid'),
      search: (search: RawBuilder<unknown>) => contains(sql`m.label`, search),
      ...between('left', 'leftAt'),
    }),
    orders: { LEFT_AT: { leftAt: { type: 'timestamptz', isNullable: true } } },
  },
);

/** The row of a member that was just written. */
export function memberRow({ organization, user, role, createdAt }: Membership): MemberRow {
  const { id: userId, email, name, createdAt: userCreatedAt, updatedAt: userUpdatedAt } = user;
  return asRow(
    {
      organizationId: organization.id,
      userId,
      role,
      createdAt,
      suspendedAt: null,
      email,
      name,
      userCreatedAt,
      userUpdatedAt,
    },
    MEMBER_COLUMNS,
  );
}
