import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { requireAccess } from '../../core/access.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { groupBy } from '../../core/arrays.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { counted } from '../../core/postgres/reading/counts.ts';
import { type Page, type PageArguments, PagePlan, orderingsBy } from '../../core/postgres/reading/keyset.ts';
import { pagesByParent } from '../../core/postgres/reading/pages.ts';
import { type Readable, type RowOf, listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import { READ_SESSIONS, type SessionTables, callerOf, readableBy } from '../sessions/public.ts';
import { ID_CURSORS } from './cursor.ts';
import { type EntryContent, contentOf } from './entry-content.ts';
import { kindOf } from './event-kind.ts';
import type { SessionEventTables } from './entity.ts';
import { type FoldedHead, foldSessions } from './fold-store.ts';
import { MAX_PAGE, type SessionEntryFilter } from './input.ts';
import type { SessionEventRow } from './queries.ts';
import { hasPhrases } from './search-windows.ts';

/** Reads entries, with their texts: one statement for the pages of all sessions, after what is left was folded. */

export const MAX_ENTRIES = 500;

const db = queriesOn<SessionEventTables & SessionTables>();

type Stored = RowOf<Readable<SessionEventTables>['session_entry']>;
type StoredEntry = Omit<Stored, 'organizationId' | 'events' | 'parts' | 'closedWith'>;

interface FoundEntry extends StoredEntry {
  /** JSON of each event that has the texts. */
  readonly contents: string | null;
}

export interface EntryRow extends StoredEntry {
  readonly isOpen: boolean;
  /** Of a call that has ended with a result. */
  readonly durationMs: number | null;
  readonly content: EntryContent;
  readonly provider: string | null;
}

const COLUMNS = [
  'id',
  'kind',
  'turn',
  'started_at as startedAt',
  'ended_at as endedAt',
  'last_event_id as lastEventId',
  'is_failed as isFailed',
  'is_final as isFinal',
  'starts_subagent as startsSubagent',
  'subagent_id as subagentId',
  'call_id as callId',
  'tool_name as toolName',
  'model',
  'output_id as outputId',
] as const;

const ORDERINGS = orderingsBy<Pick<EntryRow, 'id'>>({
  name: () => 'SESSION_ENTRY',
  keys: [{ property: 'id', sql: 'n.id', type: 'bigint' }],
  prefix: ['n.session_id'],
  form: ID_CURSORS,
});

const outputOf = sql`case when n.output_id is null then '{}'::int8multirange else int8multirange(int8range(n.output_id, n.output_id, '[]')) end`;
const CONTENTS = sql<
  string | null
>`(select json_agg(json_build_array(e.id, e.provider, e.event_data, n.parts @> e.id) order by e.id)::text
  from unnest(n.parts + ${outputOf}) as r join session_event e
    on e.session_id = n.session_id and e.organization_id = n.organization_id and e.id >= lower(r) and e.id < upper(r))`;

type Conditions = {
  readonly [Name in keyof Required<SessionEntryFilter>]: (
    given: NonNullable<SessionEntryFilter[Name]>,
    sessionId: RawBuilder<unknown>,
  ) => RawBuilder<SqlBool>;
};
const CONDITIONS: Conditions = {
  kinds: (given) => sql`n.kind = any(${listOf('text', given)})`,
  isFailed: (given) => sql`n.is_failed = ${given}::boolean`,
  toolNames: (given) => sql`n.tool_name = any(${listOf('text', given)})`,
  subagentIds: (given) => sql`n.subagent_id = any(${listOf('text', given)})`,
  turnFrom: (given) => sql`n.turn >= ${given}::int`,
  turnBefore: (given) => sql`n.turn < ${given}::int`,
  search: (given, sessionId) =>
    sql`n.events && coalesce((select range_agg(int8range(t.event_id, t.event_id, '[]')) from session_text as t
      where t.session_id = ${sessionId} and t.organization_id = n.organization_id and ${hasPhrases(sql`t.document`, sql`${given}`)}), '{}')`,
};

const readableSessions = (context: OperationContext, sessionIds: readonly SessionId[]) =>
  db
    .selectFrom('session as s')
    .where(sql<SqlBool>`s.id = any(${listOf('uuid', sessionIds)})`)
    .where(within(readableBy(callerOf(context.actor)), 's'));

function entriesOf(filter: SessionEntryFilter, isMore: RawBuilder<SqlBool> = sql`true`) {
  let found = db
    .selectFrom('session_entry as n')
    .where('n.session_id', '=', sql<SessionId>`s.id`)
    .where('n.organization_id', '=', sql<never>`s.organization_id`)
    .where(isMore);
  for (const [name, condition] of Object.entries(CONDITIONS)) {
    const given = filter[name as keyof SessionEntryFilter];
    // Each condition takes the value of its name.
    if (given != null)
      found = found.where(
        (condition as (given: unknown, id: RawBuilder<unknown>) => RawBuilder<SqlBool>)(given, sql`s.id`),
      );
  }
  return found;
}

type PageRow = FoundEntry & { readonly sessionId: SessionId };

/** A page of the entries of each session. A session that the caller cannot read has none. */
export function pagesOfEntries(
  context: OperationContext,
  { filter, page }: { readonly filter: SessionEntryFilter; readonly page: PageArguments },
): LoadBatch<string, Page<EntryRow>> {
  requireAccess(context.actor, READ_SESSIONS);
  const plan = new PagePlan<EntryRow>(ORDERINGS.ASC, page, MAX_ENTRIES);
  const read = async (sessionIds: readonly string[]) => {
    // Global ids of sessions are checked before.
    const ids = sessionIds as readonly SessionId[];
    const paged = plan.apply(
      entriesOf(filter)
        .select(COLUMNS.map((name) => `n.${name}` as const))
        .select(CONTENTS.as('contents')),
    );
    const { rows, isCut } = await context.sql.page(
      readableSessions(context, ids)
        .leftJoinLateral(sql<object>`${paged}`.as<'page'>(sql`page`), (join) => join.onTrue())
        .select(sql`page.*` as never)
        .select('s.id as sessionId')
        .orderBy('s.id')
        .$castTo<PageRow>(),
    );
    return { rows: rows.map(entryOf), isCut };
  };
  return async (sessionIds) => {
    await foldSessions(context.sql, sessionIds, callerOf(context.actor));
    return pagesByParent<string, EntryRow, EntryRow>(plan, [...sessionIds].toSorted(), {
      read,
      parentOf: ({ sessionId }) => sessionId,
      isListed: ({ id }) => id !== null,
    });
  };
}

export function countsOfEntries(context: OperationContext, filter: SessionEntryFilter): LoadBatch<string, number> {
  requireAccess(context.actor, READ_SESSIONS);
  return async (sessionIds) => {
    const ids = sessionIds as readonly SessionId[];
    await foldSessions(context.sql, ids, callerOf(context.actor));
    const count = counted(entriesOf(filter));
    const rows = await context.sql.all(readableSessions(context, ids).select(['s.id', count.as('count')]));
    return new Map(rows.map(({ id, count: found }) => [id, found ?? 0]));
  };
}

export interface EntryPlace {
  readonly sessionId: SessionId;
  readonly id: number;
}

/** The entries with these keys that the caller can read. */
export async function findEntries(context: OperationContext, places: readonly EntryPlace[]): Promise<EntryRow[]> {
  requireAccess(context.actor, READ_SESSIONS);
  const bySession = groupBy(places, ({ sessionId }) => sessionId);
  await foldSessions(context.sql, [...bySession.keys()], callerOf(context.actor));
  const ids = places.map(({ id }) => id);
  const sessionIds = places.map(({ sessionId }) => sessionId);
  const isWanted = sql<SqlBool>`(n.session_id, n.id) in (select * from unnest(${listOf('uuid', sessionIds)}, ${listOf('bigint', ids)}))`;
  return (await readEntries(context, [...bySession.keys()], isWanted, ids.length)).rows;
}

/** The calls that have started these subagents, by session and id. */
export async function findCalls(
  context: OperationContext,
  calls: readonly { readonly sessionId: SessionId; readonly callId: string }[],
): Promise<EntryRow[]> {
  const sessionIds = calls.map(({ sessionId }) => sessionId);
  const callIds = calls.map(({ callId }) => callId);
  const isWanted = sql<SqlBool>`n.call_id is not null and (n.session_id, n.call_id) in (select * from unnest(${listOf('uuid', sessionIds)}, ${listOf('text', callIds)}))`;
  return (await readEntries(context, [...new Set(sessionIds)], isWanted, MAX_ENTRIES)).rows;
}

async function readEntries(
  context: OperationContext,
  sessionIds: readonly SessionId[],
  isWanted: RawBuilder<SqlBool>,
  limit: number,
  filter: SessionEntryFilter = {},
  order = sql`n.session_id, n.id`,
) {
  const found = entriesOf(filter, isWanted)
    .select(COLUMNS.map((name) => `n.${name}` as const))
    .select(CONTENTS.as('contents'))
    .orderBy(order)
    .limit(limit);
  const { rows, isCut } = await context.sql.page(
    readableSessions(context, sessionIds)
      .innerJoinLateral(sql<object>`(${found})`.as<'page'>(sql`page`), (join) => join.onTrue())
      .select(sql`page.*` as never)
      .select('s.id as sessionId')
      .$castTo<PageRow>(),
  );
  return { rows: rows.map(entryOf), isCut };
}

export interface ChangedEntries {
  readonly entries: readonly EntryRow[];
  /** The last event that was looked at. */
  readonly lastEventId: number;
  readonly hasMore: boolean;
  readonly isEnded: boolean;
}

/** The entries that events after this one have changed, in the order of these. */
export async function changedEntries(
  context: OperationContext,
  {
    sessionId,
    after,
    filter,
    limit,
  }: { sessionId: SessionId; after: number; filter: SessionEntryFilter; limit: number },
): Promise<ChangedEntries | undefined> {
  const head = (await foldSessions(context.sql, [sessionId], callerOf(context.actor))).get(sessionId);
  if (!head) return undefined;
  const isChanged = sql<SqlBool>`n.last_event_id > ${after}::bigint`;
  const order = sql`n.last_event_id, n.id`;
  const { rows, isCut } = await readEntries(context, [sessionId], isChanged, limit + 1, filter, order);
  const hasMore = isCut || rows.length > limit;
  if (!hasMore) return lastOf(context, { head, sessionId, after, filter, entries: rows });
  // Those that one event has changed are sent together.
  const last = rows.at(-1)?.lastEventId ?? after;
  const before = rows.filter(({ lastEventId }) => lastEventId < last);
  if (before.length > 0)
    return { entries: before, lastEventId: before.at(-1)?.lastEventId ?? after, hasMore: true, isEnded: false };
  const isSame = sql<SqlBool>`n.last_event_id = ${last}::bigint`;
  const all = await readEntries(context, [sessionId], isSame, MAX_TOGETHER, filter, order);
  return { entries: all.rows, lastEventId: last, hasMore: true, isEnded: false };
}
const MAX_TOGETHER = 10_000;

/** With the end of the session, those that only it has changed are sent once more. */
async function lastOf(
  context: OperationContext,
  {
    head: { isClosed, isComplete, lastId },
    sessionId,
    after,
    filter,
    entries,
  }: {
    head: FoldedHead;
    sessionId: SessionId;
    after: number;
    filter: SessionEntryFilter;
    entries: readonly EntryRow[];
  },
): Promise<ChangedEntries> {
  const lastEventId = isComplete ? Math.max(after, lastId) : (entries.at(-1)?.lastEventId ?? after);
  if (!isClosed || !isComplete) return { entries, lastEventId, hasMore: !isComplete, isEnded: false };
  const isClosedWith = sql<SqlBool>`n.closed_with = ${lastId}::bigint and n.last_event_id <= ${after}::bigint`;
  const closed = await readEntries(context, [sessionId], isClosedWith, MAX_TOGETHER, filter);
  return { entries: [...entries, ...closed.rows], lastEventId, hasMore: false, isEnded: true };
}

type Content = readonly [id: number, provider: string, data: Readonly<Record<string, unknown>>, isPart: boolean];

function entryOf({ contents, ...row }: PageRow): EntryRow {
  const { kind, startedAt, endedAt, outputId } = row;
  const events = JSON.parse(contents ?? '[]') as readonly Content[];
  const parts = events.flatMap(([, , data, isPart]) => (isPart ? [data] : []));
  const output = events.find(([id]) => id === outputId)?.[2];
  const hasResult = endedAt !== null && output !== undefined && kindOf(output) === 'result';
  return {
    ...row,
    isOpen: endedAt === null,
    durationMs: hasResult ? Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)) : null,
    content: contentOf(kind, parts, output),
    provider: events[0]?.[1] || null,
  };
}

