import { sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { type Ordering, type Page, type PageArguments, planPage } from '../../core/postgres/keyset.ts';
import type { OperationContext, Role } from '../../core/operation.ts';
import { type Readable, type RowOf, asRow, columns, listOf, queriesOn } from '../../core/postgres/queries.ts';
import { within } from '../../core/postgres/reach.ts';
import { type Columns, withColumns } from '../../core/postgres/columns.ts';
import type { UserRow } from '../users/operations.ts';
import type { UserTables } from '../users/entity.ts';
import { type Membership, ORGANIZATION_COLUMNS, type Organization, type OrganizationTables } from './entity.ts';
import { reachedBy } from './policy.ts';

const db = queriesOn<OrganizationTables & UserTables>();
type Tables = Readable<OrganizationTables>;

/** All of an organization but its creator. Rows have the columns that were asked for; without a selection they have all of these. */
export type OrganizationRow = Omit<RowOf<Tables['organization']>, 'creatorId'>;

const SHOWN = ORGANIZATION_COLUMNS.filter((name): name is keyof OrganizationRow => name !== 'creatorId');

/** A membership, and of the user what may be shown beside it. */
export interface MemberRow
  extends Pick<RowOf<Tables['membership']>, 'organizationId' | 'userId' | 'role' | 'createdAt'>, Pick<UserRow, 'email' | 'name'> {
  readonly userCreatedAt: UserRow['createdAt'];
}

const reached = (actor: OperationContext['actor']) =>
  db
    .selectFrom('organization as o')
    .innerJoin('membership as m', 'm.organization_id', 'o.id')
    .where(within(reachedBy(actor), 'm'));

/** Those of the ids that are organizations of the caller, in no particular order. */
export async function findOrganizations(
  { actor, sql: reader }: OperationContext,
  ids: readonly string[],
  asked?: Columns<OrganizationRow>,
): Promise<OrganizationRow[]> {
  return reader.all(
    reached(actor)
      .select(columns('o', withColumns<OrganizationRow>(asked, SHOWN, 'id')))
      .where('o.id', '=', sql<string>`any(${listOf('uuid', ids)})`),
  );
}

/** The organization of the caller with this slug. */
export async function findOrganizationBySlug(
  { actor, sql: reader }: OperationContext,
  slug: string,
  asked?: Columns<OrganizationRow>,
): Promise<OrganizationRow | undefined> {
  const names = withColumns<OrganizationRow>(asked, SHOWN, 'id');
  return reader.first(
    reached(actor)
      .select(columns('o', names))
      .where('o.slug', '=', slug),
  );
}

const BY_CREATION: Ordering<OrganizationRow> = {
  name: 'ORGANIZATION',
  direction: 'ASC',
  columns: [
    { sql: 'o.created_at', type: 'timestamptz', of: ({ createdAt }) => createdAt },
    { sql: 'o.id', type: 'uuid', of: ({ id }) => id },
  ],
};

/** The organizations of the caller, by time of creation. */
export async function pageOfOrganizations(
  { actor, sql: reader }: OperationContext,
  page: PageArguments,
  asked?: Columns<OrganizationRow>,
): Promise<Page<OrganizationRow>> {
  const plan = planPage(BY_CREATION, page);
  const names = withColumns<OrganizationRow>(asked, SHOWN, 'id', 'createdAt');
  return plan.toPage(await reader.all(plan.apply(reached(actor).select(columns('o', names)))));
}

export async function countOrganizations({ actor, sql: reader }: OperationContext): Promise<number> {
  const row = await reader.first(reached(actor).select(({ fn }) => fn.countAll<number>().as('count')));
  return row?.count ?? 0;
}

/** How many members each of the organizations has. */
export function memberCountsOf({ sql: reader }: Pick<OperationContext, 'sql'>): LoadBatch<string, number> {
  return async (organizationIds) => {
    const rows = await reader.all(
      db
        .selectFrom('membership as m')
        .select(['m.organization_id as id', ({ fn }) => fn.countAll<number>().as('count')])
        .where('m.organization_id', '=', sql<string>`any(${listOf('uuid', organizationIds)})`)
        .groupBy('m.organization_id'),
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  };
}

/** The role of the caller in each of the organizations. */
export function rolesOf({ actor, sql: reader }: OperationContext): LoadBatch<string, Role> {
  return async (organizationIds) => {
    const rows = await reader.all(
      reached(actor)
        .select(['o.id', 'm.role'])
        .where('o.id', '=', sql<string>`any(${listOf('uuid', organizationIds)})`),
    );
    return new Map(rows.map(({ id, role }) => [id, role]));
  };
}

const BY_JOINING: Ordering<MemberRow> = {
  name: 'MEMBER',
  direction: 'ASC',
  columns: [
    { sql: 'm.created_at', type: 'timestamptz', of: ({ createdAt }) => createdAt },
    { sql: 'm.user_id', type: 'uuid', of: ({ userId }) => userId },
  ],
};

const MEMBER_COLUMNS = {
  organizationId: 'm.organization_id as organizationId',
  userId: 'm.user_id as userId',
  role: 'm.role as role',
  createdAt: 'm.created_at as createdAt',
  email: 'u.email as email',
  name: 'u.name as name',
  userCreatedAt: 'u.created_at as userCreatedAt',
} as const satisfies Record<keyof MemberRow, string>;
const ALL_MEMBER_COLUMNS = Object.keys(MEMBER_COLUMNS) as (keyof MemberRow)[];

/** Those of the users who are members of the organization, in no particular order. */
export function findMembers(
  { sql: reader }: OperationContext,
  organizationId: string,
  userIds: readonly string[],
  asked?: Columns<MemberRow>,
): Promise<MemberRow[]> {
  const names = withColumns<MemberRow>(asked, ALL_MEMBER_COLUMNS, 'organizationId', 'userId');
  return reader.all(
    membersOf(organizationId)
      .select(names.map((name) => MEMBER_COLUMNS[name]))
      .where('m.user_id', '=', sql<string>`any(${listOf('uuid', userIds)})`),
  );
}

function membersOf(organizationId: string) {
  return db
    .selectFrom('membership as m')
    .innerJoin('user_account as u', 'u.id', 'm.user_id')
    .where('m.organization_id', '=', organizationId);
}

/** The members of an organization, by time of joining. */
export async function pageOfMembers(
  { sql: reader }: OperationContext,
  organizationId: string,
  page: PageArguments,
  asked?: Columns<MemberRow>,
): Promise<Page<MemberRow>> {
  const plan = planPage(BY_JOINING, page);
  const names = withColumns<MemberRow>(asked, ALL_MEMBER_COLUMNS, 'userId', 'createdAt');
  const members = membersOf(organizationId).select(names.map((name) => MEMBER_COLUMNS[name]));
  return plan.toPage(await reader.all(plan.apply(members)));
}

/** An organization that was just written, as it will be read. */
export function organizationRow(organization: Organization): OrganizationRow {
  return asRow(organization, SHOWN);
}

/** Likewise a member. */
export function memberRow({ organization, user, role, createdAt }: Membership): MemberRow {
  const { id: userId, email, name, createdAt: userCreatedAt } = user;
  return asRow({ organizationId: organization.id, userId, role, createdAt, email, name, userCreatedAt }, ALL_MEMBER_COLUMNS);
}
