import { type Access, type Actor, requireAccess } from './access.ts';
import type { UserId } from './ids.ts';
import type { OperationContext } from './operation.ts';
import type { Columns } from './postgres/reading/columns.ts';
import { type Order, type Page, type PageArguments, endCursorOf } from './postgres/reading/keyset.ts';
import { WORK } from './work-budget.ts';

/** Reads a file page by page. One page is in memory, and nothing is held in the database while the client reads it. */

/** Makes the context of the next page. */
export type NextPage = () => Promise<OperationContext>;

/** Checks the rights of the caller again before every page, and begins the budget of the request anew. */
export function pagesWithRights(context: OperationContext, access: Access): NextPage {
  return async () => {
    context.budget.renew();
    const current = context.with({ actor: await context.authenticateAgain() });
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
  for (let after: string | null = cursor ?? null, hasMore = true; hasMore;) {
    const page = await read(await next(), { first: WORK.exportedRows, after });
    if (page.rows.length > 0) yield page.rows;
    after = endCursorOf(page);
    hasMore = page.hasNextPage && after !== null;
  }
}

/** A page of rows of any type. */
export interface AnyPage extends Omit<Page<object>, 'cursorOf'> {
  cursorOf(row: object): string;
}

/** Objects of a kind in the export of an organization, one on each line. Lines have no secrets. */
interface ExportedLines {
  readonly kind: string;
  /** By default the row. */
  lineOf?(row: object, parent: object, actor: Actor): object;
}

/** Objects that belong to no other kind of lines. */
interface Listed extends ExportedLines {
  readonly below?: undefined;
  /** Whether it can be limited to what is of one person. */
  readonly isOfPeople?: boolean;
  page(context: OperationContext, page: PageArguments, personId?: UserId): Promise<AnyPage>;
}

/** Objects that follow the one to which they belong. */
export interface ExportedBelow extends ExportedLines {
  /** The kind of that object, which has an `id`. */
  readonly below: string;
  /** Rows of a page, by default `WORK.exportedRows`. */
  readonly rowsOfPage?: number;
  /** A page for each of these objects, by its id; none for what was deleted meanwhile. All columns if none are selected. */
  pages(
    context: OperationContext,
    page: PageArguments,
    ids: readonly string[],
    selected?: Columns<{ readonly id: string }>,
  ): Promise<ReadonlyMap<string, AnyPage>>;
}

export type Exported = Listed | ExportedBelow;

/** All objects of a list, the oldest first. `ofPerson` is the filter for those of a person; lists without it have none. */
export function exportedList<Row extends object>(
  kind: string,
  list: {
    page(
      context: OperationContext,
      asked: { readonly filter: object; readonly order: Order<never>; readonly page: PageArguments },
    ): Promise<Page<Row>>;
  },
  {
    field = 'CREATED_AT',
    lineOf,
    ofPerson,
  }: {
    readonly field?: string;
    readonly lineOf?: (row: Row) => object;
    readonly ofPerson?: (id: UserId) => object;
  } = {},
): Exported {
  // Each list has this field, and no required condition.
  const order = { field, direction: 'ASC' } as Order<never>;
  return {
    kind,
    isOfPeople: ofPerson !== undefined,
    page: (context, page, personId) => {
      const filter = personId === undefined ? {} : (ofPerson?.(personId) ?? {});
      return list.page(context, { filter, order, page });
    },
    ...(lineOf && { lineOf }),
  };
}