/** How many turns each session has. */
export function turnsOf(context: OperationContext): LoadBatch<SessionId, number> {
  requireAccess(context.actor, READ_SESSIONS);
  return async (sessionIds) => {
    await foldSessions(context.sql, sessionIds, callerOf(context.actor));
    const last = entriesOf({}).select(sql<number>`max(n.turn)`.as('turns'));
    const rows = await context.sql.all(readableSessions(context, sessionIds).select(['s.id', last.as('turns')]));
    return new Map(rows.map(({ id, turns }) => [id, turns ?? 0]));
  };
}

/** The events of entries, by `session:entry`. */
export function pagesOfEntryEvents(
  context: OperationContext,
  page: PageArguments,
): LoadBatch<string, Page<SessionEventRow>> {
  requireAccess(context.actor, READ_SESSIONS);
  const plan = new PagePlan<SessionEventRow>(EVENT_ORDERINGS.ASC, page, MAX_PAGE);
  return (keys) => {
    const places = keys.map((key) => key.split(':') as [sessionId: string, id: string]);
    const wanted = sql<object>`unnest(${listOf(
      'uuid',
      places.map(([sessionId]) => sessionId),
    )}, ${listOf(
      'bigint',
      places.map(([, id]) => Number(id)),
    )})`;
    const paged = plan.apply(
      db
        .selectFrom('session_event as e')
        .where('e.session_id', '=', sql<SessionId>`n.session_id`)
        .where('e.organization_id', '=', sql<never>`n.organization_id`)
        .where(sql<SqlBool>`e.id >= lower(n.events) and e.id < upper(n.events) and n.events @> e.id`)
        .select(['e.id', 'e.session_id as sessionId', 'e.created_at as createdAt', 'e.event_type as eventType'])
        .select(['e.message_id as messageId', 'e.provider'])
        .select(
          context.sql.isTransaction ? sql`e.event_data::text`.as('eventData') : sql`e.event_data`.as('eventData'),
        ),
    );
    const read = (left: readonly string[]) =>
      context.sql.page(
        db
          .selectFrom(wanted.as<'k'>(sql`k(session_id, id)`))
          .innerJoin('session as s', (join) => join.on(sql<SqlBool>`s.id = k.session_id`))
          .innerJoin('session_entry as n', (join) =>
            join.on(sql<SqlBool>`n.session_id = s.id and n.organization_id = s.organization_id and n.id = k.id`),
          )
          .innerJoinLateral(sql<object>`${paged}`.as<'page'>(sql`page`), (join) => join.onTrue())
          .where(within(readableBy(callerOf(context.actor)), 's'))
          .where(sql<SqlBool>`concat(k.session_id, ':', k.id) = any(${listOf('text', left)})`)
          .select(sql`page.*` as never)
          .select(sql<string>`concat(k.session_id, ':', k.id)`.as('key'))
          .orderBy(sql`concat(k.session_id, ':', k.id)`)
          .$castTo<SessionEventRow & { readonly key: string }>(),
        { isJson: true },
      );
    return pagesByParent(plan, [...keys].toSorted(), { read, parentOf: ({ key }) => key });
  };
}

