import { sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { OrganizationId } from '../../core/ids.ts';
import type { Role } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, type RowOf, anyOf, asRow, contains, queriesOn } from '../../core/postgres/reading/queries.ts';
import { defineList } from '../../core/postgres/reading/lists.ts';
import { ORGANIZATION_COLUMNS, type Organization, type OrganizationTables } from './entity.ts';
import type { OrganizationFilter } from './input.ts';
import { reachedBy } from './policy.ts';

const db = queriesOn<OrganizationTables>();
type Tables = Readable<OrganizationTables>;

/** An organization without its creator. A row has the selected columns only; without a selection it has all of these. */
export type OrganizationRow = Omit<RowOf<Tables['organization']>, 'creatorId'>;

const SHOWN = ORGANIZATION_COLUMNS.filter((name): name is keyof OrganizationRow => name !== 'creatorId');

export type OrganizationOrderField = 'CREATED_AT' | 'NAME';

/** The caller's organizations. */
export const ORGANIZATIONS = defineList<
  OrganizationRow,
  OrganizationFilter & { slug?: string },
  OrganizationOrderField
>()(db.selectFrom('organization as o').innerJoin('membership as m', 'm.organization_id', 'o.id'), {
  name: 'ORGANIZATION',
  alias: 'o',
  columns: SHOWN,
  reach: ({ actor }) => reachedBy(actor),
  reachAlias: 'm',
  filter: ({ is, between }) => ({
    slug: is('slug'),
    roles: (roles) => sql`m.role = any(${roles}::text[])`,
    search: (search) => contains(sql`concat_ws(' ', o.name, o.slug)`, search),
    ...between('created', 'createdAt'),
  }),
  orders: { CREATED_AT: { createdAt: 'timestamptz' }, NAME: { name: 'text' } },
});

/** The number of members of each organization. */
export function memberCountsOf({ sql: reader }: Pick<OperationContext, 'sql'>): LoadBatch<OrganizationId, number> {
  return async (organizationIds) => {
    const rows = await reader.all(
      db
        .selectFrom('membership as m')
        .select(['m.organization_id as id', ({ fn }) => fn.countAll<number>().as('count')])
        .where('m.organization_id', '=', anyOf('uuid', organizationIds))
        .groupBy('m.organization_id'),
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  };
}

/**
 * The role of the caller in each of the organizations. It is not limited to the organization of a bound key, because such a key can create or
 * join another organization.
 */
export function rolesOf({ actor, sql: reader }: OperationContext): LoadBatch<OrganizationId, Role> {
  return async (organizationIds) => {
    const rows = await reader.all(
      db
        .selectFrom('membership as m')
        .select(['m.organization_id as id', 'm.role'])
        .where('m.user_id', '=', actor.userId)
        .where('m.organization_id', '=', anyOf('uuid', organizationIds)),
    );
    return new Map(rows.map(({ id, role }) => [id, role]));
  };
}

/** The row of an organization that was just written. */
export function organizationRow(organization: Organization): OrganizationRow {
  return asRow(organization, SHOWN);
}
