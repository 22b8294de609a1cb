import type { EntitySchema } from '@mikro-orm/postgresql';
import {
  type ColumnType,
  type Compilable,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  type SelectType,
  sql,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { compileRow } from '../driver/row-readers.ts';
import { toIso } from '../driver/wire-types.ts';
import type { PageEnd } from './request-budget.ts';

/** Typed queries on the tables of entities: an unknown table or column fails to compile. They are built here and executed by `Sql`. */

/** Times are read as ISO 8601 text in UTC with milliseconds, and compared and written as that text or as a Date. */
type Column<Value> = [Value] extends [ColumnType<infer Select, infer Insert, infer Update>]
  ? Moments<Value, Select, Insert, Update>
  : Moments<Value, Value, Value, Value>;
type Moments<Value, Select, Insert, Update> = [Extract<Select, Date>] extends [never]
  ? Value
  : ColumnType<string | Exclude<Select, Date>, Insert | string, Update | string>;

/** The tables of `InferKyselyDB`, with the value types that `Sql` returns. */
export type Readable<Tables> = {
  [Table in keyof Tables]: { [Name in keyof Tables[Table]]: Column<Tables[Table][Name]> };
};

/** `created_at` → `createdAt`. */
export type Camel<Name extends string> = Name extends `${infer Word}_${infer Rest}`
  ? `${Word}${Capitalize<Camel<Rest>>}`
  : Name;

/** `createdAt` → `created_at`. */
export type Snake<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${Snake<Rest>}`
  : Name;

/** A row of a table, with the property names of the entity. */
export type RowOf<Table> = { readonly [Name in keyof Table & string as Camel<Name>]: SelectType<Table[Name]> };

/** The value type of an entity property in rows. */
type AsValue<Value> = Value extends Date ? string : Value extends undefined ? null : Value;

/** Converts properties of a just written entity to a row. */
export function asRow<Properties extends object, Name extends keyof Properties & string>(
  properties: Properties,
  names: readonly Name[],
): { readonly [Each in Name]-?: AsValue<Properties[Each]> } {
  const values = names.map((name) => {
    const value = properties[name];
    return [name, value instanceof Date ? value.toISOString() : (value ?? null)];
  });
  // Must match `AsValue`.
  return Object.fromEntries(values) as { readonly [Each in Name]-?: AsValue<Properties[Each]> };
}

const builder = new Kysely<never>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (database) => new PostgresIntrospector(database),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** A query builder for the tables of the given entities, without a connection. */
export function queriesOn<Tables>(): Kysely<Readable<Tables>> {
  // The tables are only types, so one builder serves all of them.
  return builder as unknown as Kysely<Readable<Tables>>;
}

/** The columns of these properties for `select`: `columns('s', ['createdAt'])` is `s.created_at as createdAt`. */
export const columns = <Alias extends string, Name extends string>(
  alias: Alias,
  names: readonly Name[],
): SelectedColumn<Alias, Name>[] =>
  names.map((name) => `${alias}.${snake(name)} as ${name}` as SelectedColumn<Alias, Name>);

type SelectedColumn<Alias extends string, Name extends string> = Name extends string
  ? `${Alias}.${Snake<Name>} as ${Name}`
  : never;

const SNAKE = new Map<string, string>();

/** The column of a property: `createdAt` → `created_at`. */
export function snake<Name extends string>(name: Name): Snake<Name> {
  let column = SNAKE.get(name);
  if (column === undefined)
    SNAKE.set(name, (column = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)));
  return column as Snake<Name>;
}

/** The property names of all columns of an entity in its rows: `organization` is `organizationId`. */
export function columnNames<Tables, Table extends keyof Tables>(
  { meta }: EntitySchema,
  _table: Table,
): readonly (keyof RowOf<Readable<Tables>[Table]> & string)[] {
  const names = Object.entries(meta.properties as Readonly<Record<string, { kind?: string }>>).map(([name, { kind }]) =>
    kind === 'm:1' || kind === '1:1' ? `${name}Id` : name,
  );
  return names as (keyof RowOf<Readable<Tables>[Table]> & string)[];
}

/** The text of a query and its values. Only the compiler knows the type of its rows. */
export interface Statement<Row> {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Ends reading early. */
  readonly page?: PageEnd | undefined;
  /** Whether columns of the type `json` are returned as the text that is stored. */
  readonly jsonAsText?: boolean;
  readonly '~row'?: Row;
}

export function statementOf<Row>(query: Compilable<Row> | Statement<Row>): Statement<Row> {
  if ('text' in query) return query;
  const { sql: text, parameters: values } = query.compile();
  return { text, values };
}

class Parameter {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** `value('name')` is the placeholder of the value with that name in a prepared query. */
export type ValueOf<Values> = <Name extends keyof Values & string>(name: Name) => RawBuilder<Values[Name]>;

/** A query that is compiled once, at its first use, because compiling takes about 20 µs. */
export const prepared =
  <Values extends object>() =>
  <Row>(build: (value: ValueOf<Values>) => Compilable<Row>): ((values: Values) => Statement<Row>) => {
    let compiled: { text: string; parameters: readonly unknown[] } | undefined;
    return (values) => {
      if (!compiled) {
        const query = build((name) => sql`${new Parameter(name)}`);
        const { sql: text, parameters } = query.compile();
        compiled = { text, parameters };
      }
      const given = values as Readonly<Record<string, unknown>>;
      const filled = compiled.parameters.map((each) => (each instanceof Parameter ? given[each.name] : each));
      return { text: compiled.text, values: filled };
    };
  };

/** Data that JSON represents exactly. A missing property is the same as undefined. */
type Plain = string | number | boolean | null | undefined | readonly Plain[] | { readonly [name: string]: Plain };

/**
 * The same for a query with a bounded number of shapes. The shape is everything that decides the text of the statement: the role of the caller,
 * the selected columns, the given conditions. Call this at the top level of a module, where `build` can see nothing but its arguments.
 */
export const preparedByShape =
  <Values extends object, Shape extends { readonly [Name in keyof Shape]: Plain }>() =>
  <Row>(
    build: (value: ValueOf<Values>, shape: Shape) => Compilable<Row>,
  ): ((shape: Shape, values: Values) => Statement<Row>) => {
    const known = new LRUCache<string, (values: Values) => Statement<Row>>({ max: MAX_SHAPES });
    return (shape, values) => {
      const key = JSON.stringify(shape);
      let statement = known.get(key);
      if (!statement) known.set(key, (statement = prepared<Values>()((value) => build(value, shape))));
      return statement(values);
    };
  };

const MAX_SHAPES = 500;

/** A list of rows as one parameter per column: `unnest($1::uuid[], …)`. One text serves any number of rows. */
export const listOf = <Value>(
  type: 'uuid' | 'text' | 'timestamptz' | 'bigint',
  values: readonly Value[],
): RawBuilder<Value[]> => sql<Value[]>`${values}::${sql.raw(type)}[]`;

/** UUIDs as the value of a `uuid[]`. The driver would escape each of them. */
export const uuidList = (ids: readonly string[]): string => `{${ids.join()}}`;

/** The right side of `=` for any of several values: `any($1::uuid[])`. One text serves any number of values. */
export const anyOf = <Value>(
  type: 'uuid' | 'text' | 'bigint',
  values: readonly Value[] | RawBuilder<readonly Value[]>,
): RawBuilder<Value> => sql<Value>`any(${values}::${sql.raw(type)}[])`;

/** Whether a text contains another. Case is ignored; there are no wildcards, unlike in LIKE. */
export const contains = (text: RawBuilder<string>, part: string | RawBuilder<unknown>): RawBuilder<boolean> =>
  sql<boolean>`strpos(lower(${text}), lower(${part})) > 0`;

/** Rows packed by PostgreSQL: their values in the order of the names, or null for no rows. */
export type Packed = readonly (readonly unknown[])[] | null;

/** How rows are packed in a statement, and unpacked from its answer. */
interface Packing<Row extends object> {
  readonly packed: RawBuilder<Packed>;
  readonly unpack: (packed: Packed) => Row[];
}

const packings = new LRUCache<string, Packing<object>>({ max: MAX_SHAPES });

/**
 * Packs the rows below one row into a JSON value, so that one statement returns both. PostgreSQL takes twice as long to pack rows as to send
 * them, so a list uses two statements.
 */
export function packedRows<Row extends object>(
  alias: string,
  names: readonly (keyof Row & string)[],
  { moments, orderBy }: { moments: readonly (keyof Row & string)[]; orderBy: keyof Row & string },
): Packing<Row> {
  const key = [alias, orderBy, ...names, '', ...moments].join();
  let packing = packings.get(key);
  if (!packing) {
    const columnOf = (name: string) => sql.ref(`${alias}.${snake(name)}`);
    // Times are text.
    const toRow = compileRow(
      names,
      names.map((name) => (moments.includes(name) ? toIso : undefined)),
    ) as (values: readonly unknown[]) => object;
    packing = {
      packed: sql`json_agg(json_build_array(${sql.join(names.map(columnOf))}) order by ${columnOf(orderBy)})`,
      unpack: (packed) => packed?.map((values) => toRow(values)) ?? [],
    };
    packings.set(key, packing);
  }
  // Its rows have the columns of the key.
  return packing as Packing<Row>;
}
