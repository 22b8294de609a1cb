import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { ProjectId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { SessionTables } from './entity.ts';
import type { ProjectFilter } from './input.ts';

const db = queriesOn<SessionTables>();

export type ProjectRow = Omit<RowOf<Readable<SessionTables>['project']>, 'organizationId'>;

export type ProjectOrderField = 'NAME' | 'CREATED_AT' | 'UPDATED_AT';

/** The projects of the acting organization. */
export const PROJECTS = defineList<ProjectRow, ProjectFilter, ProjectOrderField>()(db.selectFrom('project as p'), {
  name: 'PROJECT',
  alias: 'p',
  columns: ['id', 'name', 'icon', 'color', 'createdAt', 'updatedAt'],
  reach: inActingOrganization,
  filter: ({ containing, between }) => ({ name: containing('name'), ...between('created', 'createdAt') }),
  orders: {
    NAME: { name: 'text' },
    CREATED_AT: { createdAt: 'timestamptz' },
    UPDATED_AT: { updatedAt: 'timestamptz' },
  },
});

/** The projects with these ids in the acting organization, by id. */
export function projectsOf(context: OperationContext): LoadBatch<ProjectId, ProjectRow> {
  return async (ids) => new Map((await PROJECTS.find(context, ids)).map((row) => [row.id, row]));
}
