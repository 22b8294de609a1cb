import { sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { OrganizationId, ProjectId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, type RowOf, anyOf, prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { SessionTables } from './entity.ts';
import { callerOf } from './policy.ts';

const db = queriesOn<SessionTables>();

export type ProjectRow = Omit<RowOf<Readable<SessionTables>['project']>, 'organizationId'>;

const projectsById = prepared<{ organizationId: OrganizationId; ids: readonly ProjectId[] }>()((value) =>
  db
    .selectFrom('project as p')
    .select(['p.id', 'p.name', 'p.icon', 'p.color', 'p.created_at as createdAt', 'p.updated_at as updatedAt'])
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
