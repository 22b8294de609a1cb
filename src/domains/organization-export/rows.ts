import { type Exported, type NextPage, pagesOf } from '../../core/exported-pages.ts';
import { type Page, endCursorOf } from '../../core/postgres/reading/keyset.ts';

/** Reads everything of an organization that an administrator can read, page by page: one page is in memory. */

/** What the modules export, in their order. The gateway gives it, because no noun knows all others. */
let exported: readonly Exported[] = [];

export function provideExports(given: readonly Exported[]): void {
  exported = given;
}

export const kindsOfLines = (): readonly string[] => exported.map(({ kind }) => kind);

/** A line of the file. */
export type Line = { readonly kind: string } & object;
type Lines = AsyncGenerator<readonly Line[], void, undefined>;

export async function* allLines(next: NextPage): Lines {
  for (const each of exported) if (each.below === undefined) yield* linesOf(next, each, {});
}

/** The objects of a kind, each followed by those below it. */
async function* linesOf(next: NextPage, each: Exported, parent: object): Lines {
  const below = exported.filter((other) => other.below === each.kind);
  const pages = pagesOf(next, async (context, page) => {
    const found = (await each.page(context, page, parent)) ?? NO_ROWS;
    const lineOf = (row: object): Line => ({
      kind: each.kind,
      ...(each.lineOf?.(row, parent, context.actor) ?? withoutPlace(row)),
    });
    return {
      ...found,
      rows: found.rows.map((row) => ({ row, line: lineOf(row) })),
      endCursor: endCursorOf(found) ?? undefined,
      cursorOf: () => '',
    };
  });
  for await (const rows of pages) {
    if (below.length === 0) yield rows.map(({ line }) => line);
    else
      for (const { row, line } of rows) {
        yield [line];
        for (const other of below) yield* linesOf(next, other, row);
      }
  }
}

/** A row of a list below another object also has what identifies it in the statement. */
function withoutPlace(row: object): object {
  const { parentId: _parentId, ...shown } = row as Readonly<Record<string, unknown>>;
  return shown;
}

const NO_ROWS: Page<object> = { rows: [], hasNextPage: false, hasPreviousPage: false, cursorOf: () => '' };
