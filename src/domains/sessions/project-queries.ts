import { sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { OrganizationId, ProjectId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { countOf } from '../../core/postgres/reading/counts.ts';
import { type Order, type Page, type PageArguments, orderingBy, planPage } from '../../core/postgres/reading/keyset.ts';
import {
  type Readable,
  type RowOf,
  anyOf,
  contains,
  prepared,
  queriesOn,
} from '../../core/postgres/reading/queries.ts';
import type { SessionTables } from './entity.ts';
import type { ProjectFilter } from './input.ts';
import { callerOf } from './policy.ts';

const db = queriesOn<SessionTables>();

export type ProjectRow = Omit<RowOf<Readable<SessionTables>['project']>, 'organizationId'>;

const PROJECT_COLUMNS = [
  'p.id',
  'p.name',
  'p.icon',
  'p.color',
  'p.created_at as createdAt',
  'p.updated_at as updatedAt',
] as const;

const projectsById = prepared<{ organizationId: OrganizationId; ids: readonly ProjectId[] }>()((value) =>
  db
    .selectFrom('project as p')
    .select(PROJECT_COLUMNS)
    .where('p.organization_id', '=', sql<string>`${value('organizationId')}`)
    .where('p.id', '=', anyOf('uuid', value('ids'))),
);

/** The projects with these ids in the acting organization, by id. */
export function projectsOf({ actor, sql: reader }: OperationContext): LoadBatch<ProjectId, ProjectRow> {
  return async (ids) => {
    const rows = await reader.all(projectsById({ organizationId: callerOf(actor).organizationId, ids }));
    return new Map(rows.map((row) => [row.id, row]));
  };
}

export type ProjectOrderField = 'NAME' | 'CREATED_AT' | 'UPDATED_AT';

const ORDERED_BY = {
  name: 'PROJECT',
  prefix: 'p.',
  columns: {
    NAME: { property: 'name', type: 'text' },
    CREATED_AT: { property: 'createdAt', type: 'timestamptz' },
    UPDATED_AT: { property: 'updatedAt', type: 'timestamptz' },
  },
} as const;

export interface ProjectList {
  readonly filter: ProjectFilter;
  readonly order: Order<ProjectOrderField>;
  readonly page: PageArguments;
}

/** The projects of the acting organization that meet the filter. */
function projectsWithin({ actor }: OperationContext, { name, createdFrom, createdBefore }: ProjectFilter) {
  const { organizationId } = callerOf(actor);
  let projects = db.selectFrom('project as p').where('p.organization_id', '=', organizationId);
  if (name) projects = projects.where(contains(sql`p.name`, name));
  if (createdFrom != null) projects = projects.where('p.created_at', '>=', createdFrom);
  if (createdBefore != null) projects = projects.where('p.created_at', '<', createdBefore);
  return projects;
}

/** A page of the projects of the acting organization. */
export async function pageOfProjects(
  context: OperationContext,
  { filter, order, page }: ProjectList,
): Promise<Page<ProjectRow>> {
  const plan = planPage(orderingBy<ProjectRow, ProjectOrderField>(ORDERED_BY, order), page);
  const projects = projectsWithin(context, filter).select(PROJECT_COLUMNS);
  return plan.toPage(await context.sql.page(plan.apply(projects)));
}

export function countProjects(context: OperationContext, filter: ProjectFilter): Promise<number> {
  return countOf(context.sql, projectsWithin(context, filter));
}
