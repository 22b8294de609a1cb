import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { z } from 'zod';
import { ValidationError, invalid } from '../../errors.ts';
import { queriesOn, snake } from './queries.ts';
import type { PageRows } from './sql.ts';

/**
 * Keyset pagination: a cursor is the sort key of a row, so a page costs the same at any depth, and cursors stay valid when rows are added or
 * deleted. Cursors are opaque to callers and untrusted: each is checked against its ordering before it is used in a statement.
 */

/** A total order: columns in one direction, the last of which is unique. */
export interface Ordering<Row> {
  /** Distinguishes cursors of different orderings. */
  readonly name: string;
  readonly columns: readonly {
    readonly sql: string;
    readonly type: 'text' | 'uuid' | 'timestamptz';
    /** The property of rows with its value, if a statement sorts the rows of several pages. */
    readonly property?: string | undefined;
    readonly of: (row: Row) => string;
  }[];
  readonly direction: 'ASC' | 'DESC';
}

/** How a list is sorted. */
export interface Order<Field extends string> {
  readonly field: Field;
  readonly direction: 'ASC' | 'DESC';
}

/** The ordering by these properties, in the table with the alias. `name` distinguishes its cursors. */
export function orderingBy<Row>(
  { name, alias, direction }: { name: string; alias: string; direction: 'ASC' | 'DESC' },
  properties: readonly (readonly [keyof Row & string, SortColumn['type']])[],
): Ordering<Row> {
  const columns = properties.map(([property, type]) => ({
    sql: `${alias}.${snake(property)}`,
    type,
    property,
    of: (row: Row) => String(row[property]),
  }));
  return { name, direction, columns };
}

/** The page of a list: number of rows, direction, and cursors. */
export interface PagePlan<Row> {
  /** One more than the page, to find out whether more rows follow. */
  readonly limit: number;
  /** What decides the text of the paged query. A prepared query is paged by `paged`, and executed with `values`. */
  readonly shape: PageShape;
  readonly values: PageValues;
  /** Adds the page to a query. */
  readonly apply: ApplyPage;
  /** The number of each row in reading order, from 1. */
  readonly place: RawBuilder<number>;
  readonly toPage: (read: PageRows<Row>) => Page<Row>;
}

/** The values of a page, named as a prepared query refers to them: the limit, and those of the cursors. */
export interface PageValues {
  readonly 'page.limit': number;
  readonly [cursor: `page.${'after' | 'before'}.${number}`]: string;
}
type PageValue = <Name extends keyof PageValues>(name: Name) => RawBuilder<PageValues[Name]>;

type SortColumn = Omit<Ordering<never>['columns'][number], 'of'>;

/** What decides the text of a paged query. */
export type PageShape = {
  /** The largest size of a page of the list. */
  readonly max: number;
  readonly columns: readonly SortColumn[];
  readonly direction: 'ASC' | 'DESC';
  readonly backward: boolean;
  /** The given cursors. */
  readonly bounds: readonly Bound[];
};

/** Adds the page to a query. */
type ApplyPage = <Database, Table extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, Table, Row>,
) => SelectQueryBuilder<{ readonly longest: Row }, 'longest', Row>;

const db = queriesOn<object>();

const BOUNDS = ['after', 'before'] as const;
type Bound = (typeof BOUNDS)[number];

/**
 * Plans a page, independent of its rows.
 * @throws ValidationError if a bound or a cursor is invalid.
 */
export function planPage<Row>(
  ordering: Ordering<Row>,
  page: PageArguments,
  max: number = MAX_PAGE_SIZE,
): PagePlan<Row> {
  const { backward, size } = sizeOf(page, max);
  const cursors = BOUNDS.flatMap((bound) => {
    const cursor = page[bound];
    return !isGiven(cursor) ? [] : [{ bound, values: parseCursor(ordering, cursor, bound) }];
  });
  const values: PageValues = {
    'page.limit': size + 1,
    ...Object.fromEntries(
      cursors.flatMap((cursor) => cursor.values.map((value, index) => [`page.${cursor.bound}.${index}`, value])),
    ),
  };
  const shape: PageShape = {
    max,
    columns: ordering.columns.map(({ sql: column, type, property }) => ({ sql: column, type, property })),
    direction: ordering.direction,
    backward,
    bounds: cursors.map(({ bound }) => bound),
  };
  const cursorOf = (row: Row) => cursorAt(ordering, row);
  return {
    limit: size + 1,
    shape,
    values,
    apply: (query) => paged(query, shape, (name) => sql`${values[name]}`),
    place: placeIn(shape),
    toPage: (read) => toPage(page, { backward, size, cursorOf }, read),
  };
}

/**
 * Adds the page to a query. PostgreSQL expects a variable limit to return a tenth of the rows, for which it would rather read and sort all of a
 * large table. The constant below it is at most the longest page, and is the same for pages of all sizes.
 */
export function paged<Database, Table extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, Table, Row>,
  shape: PageShape,
  value: PageValue,
): SelectQueryBuilder<{ readonly longest: Row }, 'longest', Row> {
  let found = query;
  for (const bound of shape.bounds) found = found.where(beyond(bound, shape, value));
  for (const column of orderOf(shape)) found = found.orderBy(column);
  return db
    .selectFrom(found.limit(sql.lit(shape.max + 1)).as('longest'))
    .selectAll()
    .limit(value('page.limit'))
    .$castTo<Row>();
}

/** The number of each row in reading order, from 1. */
export function placeIn(shape: PageShape): RawBuilder<number> {
  return sql<number>`row_number() over (order by ${sql.join(orderOf(shape))})`;
}