/** How many events each entry has. */
export function countsOfEntryEvents(context: OperationContext): LoadBatch<string, number> {
  return async (keys) => {
    const places = keys.map((key) => key.split(':'));
    const isWanted = sql<SqlBool>`(n.session_id, n.id) in (select * from unnest(${listOf(
      'uuid',
      places.map(([id = '']) => id),
    )}, ${listOf(
      'bigint',
      places.map(([, id]) => Number(id)),
    )}))`;
    const sessionIds = [...new Set(keys.map((key) => key.slice(0, UUID_LENGTH) as SessionId))];
    const rows = await context.sql.all(
      readableSessions(context, sessionIds)
        .innerJoin('session_entry as n', (join) =>
          join.on(sql<SqlBool>`n.session_id = s.id and n.organization_id = s.organization_id`),
        )
        .where(isWanted)
        .select(sql<string>`concat(n.session_id, ':', n.id)`.as('key'))
        .select(sql<number>`(select sum(upper(r) - lower(r))::float8 from unnest(n.events) as r)`.as('count')),
    );
    return new Map(rows.map(({ key, count }) => [key, count]));
  };
}
const UUID_LENGTH = 36;

const EVENT_ORDERINGS = orderingsBy<Pick<SessionEventRow, 'id'>>({
  name: () => 'SESSION_EVENT',
  keys: [{ property: 'id', sql: 'e.id', type: 'bigint' }],
  prefix: ['e.session_id'],
  form: ID_CURSORS,
});
