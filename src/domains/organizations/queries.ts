import { sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { countOf } from '../../core/postgres/reading/counts.ts';
import { type Order, type Page, type PageArguments, orderingBy, planPage } from '../../core/postgres/reading/keyset.ts';
import type { Role } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import {
  type Readable,
  type RowOf,
  anyOf,
  asRow,
  columns,
  contains,
  queriesOn,
} from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { ORGANIZATION_COLUMNS, type Organization, type OrganizationTables } from './entity.ts';
import type { OrganizationFilter } from './input.ts';
import { reachedBy } from './policy.ts';

const db = queriesOn<OrganizationTables>();
type Tables = Readable<OrganizationTables>;

/** An organization without its creator. A row has the selected columns only; without a selection it has all of these. */
export type OrganizationRow = Omit<RowOf<Tables['organization']>, 'creatorId'>;

const SHOWN = ORGANIZATION_COLUMNS.filter((name): name is keyof OrganizationRow => name !== 'creatorId');

const reached = (actor: OperationContext['actor']) =>
  db
    .selectFrom('organization as o')
    .innerJoin('membership as m', 'm.organization_id', 'o.id')
    .where(within(reachedBy(actor), 'm'));

/** The organizations with these ids that the caller can see, in any order. */
export async function findOrganizations(
  { actor, sql: reader }: OperationContext,
  ids: readonly OrganizationId[],
  asked?: Columns<OrganizationRow>,
): Promise<OrganizationRow[]> {
  return reader.all(
    reached(actor)
      .select(columns('o', withColumns<OrganizationRow>(asked, SHOWN, 'id')))
      .where('o.id', '=', anyOf('uuid', ids)),
  );
}

/** The organization with this slug, if the caller can see it. */
export async function findOrganizationBySlug(
  { actor, sql: reader }: OperationContext,
  slug: string,
  asked?: Columns<OrganizationRow>,
): Promise<OrganizationRow | undefined> {
  const names = withColumns<OrganizationRow>(asked, SHOWN, 'id');
  return reader.first(reached(actor).select(columns('o', names)).where('o.slug', '=', slug));
}

export type OrganizationOrderField = 'CREATED_AT' | 'NAME';

const ORDERED_BY = {
  name: 'ORGANIZATION',
  prefix: 'o.',
  columns: {
    CREATED_AT: { property: 'createdAt', type: 'timestamptz' },
    NAME: { property: 'name', type: 'text' },
  },
} as const;

export interface OrganizationList {
  readonly filter: OrganizationFilter;
  readonly order: Order<OrganizationOrderField>;
}

/** The caller's organizations that meet the filter. */
function organizationsThat(
  actor: OperationContext['actor'],
  { roles, search, createdFrom, createdBefore }: OrganizationFilter,
) {
  let found = reached(actor);
  if (roles != null) found = found.where('m.role', '=', anyOf('text', roles));
  if (search != null) found = found.where(contains(sql`concat_ws(' ', o.name, o.slug)`, search));
  if (createdFrom != null) found = found.where('o.created_at', '>=', createdFrom);
  if (createdBefore != null) found = found.where('o.created_at', '<', createdBefore);
  return found;
}

/** A page of the organizations of the caller. */
export async function pageOfOrganizations(
  { actor, sql: reader }: OperationContext,
  { filter, order }: OrganizationList,
  page: PageArguments,
  asked?: Columns<OrganizationRow>,
): Promise<Page<OrganizationRow>> {
  const ordering = orderingBy<OrganizationRow, OrganizationOrderField>(ORDERED_BY, order);
  const plan = planPage(ordering, page);
  const names = withColumns<OrganizationRow>(asked, SHOWN, 'id', ordering.property);
  return plan.toPage(await reader.page(plan.apply(organizationsThat(actor, filter).select(columns('o', names)))));
}

export function countOrganizations(
  { actor, sql: reader }: OperationContext,
  filter: OrganizationFilter,
): Promise<number> {
  return countOf(reader, organizationsThat(actor, filter));
}

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