function beyond(bound: Bound, { columns, direction }: PageShape, value: PageValue): RawBuilder<SqlBool> {
  const names = sql.join(columns.map((column) => sql.raw(column.sql)));
  const operator = sql.raw((direction === 'ASC') === (bound === 'after') ? '>' : '<');
  const cursor = columns.map(({ type }, index) => sql`${value(`page.${bound}.${index}`)}::${sql.raw(type)}`);
  return sql<SqlBool>`(${names}) ${operator} (${sql.join(cursor)})`;
}

function orderOf(shape: PageShape): RawBuilder<unknown>[] {
  return shape.columns.map((column) => sql`${sql.raw(column.sql)} ${directionOf(shape)}`);
}

/**
 * The order of the page for rows of a subquery, in which the columns have the names of properties. For pages of several parents it costs less
 * than numbers of rows, for which PostgreSQL evaluates a window for each parent.
 */
export function orderIn(alias: string, shape: PageShape): RawBuilder<unknown>[] {
  return shape.columns.map(({ property = '' }) => sql`${sql.ref(`${alias}.${property}`)} ${directionOf(shape)}`);
}

const directionOf = ({ direction, backward }: PageShape) =>
  sql.raw((direction === 'ASC') === backward ? 'desc' : 'asc');

function sizeOf(page: PageArguments, max: number): { backward: boolean; size: number } {
  const backward = isBackward(page);
  return { backward, size: checkSize(backward ? 'last' : 'first', page.last ?? page.first ?? DEFAULT_PAGE_SIZE, max) };
}

/**
 * Whether a page is read from the end. `first` is always set, because the schema has a default; the default does not conflict with `last`.
 * @throws ValidationError if both are given.
 */
export function isBackward({ first, last }: PageArguments): boolean {
  if (last == null) return false;
  if (first != null && first !== DEFAULT_PAGE_SIZE)
    throw invalid('last', 'must not be given together with first', 'CONFLICTING');
  return true;
}

/** The page with the same rows in a list in the opposite direction. */
export function mirrored(page: PageArguments): PageArguments {
  const { first, last, after: before, before: after } = page;
  return isBackward(page) ? { first: last, after, before } : { last: first ?? DEFAULT_PAGE_SIZE, after, before };
}

/** The rows of such a page, reversed. */
export function mirroredPage<Row>({ rows, hasNextPage, hasPreviousPage, cursorOf }: Page<Row>): Page<Row> {
  return { rows: rows.toReversed(), hasNextPage: hasPreviousPage, hasPreviousPage: hasNextPage, cursorOf };
}

function toPage<Row>(
  page: PageArguments,
  { backward, size, cursorOf }: { backward: boolean; size: number; cursorOf: Page<Row>['cursorOf'] },
  { rows, isCut }: PageRows<Row>,
): Page<Row> {
  const more = isCut || rows.length > size;
  const kept = rows.length > size ? rows.slice(0, size) : rows;
  return {
    rows: backward ? kept.toReversed() : kept,
    hasNextPage: backward ? isGiven(page.before) : more,
    hasPreviousPage: backward ? more : isGiven(page.after),
    cursorOf,
  };
}

/** Whether a cursor is given. An empty one is none: some clients send the `endCursor` of an empty page as empty text. */
export function isGiven(cursor: string | null | undefined): cursor is string {
  return cursor != null && cursor !== '';
}

/** Relay's arguments (Relay Cursor Connections Specification, section 4). */
export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

export const DEFAULT_PAGE_SIZE = 50;
export const MAX_PAGE_SIZE = 100;

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  readonly cursorOf: (row: Row) => string;
}

/** A page, and a function that counts the whole list. */
export interface CountedPage<Row> {
  readonly page: Page<Row>;
  /** Counts all rows that match the filter; costs a statement. */
  readonly total: () => Promise<number>;
}

function checkSize(name: string, size: number, max: number): number {
  const [code, limit] = size > max ? (['TOO_LARGE', max] as const) : (['TOO_SMALL', 1] as const);
  if (!Number.isInteger(size) || size < 1 || size > max) throw invalid(name, `must be from 1 to ${max}`, code, limit);
  return size;
}

/** The cursor of a row. */
export function cursorAt<Row>(ordering: Ordering<Row>, row: Row): string {
  return Buffer.from(JSON.stringify([ordering.name, ...ordering.columns.map(({ of }) => of(row))])).toString(
    'base64url',
  );
}

const VALUE_OF = {
  text: z
    .string()
    .max(1000)
    .refine((value) => !value.includes('\0')),
  uuid: z.uuid(),
  // As `toIsoString` writes it; PostgreSQL has no year 0.
  timestamptz: z.iso.datetime({ precision: 3 }).refine((value) => !value.startsWith('0000')),
};

function parseCursor<Row>(ordering: Ordering<Row>, cursor: string, argument: string): readonly string[] {
  const form = z.tuple([z.literal(ordering.name), ...ordering.columns.map(({ type }) => VALUE_OF[type])]);
  const parsed = form.safeParse(decode(cursor));
  if (!parsed.success)
    throw new ValidationError([
      { path: [argument], code: 'BAD_FORMAT', message: 'is not a cursor of this list and order' },
    ]);
  return parsed.data.slice(1);
}

function decode(cursor: string): unknown {
  try {
    const bytes = Buffer.from(cursor, 'base64url');
    // Decoders ignore unknown characters, so a cursor is accepted only in exactly the form in which it was issued.
    return cursor.length > 4096 || bytes.toString('base64url') !== cursor ? undefined : JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
