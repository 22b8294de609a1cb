import type { FilterQuery } from '@mikro-orm/postgresql';
import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { keysOf } from '../../keys-of.ts';
import { snake } from './queries.ts';

/**
 * The rows that a caller may access, defined once and used as a condition of queries, as a test of an object, and as a
 * filter of entities.
 */
export interface Reach<Row> {
  /** Values that every row must have. */
  readonly all: Partial<Row>;
  /** In addition, a row must match at least one of these, if given. */
  readonly anyOf?: readonly Partial<Row>[] | undefined;
}

/** Converts a reach to a condition on the columns of a table. */
export function within<Row extends object>({ all, anyOf }: Reach<Row>, alias: string): Expression<SqlBool> {
  const conditions = (values: Partial<Row>) =>
    Object.entries(values).map(([name, value]) => {
      const column = sql.ref(`${alias}.${snake(name)}`);
      return value === null ? sql<SqlBool>`${column} is null` : sql<SqlBool>`${column} = ${value}`;
    });
  const alternatives = anyOf?.map((values) => sql.join(conditions(values), sql` and `));
  return sql.join<SqlBool>(
    [...conditions(all), ...(alternatives ? [sql`(${sql.join(alternatives, sql` or `)})`] : [])],
    sql` and `,
  );
}

/** The form of a reach: in place of values their places in a list, and null for null. */
export type Places = {
  readonly all: Readonly<Record<string, number | null>>;
  readonly anyOf?: readonly Readonly<Record<string, number | null>>[] | undefined;
};

/** Separates the form of a reach from its values, which have the names `reach.0` and so on. */
export function placesOf({ all, anyOf }: Reach<object>): { places: Places; values: Readonly<Record<string, unknown>> } {
  const values: Record<string, unknown> = {};
  let count = 0;
  const placed = (row: object) => {
    const places: Record<string, number | null> = {};
    for (const [name, value] of Object.entries(row) as [string, unknown][]) {
      places[name] = value === null ? null : count;
      if (value !== null) values[`reach.${count++}`] = value;
    }
    return places;
  };
  return { places: { all: placed(all), anyOf: anyOf?.map(placed) }, values };
}

/** The reach of this form, with placeholders of the values. */
export function withPlaceholders({ all, anyOf }: Places, value: (name: string) => RawBuilder<unknown>): Reach<object> {
  const filled = (places: Places['all']) =>
    Object.fromEntries(
      Object.entries(places).map(([name, place]) => [name, place === null ? null : value(`reach.${place}`)]),
    );
  return { all: filled(all), anyOf: anyOf?.map(filled) };
}

/** Whether an object is within the reach. */
export function isWithin<Row extends object>(reach: Reach<Row>, row: Row): boolean {
  const has = (values: Partial<Row>) => keysOf(values).every((name) => row[name] === values[name]);
  return has(reach.all) && (!reach.anyOf || reach.anyOf.some(has));
}

/** Converts a reach to a filter of entities, where `organizationId` is the relation `organization`. */
export function filterOf<Entity extends object, Row extends object = object>({
  all,
  anyOf,
}: Reach<Row>): FilterQuery<Entity> {
  const filter = (values: Partial<Row>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name.replace(/Id$/, ''), value]));
  // The relations of the entity correspond to the columns of its row.
  return { ...filter(all), ...(anyOf && { $or: anyOf.map(filter) }) } as FilterQuery<Entity>;
}
