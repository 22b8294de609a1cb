import { type SelectQueryBuilder, sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { OrganizationId } from '../../core/ids.ts';
import type { Actor, Role } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, type RowOf, anyOf, asRow, contains, queriesOn } from '../../core/postgres/reading/queries.ts';
import { defineList } from '../../core/postgres/reading/lists.ts';
import type { Reach } from '../../core/postgres/reading/reach.ts';
import type { UserTables } from '../users/public.ts';
import { ORGANIZATION_COLUMNS, type Organization, type OrganizationTables } from './entity.ts';
import type { OrganizationFilter } from './input.ts';
import { reachedBy } from './policy.ts';

const db = queriesOn<OrganizationTables & UserTables>();
type Tables = Readable<OrganizationTables>;

/** An organization without its creator. A row has the selected columns only; without a selection it has all of these. */
export type OrganizationRow = Omit<RowOf<Tables['organization']>, 'creatorId'>;

const SHOWN = ORGANIZATION_COLUMNS.filter((name): name is keyof OrganizationRow => name !== 'creatorId');

export type OrganizationOrderField = 'CREATED_AT' | 'NAME';

type Filter = OrganizationFilter & { slug?: string };

/** The list of the organizations of callers, who have a role in the table with the alias `m`. */
const organizations = <Given, Table extends keyof Given>(
  rows: SelectQueryBuilder<Given, Table, object>,
  role: 'm.role' | 'm.service_role',
  reach: (actor: Actor) => Reach<object>,
) =>
  defineList<OrganizationRow, Filter, OrganizationOrderField>()(rows, {
    name: 'ORGANIZATION',
    alias: 'o',
    columns: SHOWN,
    reach: ({ actor }) => reach(actor),
    reachAlias: 'm',
    filter: ({ is, between }) => ({
      slug: is('slug'),
      roles: (roles) => sql`${sql.ref(role)} = any(${roles}::text[])`,
      search: (search) => contains(sql`concat_ws(' ', o.name, o.slug)`, search),
      ...between('created', 'createdAt'),
    }),
    orders: { CREATED_AT: { createdAt: 'timestamptz' }, NAME: { name: 'text' } },
  });

const OF_PEOPLE = organizations(
  db.selectFrom('organization as o').innerJoin('membership as m', 'm.organization_id', 'o.id'),
  'm.role',
  reachedBy,
);
const OF_SERVICE_ACCOUNTS = organizations(
  db.selectFrom('organization as o').innerJoin('user_account as m', 'm.service_organization_id', 'o.id'),
  'm.service_role',
  ({ userId }) => ({ all: { id: userId, serviceDeletedAt: null } }),
);

export const organizationsOf = ({ isServiceAccount }: Actor) =>
  isServiceAccount === true ? OF_SERVICE_ACCOUNTS : OF_PEOPLE;

export const memberCountsOf =
  ({ sql: reader }: Pick<OperationContext, 'sql'>): LoadBatch<OrganizationId, number> =>
  async (organizationIds) => {
    const rows = await reader.all(
      db
        .selectFrom('membership as m')
        .select(['m.organization_id as id', ({ fn }) => fn.countAll<number>().as('count')])
        .where('m.organization_id', '=', anyOf('uuid', organizationIds))
        .groupBy('m.organization_id'),
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  };

/**
 * The role of the caller in each of the organizations. It is not limited to the organization of a bound key, because such a key can create or
 * join another organization.
 */
export function rolesOf({ actor, sql: reader }: OperationContext): LoadBatch<OrganizationId, Role> {
  const { organization } = actor;
  if (actor.isServiceAccount === true)
    return () => Promise.resolve(new Map(organization ? [[organization.id, organization.role]] : []));
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
export const organizationRow = (organization: Organization): OrganizationRow => asRow(organization, SHOWN);
