import { type Access, requireAccess } from './access.ts';
import type { OperationContext } from './operation.ts';
import type { Page, PageArguments } from './postgres/reading/keyset.ts';
import { WORK } from './work-budget.ts';

/** Reads a file page by page. One page is in memory, and nothing is held in the database while the client reads it. */

/** Makes the context of the next page. */
export type NextPage = () => Promise<OperationContext>;

/** Checks the rights of the caller again before every page, and begins the budget of the request anew. */
export function pagesWithRights(context: OperationContext, access: Access): NextPage {
  return async () => {
    context.budget.renew();
    const current = { ...context, actor: await context.authenticateAgain() };
    requireAccess(current.actor, access, context.actor.organization?.id);
    return current;
  };
}

/** The pages of a list, from its first one or after a cursor. */
export async function* pagesOf<Row>(
  next: NextPage,
  read: (context: OperationContext, page: PageArguments) => Promise<Page<Row>>,
  cursor?: string,
): AsyncGenerator<readonly Row[], void, undefined> {
  for (let after = cursor, hasMore = true; hasMore;) {
    const page = await read(await next(), { first: WORK.exportedRows, ...(after !== undefined && { after }) });
    const last = page.rows.at(-1);
    if (page.rows.length > 0) yield page.rows;
    hasMore = page.hasNextPage && last !== undefined;
    after = last && page.cursorOf(last);
  }
}
