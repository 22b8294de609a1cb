import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { requireAccess } from '../../core/access.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { uuidsOf } from '../../core/graphql/global-ids.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { counted } from '../../core/postgres/reading/counts.ts';
import { type Page, type PageArguments, PagePlan, orderingsBy } from '../../core/postgres/reading/keyset.ts';
import { pagesByParent } from '../../core/postgres/reading/pages.ts';
import { type Readable, type RowOf, listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { READ_SESSIONS, type SessionTables, callerOf, readableBy } from '../sessions/public.ts';
import { ID_CURSORS } from './cursor.ts';
import { type EntryContent, contentOf } from './entry-content.ts';
import type { EntryKind } from './entry-fold.ts';
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

const withContents = (found: ReturnType<typeof entriesOf>) =>
  found.select(COLUMNS.map((name) => `n.${name}` as const)).select(CONTENTS.as('contents'));

type PageRow = FoundEntry & { readonly sessionId: SessionId };

/** Whose entries are listed: those of a session, or of a subagent in it. */
export interface EntryOwner {
  readonly sessionId: SessionId;
  readonly subagentId?: string;
}

export const ownerKey = ({ sessionId, subagentId }: EntryOwner): string =>
  subagentId === undefined ? sessionId : `${sessionId}:${encodeURIComponent(subagentId)}`;

/** The session and the subagent in a key. The key of a global id is untrusted. */
export function ownerOf(key: string): EntryOwner | undefined {
  const [, id = '', name] = /^([^:]+)(?::(.*))?$/s.exec(key) ?? [];
  const [sessionId] = uuidsOf([id]) as SessionId[];
  if (sessionId === undefined) return undefined;
  try {
    return name === undefined ? { sessionId } : { sessionId, subagentId: decodeURIComponent(name).replaceAll('\0', '') };
  } catch {
    return undefined;
  }
}

/** Folds what is left of the sessions, and finds the owners in those that the caller can read. */
async function openOwners(context: OperationContext, keys: readonly string[]) {
  const owners = keys.flatMap((key) => ownerOf(key) ?? []);
  const { reader } = await foldSessions(
    context.sql,
    [...new Set(owners.map(({ sessionId }) => sessionId))],
    callerOf(context.actor),
  );
  const isOfSubagents = owners.some(({ subagentId }) => subagentId !== undefined);
  const isOwn = isOfSubagents ? sql<SqlBool>`n.subagent_id = k.subagent_id` : undefined;
  const among = (left: readonly string[]) => {
    const some = left.flatMap((key) => ownerOf(key) ?? []);
    const sessionIds = some.map(({ sessionId }) => sessionId);
    const subagentIds = some.map(({ subagentId = '' }) => subagentId);
    return db
      .selectFrom(
        sql<{ subagent_id: string }>`unnest(${listOf('uuid', sessionIds)}, ${listOf('text', subagentIds)})`.as<'k'>(
          sql`k(session_id, subagent_id)`,
        ),
      )
      .innerJoin('session as s', (join) => join.on(sql<SqlBool>`s.id = k.session_id`))
      .where(within(readableBy(callerOf(context.actor)), 's'))
      .select(['s.id as ownSessionId', 'k.subagent_id as ownerId']);
  };
  const keyOf = ({ ownSessionId: sessionId, ownerId }: { ownSessionId: SessionId; ownerId: string }) =>
    ownerKey(isOfSubagents ? { sessionId, subagentId: ownerId } : { sessionId });
  return { reader, among, isOwn, keyOf };
}

/** A page of the entries of each owner. One whose session the caller cannot read has none. */
export function pagesOfEntries(
  context: OperationContext,
  {
    filter,
    page,
    maxBytes,
  }: { readonly filter: SessionEntryFilter; readonly page: PageArguments; readonly maxBytes?: number },
): LoadBatch<string, Page<EntryRow>> {
  requireAccess(context.actor, READ_SESSIONS);
  const plan = new PagePlan<EntryRow>(ORDERINGS.ASC, page, MAX_ENTRIES);
  return async (keys) => {
    const { reader, among, isOwn, keyOf } = await openOwners(context, keys);
    const paged = plan.apply(withContents(entriesOf(filter, isOwn)));
    const read = async (left: readonly string[]) => {
      const { rows, isCut } = await reader.page(
        among(left)
          .leftJoinLateral(sql<object>`${paged}`.as<'page'>(sql`page`), (join) => join.onTrue())
          .select(sql`page.*` as never)
          .$castTo<PageRow & { ownSessionId: SessionId; ownerId: string }>(),
        { maxBytes },
      );
      return { rows: rows.map((row) => ({ ...entryOf({ ...row, sessionId: row.ownSessionId }), key: keyOf(row) })), isCut };
    };
    return pagesByParent<string, EntryRow, EntryRow & { key: string }>(plan, keys, {
      read,
      parentOf: ({ key }) => key,
      isListed: ({ id }) => id !== null,
    });
  };
}

export function countsOfEntries(context: OperationContext, filter: SessionEntryFilter): LoadBatch<string, number> {
  requireAccess(context.actor, READ_SESSIONS);
  return async (keys) => {
    const { reader, among, isOwn, keyOf } = await openOwners(context, keys);
    const rows = await reader.all(among(keys).select(counted(entriesOf(filter, isOwn)).as('count')));
    return new Map(rows.map((row) => [keyOf(row), row.count ?? 0]));
  };
}

/** Those of the subagents that are in sessions which the caller can read. */
export async function findSubagents(context: OperationContext, keys: readonly string[]): Promise<Required<EntryOwner>[]> {
  requireAccess(context.actor, READ_SESSIONS);
  const { reader, among, isOwn } = await openOwners(context, keys);
  if (!isOwn) return [];
  const isThere = sql<SqlBool>`exists (${entriesOf({}, isOwn).select('n.id')})`;
  const rows = await reader.all(among(keys).where(isThere));
  return rows.map(({ ownSessionId, ownerId }) => ({ sessionId: ownSessionId, subagentId: ownerId }));
}

export interface EntryPlace {
  readonly sessionId: SessionId;
  readonly id: number;
}

const sessionsOf = (places: readonly { readonly sessionId: SessionId }[]) => [
  ...new Set(places.map(({ sessionId }) => sessionId)),
];

/** The entries with these keys that the caller can read. */
export async function findEntries(context: OperationContext, places: readonly EntryPlace[]): Promise<EntryRow[]> {
  requireAccess(context.actor, READ_SESSIONS);
  const sessionIds = sessionsOf(places);
  const { reader } = await foldSessions(context.sql, sessionIds, callerOf(context.actor));
  return (await readEntries(context, { reader, sessionIds, isWanted: isAt(places), limit: places.length })).rows;
}

const isAt = (places: readonly EntryPlace[]) =>
  sql<SqlBool>`(n.session_id, n.id) in (select * from unnest(${listOf(
    'uuid',
    places.map(({ sessionId }) => sessionId),
  )}, ${listOf(
    'bigint',
    places.map(({ id }) => id),
  )}))`;

/** The calls that have started these subagents, by session and id. */
export async function findCalls(
  context: OperationContext,
  calls: readonly Required<EntryOwner>[],
): Promise<EntryRow[]> {
  const sessionIds = calls.map(({ sessionId }) => sessionId);
  const callIds = calls.map(({ subagentId }) => subagentId);
  const isWanted = sql<SqlBool>`n.call_id is not null and n.starts_subagent and (n.session_id, n.call_id) in (select * from unnest(${listOf('uuid', sessionIds)}, ${listOf('text', callIds)}))`;
  return (await readEntries(context, { sessionIds: sessionsOf(calls), isWanted, limit: MAX_TOGETHER })).rows;
}

interface Wanted {
  /** When absent, that of the context. */
  readonly reader?: Sql;
  readonly sessionIds: readonly SessionId[];
  readonly isWanted: RawBuilder<SqlBool>;
  readonly limit: number;
  readonly filter?: SessionEntryFilter;
  readonly order?: RawBuilder<unknown>;
}

async function readEntries(
  context: OperationContext,
  { reader = context.sql, sessionIds, isWanted, limit, filter = {}, order = sql`n.session_id, n.id` }: Wanted,
) {
  const found = withContents(entriesOf(filter, isWanted)).orderBy(order).limit(limit);
  const { rows, isCut } = await reader.page(
    readableSessions(context, sessionIds)
      .innerJoinLateral(sql<object>`(${found})`.as<'page'>(sql`page`), (join) => join.onTrue())
      .select(sql`page.*` as never)
      .select('s.id as sessionId')
      .$castTo<PageRow>(),
  );
  return { rows: rows.map(entryOf), isCut };
}

export interface RemovedEntry extends EntryPlace {
  readonly kind: EntryKind;
}

/** What a reader of a session has seen of it. */
export interface SeenEntries {
  /** The last event that was looked at. */
  readonly lastEventId: number;
  /** The reader knows which entries before this id are no more; undefined when it has none. */
  readonly removedUntil: number | undefined;
}

export interface ChangedEntries {
  readonly entries: readonly EntryRow[];
  readonly removed: readonly RemovedEntry[];
  readonly seen: SeenEntries;
  readonly hasMore: boolean;
  readonly isEnded: boolean;
}

interface Followed {
  readonly sessionId: SessionId;
  readonly seen: SeenEntries;
  readonly filter: SessionEntryFilter;
}

/** The entries that events after the last one seen have changed, in the order of these; before them, which are no more. */
export async function changedEntries(
  context: OperationContext,
  { sessionId, seen: before, filter }: Followed,
): Promise<ChangedEntries | undefined> {
  const { heads } = await foldSessions(context.sql, [sessionId], callerOf(context.actor));
  const head = heads.get(sessionId);
  if (!head) return undefined;
  const { lastEventId: after, removedUntil = head.prunedUntil } = before;
  if (removedUntil < head.prunedUntil)
    return removedEntries(context, { sessionId, seen: { lastEventId: after, removedUntil }, filter }, head);
  const seenAt = (lastEventId: number) => ({ lastEventId, removedUntil });
  const order = sql`n.last_event_id, n.id`;
  const changedBy = (isWanted: RawBuilder<SqlBool>, limit: number) =>
    readEntries(context, { sessionIds: [sessionId], isWanted, limit, filter, order });
  const { rows, isCut } = await changedBy(sql<SqlBool>`n.last_event_id > ${after}::bigint`, MAX_ENTRIES + 1);
  const last = rows.at(-1)?.lastEventId ?? after;
  if (isCut || rows.length > MAX_ENTRIES) {
    // Those that one event has changed are sent together.
    const some = rows.filter(({ lastEventId }) => lastEventId < last);
    const [entries, until] =
      some.length > 0
        ? [some, some.at(-1)?.lastEventId ?? after]
        : [(await changedBy(sql<SqlBool>`n.last_event_id = ${last}::bigint`, MAX_TOGETHER)).rows, last];
    return { entries, removed: [], seen: seenAt(until), hasMore: true, isEnded: false };
  }
  if (!head.isComplete) return { entries: rows, removed: [], seen: seenAt(last), hasMore: true, isEnded: false };
  // With the end of the session, those that only it has changed are sent once more.
  const { isClosed: isEnded, lastId } = head;
  const closed = isEnded
    ? (await changedBy(sql<SqlBool>`n.closed_with = ${lastId}::bigint and n.last_event_id <= ${after}::bigint`, MAX_TOGETHER)).rows
    : [];
  const entries = [...rows, ...closed];
  return { entries, removed: [], seen: seenAt(Math.max(after, lastId)), hasMore: false, isEnded };
}
const MAX_TOGETHER = 10_000;

/** The next entries that are no more, among those that the reader can have, and what is left of them. */
async function removedEntries(
  context: OperationContext,
  { sessionId, seen, filter }: Followed,
  { prunedUntil }: FoldedHead,
): Promise<ChangedEntries> {
  const found = await context.sql.all(
    readableSessions(context, [sessionId])
      .innerJoin('removed_entry as r', (join) =>
        join.on(sql<SqlBool>`r.session_id = s.id and r.organization_id = s.organization_id`),
      )
      .where(sql<SqlBool>`r.id between ${seen.removedUntil}::bigint and ${seen.lastEventId}::bigint`)
      .select(['r.id', 'r.kind', 'r.next_id as nextId', 's.id as sessionId'])
      .orderBy('r.id')
      .limit(MAX_ENTRIES),
  );
  const places = found.flatMap(({ nextId: id }) => (id === null ? [] : [{ sessionId, id }]));
  const wanted = { sessionIds: [sessionId], isWanted: isAt(places), limit: MAX_ENTRIES, filter };
  const entries = places.length === 0 ? [] : (await readEntries(context, wanted)).rows;
  const removedUntil = found.length < MAX_ENTRIES ? prunedUntil : (found.at(-1)?.id ?? prunedUntil) + 1;
  return { entries, removed: found, seen: { ...seen, removedUntil }, hasMore: true, isEnded: false };
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
    const { reader } = await foldSessions(context.sql, sessionIds, callerOf(context.actor));
    const rows = await reader.all(
      readableSessions(context, sessionIds)
        .innerJoin('session_fold as f', (join) =>
          join.on(sql<SqlBool>`f.session_id = s.id and f.organization_id = s.organization_id`),
        )
        .select(['s.id', sql<number>`(f.memory::json ->> 'turn')::int`.as('turns')]),
    );
    return new Map(rows.map(({ id, turns }) => [id, turns]));
  };
}

