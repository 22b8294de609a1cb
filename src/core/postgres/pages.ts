import { type Expression, type SelectQueryBuilder, sql } from 'kysely';
import { type LoadBatch, groupBy } from '../batches.ts';
import type { Page, PagePlan } from '../keyset.ts';
import type { Sql } from '../sql.ts';
import { listOf, queriesOn } from './queries.ts';

/** A page of what belongs to each parent, in one statement for all of them. `rowsOf` selects the rows of the parent with the given id. */
export function pagesOf<Tables, From extends keyof Tables, Row extends object>(
  reader: Sql,
  plan: PagePlan<Row>,
  rowsOf: (parentId: Expression<string>) => SelectQueryBuilder<Tables, From, Row>,
): LoadBatch<string, Page<Row>> {
  return async (parentIds) => {
    const parents = sql<{ id: string }>`unnest(${listOf('uuid', parentIds)})`.as<'parent'>(sql`parent(id)`);
    const page = plan.apply(rowsOf(sql<string>`parent.id`)).as('page');
    const rows = await reader.all(
      queriesOn<object>()
        .selectFrom(parents)
        .innerJoinLateral(page, (join) => join.onTrue())
        .select('parent.id as parentId')
        .selectAll('page'),
    );
    // Each row is one of its page, beside the id of its parent.
    const found = groupBy(
      rows as unknown as readonly (Row & { readonly parentId: string })[],
      ({ parentId }) => parentId,
    );
    return new Map(parentIds.map((id) => [id, plan.toPage(found.get(id) ?? [])]));
  };
}
