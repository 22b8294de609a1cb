import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { z } from 'zod';
import { ValidationError, invalid } from '../../errors.ts';
import { queriesOn } from './queries.ts';
import type { PageRows } from './sql.ts';

/**
 * Keyset pagination, for every list: a cursor is the sort key of a row, so a page costs the same at any depth, and cursors stay valid when rows
 * are added or deleted. Cursors are untrusted: each is checked against its ordering before it is used in a statement.
 */

export type KeyType = 'text' | 'uuid' | 'timestamptz' | 'bigint' | 'float8';
type KeyValue = string | number | null;

/** A column of an order, and the property of rows that has its value. */
export interface Key<Name extends string = string> {
  readonly property: Name;
  readonly sql: string;
  readonly type: KeyType;
  /** Whether rows can lack it: these are last in both directions. Only the first key may be so, and the others must be a total order. */
  readonly isNullable?: boolean;
}

/** How cursors are written that are not opaque. */
export interface CursorForm {
  readonly write: (values: readonly KeyValue[]) => string;
  /** @throws ValidationError that names the argument. */
  readonly read: (cursor: string, argument: string) => readonly KeyValue[];
}

interface OrderingOptions<Row> {
  /** Distinguishes the cursors of different orderings. */
  readonly name: string;
  /** All in one direction; the last is unique. */
  readonly keys: readonly Key<keyof Row & string>[];
  readonly direction: 'ASC' | 'DESC';
  /** Columns that are the same in all rows of a list, with which the index of its keys begins. */
  readonly prefix?: readonly string[];
  readonly form?: CursorForm;
}

/** A total order of the rows of a list. It is made once. */
export class Ordering<Row> {
  readonly name: string;
  readonly keys: readonly Key<keyof Row & string>[];
  readonly direction: 'ASC' | 'DESC';
  readonly prefix: readonly string[];
  readonly #form: CursorForm;

  constructor({ name, keys, direction, prefix = [], form = opaque(name, keys) }: OrderingOptions<Row>) {
    this.name = name;
    this.keys = keys;
    this.direction = direction;
    this.prefix = prefix;
    this.#form = form;
  }

  readonly cursorOf = (row: Row): string =>
    // Keys are columns of the types that they name.
    this.#form.write(this.keys.map(({ property }) => row[property] as KeyValue));

  /** The values of a cursor. @throws ValidationError that names the argument. */
  read(cursor: string, argument: string): readonly KeyValue[] {
    return this.#form.read(cursor, argument);
  }
}

/** The same order in each direction. */
export function orderingsBy<Row>({
  name,
  ...options
}: Omit<OrderingOptions<Row>, 'name' | 'direction'> & { readonly name: (direction: 'ASC' | 'DESC') => string }) {
  const orderingIn = (direction: 'ASC' | 'DESC') => new Ordering<Row>({ ...options, name: name(direction), direction });
  return { ASC: orderingIn('ASC'), DESC: orderingIn('DESC') };
}

/** Relay's arguments (Relay Cursor Connections Specification, section 4). */
export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** How a list is sorted. */
export interface Order<Field extends string> {
  readonly field: Field;
  readonly direction: 'ASC' | 'DESC';
}

export const DEFAULT_PAGE_SIZE = 50;
export const MAX_PAGE_SIZE = 100;

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  readonly cursorOf: (row: Row) => string;
  /** Where the previous page ends, if not before the first row: rows beyond it were looked at, and do not meet the conditions. */
  readonly startCursor?: string | undefined;
  /** Where the next page begins, if not after the last row, as above. */
  readonly endCursor?: string | undefined;
}

/** The cursor before the first row, or where reading stopped; null for an empty page. */
export const startCursorOf = <Row>({ rows: [first], cursorOf, startCursor }: Page<Row>): string | null =>
  startCursor ?? (first === undefined ? null : cursorOf(first));

/** The cursor after the last row, or where reading stopped; null for an empty page. */
export function endCursorOf<Row>({ rows, cursorOf, endCursor }: Page<Row>): string | null {
  const last = rows.at(-1);
  return endCursor ?? (last === undefined ? null : cursorOf(last));
}

/** A page, and a function that counts the whole list. */
export interface CountedPage<Row> {
  readonly page: Page<Row>;
  /** Counts all rows that match the filter; costs a statement. */
  readonly total: () => Promise<number>;
}

const BOUNDS = ['after', 'before'] as const;
type Bound = (typeof BOUNDS)[number];

/** What decides the text of a paged query, beside its ordering. */
export type PageShape = {
  readonly direction: 'ASC' | 'DESC';
  /** The largest size of a page of the list. */
  readonly max: number;
  readonly backward: boolean;
  /** The given cursors, and whether each is that of a row without the first key. */
  readonly bounds: Readonly<Partial<Record<Bound, 'value' | 'null'>>>;
};

