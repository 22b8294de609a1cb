import { z } from 'zod';
import { ENVELOPE_BYTES, MAX_ESCAPE, firstWithin, shortened } from '../answer-size.ts';
import { ValidationError } from '../errors.ts';
import {
  type CountedPage,
  DEFAULT_PAGE_SIZE,
  MAX_PAGE_SIZE,
  type Page,
  type PageArguments,
  endCursorOf,
} from '../postgres/reading/keyset.ts';
import type { RequestBudget } from '../postgres/reading/request-budget.ts';
import { text } from './validation.ts';

/** Lists of the REST API: `limit` and `cursor` in the query, `{items, nextCursor}` in the answer. */

/** The query parameters of every list. */
export const listInput = {
  limit: z.int().min(1).max(MAX_PAGE_SIZE).default(DEFAULT_PAGE_SIZE).describe('Maximum number of items on the page.'),
  cursor: text({ min: 1, max: 4096 }).optional().describe('Cursor: `nextCursor` of the previous page.'),
};

export interface ListInput {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** The answer schema of a list. `nextCursor` is null on the last page. */
export function listDocument<Item extends z.core.$ZodType>(item: Item) {
  return z.strictObject({
    items: z.array(item).describe('The objects of the page.'),
    nextCursor: z.string().nullable().describe('The `cursor` of the next page. Null on the last page.'),
  });
}

/** Reads a page and builds its answer. @throws ValidationError (400) at `cursor` if it is not a cursor of this list. */
export async function readList<Row, Item>(
  { limit, cursor }: ListInput,
  list: (page: PageArguments) => Promise<Pick<CountedPage<Row>, 'page'>>,
  toItem: (row: Row) => Item,
): Promise<{ items: Item[]; nextCursor: string | null }> {
  const { page } = await list({ first: limit, after: cursor }).catch(renameCursor);
  return { items: page.rows.map(toItem), nextCursor: cursorAfter(page, page.rows.length) };
}

/**
 * The same for items that consist of several rows. `toItems` can return fewer items, but at least one: then the page ends
 * with them. It also ends with the item that reaches the maximum size.
 */
export async function readDetailedList<Row, Item extends object>(
  { limit, cursor }: ListInput,
  budget: RequestBudget,
  list: (page: PageArguments) => Promise<CountedPage<Row>>,
  toItems: (rows: readonly Row[]) => Promise<readonly Item[]>,
): Promise<{ items: Item[]; nextCursor: string | null }> {
  const { page } = await list({ first: limit, after: cursor }).catch(renameCursor);
  const items = itemsOfPage(await toItems(page.rows), budget);
  return { items, nextCursor: cursorAfter(page, items.length) };
}

/** The items of a page that are answered. One that is larger than an answer has no room for its largest members. */
export function itemsOfPage<Item extends object>(items: readonly Item[], budget: RequestBudget): Item[] {
  if (budget.bytes * MAX_ESCAPE <= budget.pageBytes) return [...items];
  const [first, ...others] = firstWithin(items, budget.pageBytes);
  return first ? [shortened(first, budget.maxBytes - ENVELOPE_BYTES), ...others] : [];
}

/** The cursor after the first rows of a page; null at the end of the list. */
export function cursorAfter<Row>(page: Page<Row>, count: number): string | null {
  if (count === page.rows.length) return page.hasNextPage ? endCursorOf(page) : null;
  const last = page.rows[count - 1];
  return last ? page.cursorOf(last) : null;
}

/** The operation names the argument `after`, as in GraphQL; in REST it is `cursor`. */
function renameCursor(error: unknown): never {
  if (!(error instanceof ValidationError)) throw error;
  throw new ValidationError(
    error.faults.map((fault) => (fault.path[0] === 'after' ? { ...fault, path: ['cursor'] } : fault)),
  );
}

/** A query repeats a parameter, or joins its values by commas. */
export function splitByComma(given: unknown): unknown {
  const parts: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (given === undefined) return undefined;
  return parts.flatMap((part) => (typeof part === 'string' ? part.split(',') : [part]));
}
