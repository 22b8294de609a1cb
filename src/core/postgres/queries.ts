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
import { toIso } from './wire-types.ts';

/**
 * Typed queries on the tables of entities, which the compiler checks: an unknown table or column fails to compile. They are built here and
 * run by `Sql`.
 */

/** Moments are read as ISO 8601 text in UTC with milliseconds, and compared and written as that text or a Date. */
type Column<Value> = [Value] extends [ColumnType<infer Select, infer Insert, infer Update>]
  ? Moments<Value, Select, Insert, Update>
  : Moments<Value, Value, Value, Value>;
type Moments<Value, Select, Insert, Update> = [Extract<Select, Date>] extends [never]
  ? Value
  : ColumnType<string | Exclude<Select, Date>, Insert | string, Update | string>;

/** The tables of `InferKyselyDB`, with their values as `Sql` reads them. */
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

/** A row of a table under the names of the entity's properties. */
export type RowOf<Table> = { readonly [Name in keyof Table & string as Camel<Name>]: SelectType<Table[Name]> };

/** A value of an entity as rows have it. */
type AsValue<Value> = Value extends Date ? string : Value extends undefined ? null : Value;

/** The named properties of an entity that was just written, as they will be read. */
export function asRow<Properties extends object, Name extends keyof Properties & string>(
  properties: Properties,
  names: readonly Name[],
): { readonly [Each in Name]-?: AsValue<Properties[Each]> } {
  const values = names.map((name) => {
    const value = properties[name];
    return [name, value instanceof Date ? value.toISOString() : (value ?? null)];
  });
  // What `AsValue` says of each.
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

/** Builds queries on the tables of the given entities. It has no connection. */
export function queriesOn<Tables>(): Kysely<Readable<Tables>> {
  // One builder serves all tables: they are types alone.
  return builder as unknown as Kysely<Readable<Tables>>;
}

/** The columns with these names, for `select`: `columns('s', ['createdAt'])` is `s.created_at as createdAt`. */
export function columns<Alias extends string, Name extends string>(
  alias: Alias,
  names: readonly Name[],
): SelectedColumn<Alias, Name>[] {
  return names.map((name) => `${alias}.${snake(name)} as ${name}` as SelectedColumn<Alias, Name>);
}

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

/** The names of all columns of an entity, as its rows have them: `organization` is `organizationId`. */
export function columnNames<Tables, Table extends keyof Tables>(
  { meta }: EntitySchema,
  _table: Table,
): readonly (keyof RowOf<Readable<Tables>[Table]> & string)[] {
  const names = Object.entries(meta.properties as Readonly<Record<string, { kind?: string }>>).map(
    ([name, { kind }]) => (kind === 'm:1' || kind === '1:1' ? `${name}Id` : name),
  );
  return names as (keyof RowOf<Readable<Tables>[Table]> & string)[];
}

/** The text of a query and its values, ready to be sent. The type of its rows is only known to the compiler. */
export interface Statement<Row> {
  readonly text: string;
  readonly values: readonly unknown[];
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

/**
 * A query that is compiled once, at its first use, for what runs on every request: compiling takes some 20 µs. `value('name')` stands where the
 * value of that name goes.
 */
export function prepared<Values extends object>() {
  return <Row>(
    build: (value: <Name extends keyof Values & string>(name: Name) => RawBuilder<Values[Name]>) => Compilable<Row>,
  ): ((values: Values) => Statement<Row>) => {
    let compiled: { text: string; parameters: readonly unknown[] } | undefined;
    return (values) => {
      if (!compiled) {
        const query = build(
          <Name extends keyof Values & string>(name: Name) => sql<Values[Name]>`${new Parameter(name)}`,
        );
        const { sql: text, parameters } = query.compile();
        compiled = { text, parameters };
      }
      const given = values as Readonly<Record<string, unknown>>;
      const filled = compiled.parameters.map((each) => (each instanceof Parameter ? given[each.name] : each));
      return { text: compiled.text, values: filled };
    };
  };
}

/**
 * The same for a query of a bounded number of shapes, such as the columns that are read and the conditions that are given. `shape` says all that
 * `build` depends on beside the values.
 */
export function preparedByShape<Values extends object>() {
  const known = new LRUCache<string, (values: Values) => Statement<unknown>>({ max: MAX_SHAPES });
  return <Row>(
    shape: string,
    values: Values,
    build: (value: <Name extends keyof Values & string>(name: Name) => RawBuilder<Values[Name]>) => Compilable<Row>,
  ): Statement<Row> => {
    let statement = known.get(shape);
    if (!statement) known.set(shape, (statement = prepared<Values>()(build)));
    // Of this shape the rows are what `build` says.
    return statement(values) as Statement<Row>;
  };
}

const MAX_SHAPES = 500;

/** The rows of a list of values, one list for each column: `unnest($1::uuid[], …)`. One text serves any number of rows. */
export function listOf<Value>(
  type: 'uuid' | 'text' | 'timestamptz' | 'bigint',
  values: readonly Value[],
): RawBuilder<Value[]> {
  return sql<Value[]>`${values}::${sql.raw(type)}[]`;
}

/** The right side of `=` where any of the values will do: `any($1::uuid[])`. One text serves any number of values. */
export function anyOf<Value>(
  type: 'uuid' | 'text',
  values: readonly Value[] | RawBuilder<readonly Value[]>,
): RawBuilder<Value> {
  return sql<Value>`any(${values}::${sql.raw(type)}[])`;
}

/** Rows as PostgreSQL packs them: their values in the order of the names, or null for no rows. */
export type Packed = readonly (readonly unknown[])[] | null;

/**
 * Many short rows as one JSON value of a statement: reading it takes a third of the time in which the driver reads the rows one by one. Not for
 * wide rows, or long texts, which PostgreSQL takes longer to write as JSON.
 */
export function packedRows<Row extends object>(
  alias: string,
  names: readonly (keyof Row & string)[],
  { moments, orderBy }: { moments: readonly (keyof Row & string)[]; orderBy: keyof Row & string },
): { readonly packed: RawBuilder<Packed>; readonly unpack: (packed: Packed) => Row[] } {
  const columnOf = (name: string) => sql.ref(`${alias}.${snake(name)}`);
  const areMoments = names.map((name) => moments.includes(name));
  const toRow = (values: readonly unknown[]) => {
    const row: Record<string, unknown> = {};
    for (let index = 0; index < names.length; index += 1) {
      const value = values[index];
      row[names[index] ?? ''] = areMoments[index] === true && typeof value === 'string' ? toIso(value) : value;
    }
    // It has the columns that were asked for.
    return row as Row;
  };
  return {
    packed: sql`json_agg(json_build_array(${sql.join(names.map(columnOf))}) order by ${columnOf(orderBy)})`,
    unpack: (packed) => packed?.map(toRow) ?? [],
  };
}
