import { type SelectQueryBuilder, sql } from 'kysely';
import type { Sql } from './sql.ts';

/** The number of rows of a query. */
export async function countOf<Tables, Name extends keyof Tables>(
  reader: Sql,
  rows: SelectQueryBuilder<Tables, Name, object>,
): Promise<number> {
  // The compiler infers no result type for unknown tables.
  const row = await reader.first(rows.select(sql`count(*)`.as('count')).$castTo<{ readonly count: number }>());
  return row?.count ?? 0;
}
