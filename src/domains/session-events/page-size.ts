import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Statement, queriesOn } from '../../core/postgres/reading/queries.ts';

/** Bounds the size of a page of events. */

/** Maximum size of a page, because a thousand events of 1 MiB would exceed the memory of the process. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;

const db = queriesOn<object>();

/** The events of a page up to the event that reaches the maximum size; `isFollowed` says of each whether the page continues after it. */
export function withinBytes<Row>(
  page: SelectQueryBuilder<object, never, Row>,
  direction: 'asc' | 'desc',
  maxBytes: RawBuilder<number | undefined>,
) {
  const order = sql`order by id ${sql.raw(direction)}`;
  const bytes = sql`sum(octet_length("eventData")) over (${order} rows unbounded preceding)`.as('bytes');
  const isFollowed = sql<boolean>`lead(id) over (${order}) is not null`.as('isFollowed');
  return db
    .selectFrom(db.selectFrom(page.as('p')).selectAll('p').select([bytes, isFollowed]).as('c'))
    .selectAll('c')
    .where(sql<boolean>`bytes - octet_length("eventData") < ${maxBytes}::bigint`);
}

/** The ids of sessions that had a large page. */
const newLargeSessions = () => new LRUCache<SessionId, true>({ max: 1_000 });

/**
 * The rows of a page. PostgreSQL cuts it at the usual maximum only if it may be larger, because cutting takes a third of the time of a usual
 * page: reading of a large page is stopped, and its statement is sent again with the cut. A smaller maximum is likely to be reached.
 */
export async function cutWhereLarge<Row>(
  { sql: reader, caches }: Pick<OperationContext, 'sql' | 'caches'>,
  sessionIds: readonly SessionId[],
  maxBytes: number,
  statement: (isCut: boolean) => Statement<Row>,
): Promise<Row[]> {
  const large = caches.of(newLargeSessions);
  if (maxBytes >= MAX_PAGE_BYTES && !sessionIds.some((id) => large.has(id))) {
    const rows = await reader.allUpTo(MAX_PAGE_BYTES, statement(false));
    if (rows) return rows;
    for (const id of sessionIds) large.set(id, true);
  }
  return reader.all(statement(true));
}
