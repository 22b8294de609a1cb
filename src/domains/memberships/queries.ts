import { sql } from 'kysely';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { keysOf } from '../../core/keys-of.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { countOf } from '../../core/postgres/reading/counts.ts';
import {
  type Order,
  type Ordering,
  type Page,
  type PageArguments,
  planPage,
} from '../../core/postgres/reading/keyset.ts';
import { type Readable, type RowOf, anyOf, asRow, contains, queriesOn } from '../../core/postgres/reading/queries.ts';
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

const byJoining = (direction: 'ASC' | 'DESC'): Ordering<MemberRow> => ({
  name: 'MEMBER',
  direction,
  columns: [
    { sql: 'm.created_at', type: 'timestamptz', of: ({ createdAt }) => createdAt },
    { sql: 'm.user_id', type: 'uuid', of: ({ userId }) => userId },
  ],
});

const MEMBER_COLUMNS = {
  organizationId: 'm.organization_id as organizationId',
  userId: 'm.user_id as userId',
  role: 'm.role as role',
  createdAt: 'm.created_at as createdAt',
  email: 'u.email as email',
  name: 'u.name as name',
  userCreatedAt: 'u.created_at as userCreatedAt',
  userUpdatedAt: 'u.updated_at as userUpdatedAt',
} as const satisfies Record<keyof MemberRow, string>;
const ALL_MEMBER_COLUMNS = keysOf(MEMBER_COLUMNS);

/** The users with these ids who are members of the organization, in any order. */
export function findMembers(
  { sql: reader }: OperationContext,
  organizationId: OrganizationId,
  userIds: readonly UserId[],
  asked?: Columns<MemberRow>,
): Promise<MemberRow[]> {
  const names = withColumns<MemberRow>(asked, ALL_MEMBER_COLUMNS, 'organizationId', 'userId');
  return reader.all(
    membersOf(organizationId)
      .select(names.map((name) => MEMBER_COLUMNS[name]))
      .where('m.user_id', '=', anyOf('uuid', userIds)),
  );
}

function membersOf(organizationId: OrganizationId) {
  return db
    .selectFrom('membership as m')
    .innerJoin('user_account as u', 'u.id', 'm.user_id')
    .where('m.organization_id', '=', organizationId);
}

export interface MemberList {
  readonly organizationId: OrganizationId;
  readonly filter: MemberFilter;
  readonly order: Order<'JOINED_AT'>;
}

/** The members who meet the filter. */
function membersThat({
  organizationId,
  filter: { roles, search, createdFrom, createdBefore },
}: Pick<MemberList, 'organizationId' | 'filter'>) {
  let found = membersOf(organizationId);
  if (roles != null) found = found.where('m.role', '=', anyOf('text', roles));
  if (search != null) found = found.where(contains(sql`concat_ws(' ', u.name, u.email)`, search));
  if (createdFrom != null) found = found.where('m.created_at', '>=', createdFrom);
  if (createdBefore != null) found = found.where('m.created_at', '<', createdBefore);
  return found;
}

export function countMembers(
  { sql: reader }: OperationContext,
  list: Pick<MemberList, 'organizationId' | 'filter'>,
): Promise<number> {
  return countOf(reader, membersThat(list));
}

/** A page of the members of an organization. */
export async function pageOfMembers(
  { sql: reader }: OperationContext,
  list: MemberList,
  page: PageArguments,
  asked?: Columns<MemberRow>,
): Promise<Page<MemberRow>> {
  const plan = planPage(byJoining(list.order.direction), page);
  const names = withColumns<MemberRow>(asked, ALL_MEMBER_COLUMNS, 'userId', 'createdAt');
  const members = membersThat(list).select(names.map((name) => MEMBER_COLUMNS[name]));
  return plan.toPage(await reader.page(plan.apply(members)));
}

/** The row of a member that was just written. */
export function memberRow({ organization, user, role, createdAt }: Membership): MemberRow {
  const { id: userId, email, name, createdAt: userCreatedAt, updatedAt: userUpdatedAt } = user;
  return asRow(
    { organizationId: organization.id, userId, role, createdAt, email, name, userCreatedAt, userUpdatedAt },
    ALL_MEMBER_COLUMNS,
  );
}
