import type { Page, PagePlan } from './keyset.ts';
import type { PageRows } from './sql.ts';

/** Reading the lists of several parents with one statement. */

/** The number of parents whose rows were read completely, when rows are read in the order of the parents. */
export function completeParents<Id, Row>(
  parentIds: readonly Id[],
  { rows, isCut }: PageRows<Row>,
  parentOf: (row: Row) => Id,
): number {
  const last = rows.at(-1);
  return isCut && last ? parentIds.indexOf(parentOf(last)) : parentIds.length;
}

interface ReadByParent<Id, Row, Found extends Row> {
  /** Reads the pages of these parents. The rows of a parent follow each other. */
  readonly read: (ids: readonly Id[]) => Promise<PageRows<Found>>;
  readonly parentOf: (row: Found) => Id;
  /** Whether it is a row of the list. Another one only says that the caller can read the list of its parent. */
  readonly isListed?: (row: Found) => boolean;
}

/**
 * The page of each parent. If a statement ends early, the remaining pages are read with another one: their number depends on the maximum size of
 * an answer, not on the number of parents. Every parent has a page, which may be empty; with `isListed` only those that have a row.
 */
export async function pagesByParent<Id extends string, Row, Found extends Row>(
  plan: PagePlan<Row>,
  parentIds: readonly Id[],
  { read, parentOf, isListed }: ReadByParent<Id, Row, Found>,
): Promise<Map<Id, Page<Row>>> {
  const pages = new Map<Id, Page<Row>>();
  for (let left = parentIds; left.length > 0;) {
    const { rows, isCut } = await read(left);
    for (let start = 0, end = 0; start < rows.length; start = end) {
      const first = rows[start] as Found;
      const id = parentOf(first);
      while (end < rows.length && parentOf(rows[end] as Found) === id) end += 1;
      const own = isListed?.(first) === false ? [] : rows.slice(start, end);
      pages.set(id, plan.toPage({ rows: own, isCut: isCut && end === rows.length }));
    }
    left = isCut ? left.filter((id) => !pages.has(id)) : [];
  }
  if (!isListed) for (const id of parentIds) if (!pages.has(id)) pages.set(id, plan.toPage(NONE));
  return pages;
}

const NONE: PageRows<never> = { rows: [], isCut: false };
