import { z } from 'zod';
import { ValidationError } from '../errors.ts';
import type { CountedPage, PageArguments } from '../postgres/reading/keyset.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../postgres/reading/keyset.ts';
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
export function listDocument<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    items: z.array(item).describe('The objects of the page.'),
    nextCursor: z.string().nullable().describe('The `cursor` of the next page. Null on the last page.'),
  });
}

/** Reads a page and builds its answer. @throws ValidationError (400) at `cursor` if it is not a cursor of this list. */
export async function readList<Row, Item>(
  { limit, cursor }: ListInput,
  list: (page: PageArguments) => Promise<CountedPage<Row>>,
  toItem: (row: Row) => Item,
): Promise<{ items: Item[]; nextCursor: string | null }> {
  const { page } = await list({ first: limit, after: cursor }).catch(renameCursor);
  const last = page.rows.at(-1);
  return { items: page.rows.map(toItem), nextCursor: page.hasNextPage && last ? page.cursorOf(last) : null };
}

/** The operation names the argument `after`, as in GraphQL; in REST it is `cursor`. */
function renameCursor(error: unknown): never {
  if (!(error instanceof ValidationError)) throw error;
  throw new ValidationError(
    error.faults.map((fault) => (fault.path[0] === 'after' ? { ...fault, path: ['cursor'] } : fault)),
  );
}
