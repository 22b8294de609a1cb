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

/** The reach as a condition on the columns of a table. A value of null is `is null`. */
export function within<Row extends object>(reach: Reach<Row>, alias: string): Expression<SqlBool> {
  const every = (values: Partial<Row>) =>
    sql.join(
      Object.entries(values).map(([name, value]) => {
        const column = sql.ref(`${alias}.${snake(name)}`);
        return value === null ? sql`${column} is null` : sql`${column} = ${value}`;
      }),
      sql` and `,
    );
  if (!reach.anyOf) return sql<SqlBool>`${every(reach.all)}`;
  const alternatives = sql.join(reach.anyOf.map(every), sql` or `);
  return sql<SqlBool>`${every(reach.all)} and (${alternatives})`;
}

/** Whether an object is within the reach. */
export function isWithin<Row extends object>(reach: Reach<Row>, row: Row): boolean {
  const has = (values: Partial<Row>) =>
    Object.entries(values).every(([name, value]) => row[name as keyof Row] === value);
  return has(reach.all) && (!reach.anyOf || reach.anyOf.some(has));
}
