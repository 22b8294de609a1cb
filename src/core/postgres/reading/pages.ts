import { type Expression, type SelectQueryBuilder, sql } from 'kysely';
import { groupBy } from '../../group-by.ts';
import type { Page, PagePlan } from './keyset.ts';
import type { Sql } from './sql.ts';
import { listOf, queriesOn } from './queries.ts';

/** The position of a row: its parent, and its number in the page. */
interface Placed {
  readonly parentId: string;
  readonly place: number;
}

const db = queriesOn<object>();

/**
 * Reads a page for the list of each parent in one statement. Every parent gets a page, which may be empty.
 * @param rowsOf The list of the parent with this id, without order and limit. It need not select the columns of the ordering.
 */
export async function pagesOf<Row extends object, Tables, Table extends keyof Tables>(
  reader: Sql,
  plan: PagePlan<Row>,
  parentIds: readonly string[],
  rowsOf: (parentId: Expression<string>) => SelectQueryBuilder<Tables, Table, Row>,
): Promise<Map<string, Page<Row>>> {
  const page = plan.apply(rowsOf(sql.ref<string>('parent.id')).select(plan.place.as('place')));
  const rows = await reader.all(
    db
      .selectFrom(sql<{ id: string }>`unnest(${listOf('uuid', parentIds)})`.as<'parent'>(sql`parent(id)`))
      .crossJoinLateral(sql<Row & Placed>`${page}`.as<'child'>(sql`child`))
      .select('parent.id as parentId')
      .selectAll('child')
      .orderBy('parent.id')
      .orderBy(sql`child.place`),
  );
  const found = groupBy<Row & Placed>(rows as (Row & Placed)[], ({ parentId }) => parentId);
  return new Map(parentIds.map((id) => [id, plan.toPage(found.get(id) ?? [])]));
}