/** The entries with these keys, each `session:entry`, in sessions that the caller can read. */
function entriesAt(context: OperationContext, keys: readonly string[]) {
  const places = keys.map((key) => key.split(':'));
  const wanted = sql<object>`unnest(${listOf(
    'uuid',
    places.map(([sessionId = '']) => sessionId),
  )}, ${listOf(
    'bigint',
    places.map(([, id]) => Number(id)),
  )})`;
  return db
    .selectFrom(wanted.as<'k'>(sql`k(session_id, id)`))
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
  const paged = plan.apply(
    db
      .selectFrom('session_event as e')
      .where('e.session_id', '=', sql<SessionId>`n.session_id`)
      .where('e.organization_id', '=', sql<never>`n.organization_id`)
      .where(sql<SqlBool>`e.id >= lower(n.events) and e.id < upper(n.events) and n.events @> e.id`)
      .select(['e.id', 'e.session_id as sessionId', 'e.created_at as createdAt', 'e.event_type as eventType'])
      .select(['e.message_id as messageId', 'e.provider'])
      .select(context.sql.isTransaction ? sql`e.event_data::text`.as('eventData') : sql`e.event_data`.as('eventData')),
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

const EVENT_ORDERINGS = orderingsBy<Pick<SessionEventRow, 'id'>>({
  name: () => 'SESSION_EVENT',
  keys: [{ property: 'id', sql: 'e.id', type: 'bigint' }],
  prefix: ['e.session_id'],
  form: ID_CURSORS,
});
