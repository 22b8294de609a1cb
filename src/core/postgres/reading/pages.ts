import { type Expression, type SelectQueryBuilder, sql } from 'kysely';
import { groupBy } from '../../group-by.ts';
import type { Page, PagePlan } from './keyset.ts';
import type { PageRows, Sql } from './sql.ts';
import { listOf, queriesOn } from './queries.ts';

/** The position of a row: its parent, and its number in the page. */
interface Placed {
  readonly parentId: string;
  readonly place: number;
}

const db = queriesOn<object>();

/** The lists of several parents. */
interface Lists<Tables, Table extends keyof Tables, Row> {
  /** The `id` of each of these parents whose list the caller can read. Without it, of all of them. */
  readonly parents?: (ids: readonly string[]) => Expression<{ id: string }>;
  /** The list of the parent with this id, without order and limit. It need not select the columns of the ordering. */
  readonly rows: (parentId: Expression<string>) => SelectQueryBuilder<Tables, Table, Row>;
}

/** Reads a page for the list of each parent in one statement. Every parent gets a page, which may be empty. */
export async function pagesOf<Row extends object, Tables, Table extends keyof Tables>(
  reader: Sql,
  plan: PagePlan<Row>,
  parentIds: readonly string[],
  { rows, parents = unchecked }: Lists<Tables, Table, Row>,
): Promise<Map<string, Page<Row>>> {
  const page = plan.apply(rows(sql.ref<string>('parent.id')).select(plan.place.as('place')));
  const read = (ids: readonly string[]) =>
    reader.page(
      db
        .selectFrom(sql<{ id: string }>`${parents(ids)}`.as<'parent'>(sql`parent`))
        .crossJoinLateral(sql<Row & Placed>`${page}`.as<'child'>(sql`child`))
        .select('parent.id as parentId')
        .selectAll('child')
        .orderBy('parent.id')
        .orderBy(sql`child.place`)
        .$castTo<Row & Placed>(),
    );
  return toPages(plan, parentIds, await readByParent(parentIds, read, ({ parentId }) => parentId));
}

/** The page of each parent. A parent without rows has an empty one. */
export function toPages<Row>(
  plan: PagePlan<Row>,
  parentIds: readonly string[],
  found: ReadonlyMap<string, PageRows<Row>>,
): Map<string, Page<Row>> {
  const pages = new Map<string, Page<Row>>();
  for (const id of parentIds) pages.set(id, plan.toPage(found.get(id) ?? NONE));
  return pages;
}

const NONE: PageRows<never> = { rows: [], isCut: false };

const unchecked = (ids: readonly string[]) => sql<{ id: string }>`(select unnest(${listOf('uuid', ids)}) as id)`;

/** The number of parents whose rows were read completely, when rows are read in the order of the parents. */
export function completeParents<Id, Row>(
  parentIds: readonly Id[],
  { rows, isCut }: PageRows<Row>,
  parentOf: (row: Row) => Id,
): number {
  const last = rows.at(-1);
  return isCut && last ? parentIds.indexOf(parentOf(last)) : parentIds.length;
}

/**
 * Reads the pages of several parents, whose rows follow each other, with one statement. If it ends early, the remaining pages are read with
 * another one. So their number depends on the maximum size of an answer, not on the number of parents.
 */
export async function readByParent<Id extends string, Row>(
  parentIds: readonly Id[],
  read: (ids: readonly Id[]) => Promise<PageRows<Row>>,
  parentOf: (row: Row) => Id,
): Promise<Map<Id, PageRows<Row>>> {
  const pages = new Map<Id, PageRows<Row>>();
  let left = parentIds;
  while (left.length > 0) {
    const { rows, isCut } = await read(left);
    for (const [id, own] of groupBy(rows, parentOf))
      pages.set(id, { rows: own, isCut: isCut && own.at(-1) === rows.at(-1) });
    left = isCut ? left.filter((id) => !pages.has(id)) : [];
  }
  return pages;
}