/** The values of a page, named as a prepared query refers to them: the limit, and those of the cursors. */
export interface PageValues {
  readonly 'page.limit': number;
  readonly [cursor: `page.${Bound}.${number}`]: string | number;
}
type PageValue = <Name extends keyof PageValues>(name: Name) => RawBuilder<PageValues[Name]>;

/** The page of a list, planned independent of its rows: their number, direction, and cursors. */
export class PagePlan<Row> {
  readonly ordering: Ordering<Row>;
  readonly shape: PageShape;
  readonly values: PageValues;
  readonly #page: PageArguments;
  readonly #size: number;

  /** @throws ValidationError if a bound or a cursor is invalid. */
  constructor(ordering: Ordering<Row>, page: PageArguments, max = MAX_PAGE_SIZE) {
    const { backward, size } = sizeOf(page, max);
    const bounds: Partial<Record<Bound, 'value' | 'null'>> = {};
    const values: Record<string, string | number> = { 'page.limit': size + 1 };
    for (const bound of BOUNDS) {
      const cursor = page[bound];
      if (!isGiven(cursor)) continue;
      const found = ordering.read(cursor, bound);
      bounds[bound] = found[0] === null ? 'null' : 'value';
      for (const [index, value] of found.entries()) if (value !== null) values[`page.${bound}.${index}`] = value;
    }
    this.ordering = ordering;
    this.shape = { direction: ordering.direction, max, backward, bounds };
    this.values = values as unknown as PageValues;
    this.#page = page;
    this.#size = size;
  }

  /** Adds the page to a query. A prepared one is paged by `paged`, and executed with `values`. */
  apply<Database, Table extends keyof Database, Found>(query: SelectQueryBuilder<Database, Table, Found>) {
    return paged(query, this.ordering, this.shape, (name) => sql`${this.values[name]}`);
  }

