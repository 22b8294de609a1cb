import type { FilterQuery } from '@mikro-orm/postgresql';
import { type Expression, type SqlBool, sql } from 'kysely';
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
