import { sql } from 'kysely';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, asRow, contains, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Membership, OrganizationTables } from '../organizations/public.ts';
import type { UserRow, UserTables } from '../users/public.ts';
import type { MemberFilter } from './input.ts';

const db = queriesOn<OrganizationTables & UserTables>();
type Tables = Readable<OrganizationTables>;

/** A membership with the columns of its user that clients can read. */
export interface MemberRow
  extends
    Pick<RowOf<Tables['membership']>, 'organizationId' | 'userId' | 'role' | 'createdAt'>,
    Pick<UserRow, 'email' | 'name'> {
  readonly userCreatedAt: UserRow['createdAt'];
  readonly userUpdatedAt: UserRow['updatedAt'];
}

const MEMBER_COLUMNS = [
  'organizationId',
  'userId',
  'role',
  'createdAt',
  'email',
  'name',
  'userCreatedAt',
  'userUpdatedAt',
] as const;

/** The members of the acting organization. */
export const MEMBERS = defineList<MemberRow, MemberFilter, 'JOINED_AT'>()(
  db.selectFrom('membership as m').innerJoin('user_account as u', 'u.id', 'm.user_id'),
  {
    name: () => 'MEMBER',
    alias: 'm',
    columns: MEMBER_COLUMNS,
    expressions: { email: 'u.email', name: 'u.name', userCreatedAt: 'u.created_at', userUpdatedAt: 'u.updated_at' },
    key: 'userId',
    always: ['organizationId'],
    reach: inActingOrganization,
    filter: ({ oneOf, between }) => ({
      roles: oneOf('role'),
      search: (search) => contains(sql`concat_ws(' ', u.name, u.email)`, search),
      ...between('created', 'createdAt'),
    }),
    orders: { JOINED_AT: { createdAt: 'timestamptz' } },
  },
);

/** The row of a member that was just written. */
export function memberRow({ organization, user, role, createdAt }: Membership): MemberRow {
  const { id: userId, email, name, createdAt: userCreatedAt, updatedAt: userUpdatedAt } = user;
  return asRow(
    { organizationId: organization.id, userId, role, createdAt, email, name, userCreatedAt, userUpdatedAt },
    MEMBER_COLUMNS,
  );
}
