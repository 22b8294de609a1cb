import { type AnyPage, type Exported, type ExportedBelow, type NextPage, pagesOf } from '../../core/exported-pages.ts';
import type { UserId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type PageArguments, endCursorOf } from '../../core/postgres/reading/keyset.ts';

/** Reads everything of an organization that an administrator can read, page by page: one page is in memory. */

/** What the modules export, in their order. The gateway gives it, because no noun knows all others. */
let exported: readonly Exported[] = [];

export function provideExports(given: readonly Exported[]): void {
  exported = given;
}

/** The kinds of an export, or of that of a person. */
export function kindsOfLines(personId?: UserId): readonly string[] {
  const kinds = new Set<string>();
  for (const each of exported) if (isExported(each, personId, kinds)) kinds.add(each.kind);
  return [...kinds];
}

const isExported = (each: Exported, personId: UserId | undefined, kinds: ReadonlySet<string>): boolean =>
  personId === undefined || (each.below === undefined ? each.isOfPeople === true : kinds.has(each.below));

/** A line of the file. */
export type Line = { readonly kind: string } & object;
type Lines = AsyncGenerator<readonly Line[], void, undefined>;
type ReadPage = (context: OperationContext, page: PageArguments) => Promise<AnyPage>;

/** Everything, or what is of a person. */
export async function* allLines(next: NextPage, personId?: UserId): Lines {
  const kinds = new Set(kindsOfLines(personId));
  for (const each of exported)
    if (each.below === undefined && kinds.has(each.kind))
      yield* linesOf(next, each, {}, (context, page) => each.page(context, page, personId));
}

/** The objects of a kind, each followed by those below it. */
async function* linesOf(next: NextPage, each: Exported, parent: object, page: ReadPage): Lines {
  const kindsBelow = exported.filter((other): other is ExportedBelow => other.below === each.kind);
  const pages = pagesOf(next, async (context, asked) => {
    const found = await page(context, asked);
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
    const below = await filledOf(next, kindsBelow, rows);
    let lines: Line[] = [];
    for (const { row, line } of rows) {
      lines.push(line);
      const id = idOf(row);
      for (const { other, ids } of below) {
        if (!ids.has(id)) continue;
        yield lines;
        lines = [];
        const read: ReadPage = async (context, asked) => {
          const first = other.rowsOfPage ?? asked.first;
          return (await other.pages(context, { ...asked, first }, [id])).get(id) ?? NO_ROWS;
        };
        yield* linesOf(next, other, row, read);
      }
    }
    yield lines;
  }
}

/** Which of these objects have any below them, so that the others take no statement each. */
async function filledOf(next: NextPage, kinds: readonly ExportedBelow[], rows: readonly { readonly row: object }[]) {
  const ids = rows.map(({ row }) => idOf(row));
  const filled = [];
  for (const other of kinds) {
    const first = await other.pages(await next(), { first: 1 }, ids, ['id']);
    filled.push({ other, ids: new Set(ids.filter((id) => (first.get(id)?.rows.length ?? 0) > 0)) });
  }
  return filled;
}

const idOf = (row: object) => String((row as { readonly id?: unknown }).id);

/** A row of a list below another object also has what identifies it in the statement. */
function withoutPlace(row: object): object {
  const { parentId: _parentId, parentMark: _parentMark, ...shown } = row as Readonly<Record<string, unknown>>;
  return shown;
}

const NO_ROWS: AnyPage = { rows: [], hasNextPage: false, hasPreviousPage: false, cursorOf: () => '' };
