import { type Compilable, type SelectQueryBuilder, sql } from 'kysely';
import type { Statement } from './queries.ts';
import type { Sql } from './sql.ts';

interface Counted {
  readonly count: number;
}

/** A query for the number of rows of another query. */
export function counted<Tables, Name extends keyof Tables>(rows: SelectQueryBuilder<Tables, Name, object>) {
  // The compiler infers no result type for unknown tables.
  return rows.select(sql`count(*)`.as('count')).$castTo<Counted>();
}

/** Runs a query that was made with `counted`. */
export const readCount = async (reader: Sql, query: Compilable<Counted> | Statement<Counted>): Promise<number> =>
  (await reader.first(query))?.count ?? 0;

/** The number of rows of a query. */
export const countOf = <Tables, Name extends keyof Tables>(
  reader: Sql,
  rows: SelectQueryBuilder<Tables, Name, object>,
): Promise<number> => readCount(reader, counted(rows));