  /** @param stop The cursor at which reading stopped although the page is not full: the next page begins there. */
  toPage({ rows, isCut }: PageRows<Row>, stop?: string): Page<Row> {
    const { backward } = this.shape;
    const isFull = rows.length > this.#size;
    const kept = isFull ? rows.slice(0, this.#size) : rows;
    const hasMore = isCut || isFull || stop !== undefined;
    const end = isCut || isFull ? undefined : stop;
    return {
      rows: backward ? kept.toReversed() : kept,
      hasNextPage: backward ? isGiven(this.#page.before) : hasMore,
      hasPreviousPage: backward ? hasMore : isGiven(this.#page.after),
      cursorOf: this.ordering.cursorOf,
      startCursor: backward ? end : undefined,
      endCursor: backward ? undefined : end,
    };
  }
}

const db = queriesOn<object>();

/**
 * Adds the page to a query. PostgreSQL expects a variable limit to return a tenth of the rows, for which it would rather read and sort all of a
 * large table. The constant below it is at most the longest page, and is the same for pages of all sizes.
 */
export function paged<Database, Table extends keyof Database, Found>(
  query: SelectQueryBuilder<Database, Table, Found>,
  ordering: AnyOrdering,
  shape: PageShape,
  value: PageValue,
): SelectQueryBuilder<{ readonly longest: Found }, 'longest', Found> {
  const limit = value('page.limit');
  const pageOf = (range: Range, most: RawBuilder<number>) => {
    const longest = inOrder(query, ordering, shape, value, range).limit(sql.lit(shape.max + 1));
    return db.selectFrom(longest.as('longest')).selectAll().limit(most).$castTo<Found>();
  };
  const [first, second] = rangesOf(ordering, shape);
  if (second === undefined) return pageOf(first, limit);
  // The second range is read if the first has too few rows.
  const others = pageOf(second, sql`greatest(0, ${limit} - (select count(*) from first_range))`);
  const both = sql<Found>`(with first_range as materialized (${pageOf(first, limit)}) select * from first_range union all (${others}))`;
  return db
    .selectFrom(both.as<'longest'>(sql`longest`))
    .selectAll()
    .orderBy(sql.join(orderIn('longest', ordering, shape)))
    .$castTo<Found>();
}

/** Adds the cursors and the order of a page to a query, without its size. */
export function inOrder<Database, Table extends keyof Database, Found>(
  query: SelectQueryBuilder<Database, Table, Found>,
  ordering: AnyOrdering,
  shape: PageShape,
  value: PageValue,
  range: Range = 'all',
) {
  let found = query;
  for (const condition of conditionsOf(range, ordering, shape, value)) found = found.where(condition);
  for (const column of orderOf(ordering, shape)) found = found.orderBy(column);
  return found;
}

/** An ordering whose rows do not matter. */
type AnyOrdering = Pick<Ordering<never>, 'keys' | 'prefix'>;

/** All rows, those that have the first key, or those that lack it: an index is read in order within one of these. */
type Range = 'all' | 'value' | 'null';

/** The ranges that a page can have rows of, in reading order. */
function rangesOf({ keys }: AnyOrdering, { bounds, backward }: PageShape): [Range, Range?] {
  if (keys[0]?.isNullable !== true) return ['all'];
  // Before a row that has the key, and after one that lacks it, there is none of the other range.
  if (bounds.after === 'null') return ['null'];
  if (bounds.before === 'value') return ['value'];
  return backward ? ['null', 'value'] : ['value', 'null'];
}

function conditionsOf(
  range: Range,
  { keys }: AnyOrdering,
  { bounds, direction }: PageShape,
  value: PageValue,
): RawBuilder<SqlBool>[] {
  const conditions: RawBuilder<SqlBool>[] = [];
  if (range !== 'all') conditions.push(sql`${columnOf(keys[0])} is ${sql.raw(range === 'null' ? 'null' : 'not null')}`);
  for (const bound of BOUNDS) {
    const at = bounds[bound];
    if (at === undefined) continue;
    const from = range === 'null' ? 1 : 0;
    if (range === 'all' || range === at) {
      const names = keys.slice(from).map(columnOf);
      const operator = sql.raw((direction === 'ASC') === (bound === 'after') ? '>' : '<');
      const cursor = keys.flatMap(({ type }, index) =>
        index < from ? [] : [sql`${value(`page.${bound}.${index}`)}::${sql.raw(type)}`],
      );
      conditions.push(sql`${tupleOf(names)} ${operator} ${tupleOf(cursor)}`);
    } else if ((bound === 'after') === (range === 'value')) {
      conditions.push(sql`false`);
    }
  }
  return conditions;
}

const tupleOf = (parts: readonly RawBuilder<unknown>[]) =>
  parts.length === 1 ? sql.join(parts) : sql`(${sql.join(parts)})`;

const columnOf = (key: Key | undefined) => sql.raw(key?.sql ?? '');

/** The order of the rows of a page, in reading order. */
export const orderOf = ({ keys, prefix }: AnyOrdering, shape: PageShape): RawBuilder<unknown>[] =>
  [...prefix, ...keys.map((key) => key.sql)].map((column) => sql`${sql.raw(column)} ${directionOf(shape)}`);

/**
 * The same for rows of a subquery, in which the keys have the names of properties. For pages of several parents it costs less than numbers of
 * rows, for which PostgreSQL evaluates a window for each parent.
 */
export function orderIn(alias: string, { keys }: AnyOrdering, shape: PageShape): RawBuilder<unknown>[] {
  const nulls = sql.raw(shape.backward ? ' nulls first' : ' nulls last');
  return keys.map(
    ({ property, isNullable }) =>
      sql`${sql.ref(`${alias}.${property}`)} ${directionOf(shape)}${isNullable ? nulls : sql``}`,
  );
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

/** Whether a cursor is given. An empty one is none: some clients send the `endCursor` of an empty page as empty text. */
export const isGiven = (cursor: string | null | undefined): cursor is string => cursor != null && cursor !== '';

function checkSize(name: string, size: number, max: number): number {
  const [code, limit] = size > max ? (['TOO_LARGE', max] as const) : (['TOO_SMALL', 1] as const);
  if (!Number.isInteger(size) || size < 1 || size > max) throw invalid(name, `must be from 1 to ${max}`, code, limit);
  return size;
}

const VALUE_OF = {
  text: z
    .string()
    .max(1000)
    .refine((value) => !value.includes('\0')),
  uuid: z.uuid(),
  // As `toIsoString` writes it; PostgreSQL has no year 0.
  timestamptz: z.iso.datetime({ precision: 3 }).refine((value) => !value.startsWith('0000')),
  bigint: z.int(),
  float8: z.number(),
};

/** Cursors with the name of the ordering and the values of its keys. */
function opaque(name: string, keys: readonly Key[]): CursorForm {
  let form: ReturnType<typeof formOf> | undefined;
  return {
    write: (values) => Buffer.from(JSON.stringify([name, ...values])).toString('base64url'),
    read: (cursor, argument) => {
      const parsed = (form ??= formOf(name, keys)).safeParse(decode(cursor));
      if (parsed.success) return parsed.data.slice(1);
      throw new ValidationError([
        { path: [argument], code: 'BAD_FORMAT', message: 'is not a cursor of this list and order' },
      ]);
    },
  };
}

const formOf = (name: string, keys: readonly Key[]) =>
  z.tuple([
    z.literal(name),
    ...keys.map(({ type, isNullable }) => (isNullable ? VALUE_OF[type].nullable() : VALUE_OF[type])),
  ]);

function decode(cursor: string): unknown {
  try {
    const bytes = Buffer.from(cursor, 'base64url');
    // Decoders ignore unknown characters, so a cursor is accepted only in exactly the form in which it was issued.
    return cursor.length > 4096 || bytes.toString('base64url') !== cursor ? undefined : JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
