import type { FilterQuery } from '@mikro-orm/postgresql';
import { type Expression, type SqlBool, sql } from 'kysely';
import { snake } from './queries.ts';

/**
 * Which rows of a noun a caller reaches, written once and used three ways: as a condition of queries, as a test of an object, and as a filter of
 * entities.
 */
export interface Reach<Row> {
  /** Every value that all of the rows have. */
  readonly all: Partial<Row>;
  /** And the values of which a row must have one set; without it, `all` is enough. */
  readonly anyOf?: readonly Partial<Row>[] | undefined;
}

/** The reach as a condition on the columns of a table. */
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
  const has = (values: Partial<Row>) =>
    Object.entries(values).every(([name, value]) => row[name as keyof Row] === value);
  return has(reach.all) && (!reach.anyOf || reach.anyOf.some(has));
}

/** The reach as a filter of entities, where `organizationId` is the relation `organization`. */
export function filterOf<Entity extends object, Row extends object = object>({
  all,
  anyOf,
}: Reach<Row>): FilterQuery<Entity> {
  const filter = (values: Partial<Row>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name.replace(/Id$/, ''), value]));
  // The relations of the entity are those that its row names.
  return { ...filter(all), ...(anyOf && { $or: anyOf.map(filter) }) } as FilterQuery<Entity>;
}
