import { type SqlBool, sql } from 'kysely';
import { requireAccess } from '../../core/access.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Page, type PageArguments, PagePlan } from '../../core/postgres/reading/keyset.ts';
import { pagesByParent } from '../../core/postgres/reading/pages.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { READ_SESSIONS, type SessionTables, callerOf, readableBy } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { rowsAt } from './entry-queries.ts';
import { MAX_PAGE } from './input.ts';
import { EVENT_ORDERINGS, type SessionEventRow, selectedOfEvents } from './queries.ts';

const db = queriesOn<SessionEventTables & SessionTables>();

/** The entries with these keys, each `session:entry`, in sessions that the caller can read. */
function entriesAt(context: OperationContext, keys: readonly string[]) {
  const places = keys
    .map((key) => key.split(':'))
    .map(([sessionId, id]) => ({ sessionId: sessionId as SessionId, id: Number(id) }));
  return db
    .selectFrom(rowsAt(places).as<'k'>(sql`k(session_id, id)`))
    .innerJoin('session as s', (join) => join.on(sql<SqlBool>`s.id = k.session_id`))
    .innerJoin('session_entry as n', (join) =>
      join.on(sql<SqlBool>`n.session_id = s.id and n.organization_id = s.organization_id and n.id = k.id`),
    )
    .where(within(readableBy(callerOf(context.actor)), 's'))
    .select(sql<string>`concat(k.session_id, ':', k.id)`.as('key'));
}

/** The events of entries, by `session:entry`. */
export function pagesOfEntryEvents(
  context: OperationContext,
  page: PageArguments,
): LoadBatch<string, Page<SessionEventRow>> {
  requireAccess(context.actor, READ_SESSIONS);
  const plan = new PagePlan<SessionEventRow>(EVENT_ORDERINGS.ASC, page, MAX_PAGE);
  const { 'page.after.0': after = 0, 'page.before.0': before = null, 'page.limit': limit } = plan.values;
  // Between the events of an entry there can be many others.
  const ids = sql`array(select id from unnest(n.events * int8multirange(int8range(${after}, ${before}))) as r,
    generate_series(lower(r), upper(r) - 1) as id order by id ${sql.raw(plan.shape.backward ? 'desc' : 'asc')} limit ${limit})`;
  const paged = plan.apply(
    db
      .selectFrom('session_event as e')
      .where('e.session_id', '=', sql<SessionId>`n.session_id`)
      .where('e.organization_id', '=', sql<never>`n.organization_id`)
      .where(sql<SqlBool>`e.id = any(${ids})`)
      .select(selectedOfEvents(context.sql.isTransaction)),
  );
  const read = (left: readonly string[]) =>
    context.sql.page(
      entriesAt(context, left)
        .innerJoinLateral(sql<object>`${paged}`.as<'page'>(sql`page`), (join) => join.onTrue())
        .select(sql`page.*` as never)
        .$castTo<SessionEventRow & { readonly key: string }>(),
      { isJson: true },
    );
  return (keys) => pagesByParent(plan, keys, { read, parentOf: ({ key }) => key });
}

/** How many events each entry has. */
export function countsOfEntryEvents(context: OperationContext): LoadBatch<string, number> {
  return async (keys) => {
    const size = sql<number>`(select sum(upper(r) - lower(r))::float8 from unnest(n.events) as r)`;
    const rows = await context.sql.all(entriesAt(context, keys).select(size.as('count')));
    return new Map(rows.map(({ key, count }) => [key, count]));
  };
}
