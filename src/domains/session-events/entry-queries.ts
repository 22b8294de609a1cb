import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { requireAccess } from '../../core/access.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { type SessionId, isUuid } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { counted } from '../../core/postgres/reading/counts.ts';
import { type Page, type PageArguments, PagePlan, orderingsBy } from '../../core/postgres/reading/keyset.ts';
import { pagesByParent } from '../../core/postgres/reading/pages.ts';
import { type Readable, type RowOf, listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { READ_SESSIONS, type SessionTables, callerOf, readableBy, recordPrivateReads } from '../sessions/public.ts';
import { ID_CURSORS } from './cursor.ts';
import { type EntryContent, contentOf } from './entry-content.ts';
import { kindOf } from './event-kind.ts';
import type { SessionEventTables } from './entity.ts';
import { BEHIND, OF_SESSION, readFolded } from './fold-store.ts';
import { MAX_ENTRIES, type SessionEntryFilter } from './input.ts';
import { hasPhrases } from './search-windows.ts';

/** Reads entries, with their texts: one statement for the pages of all sessions, after what is left was folded. */

/** Entries that one event, or the end of a session, has changed. */
export const MAX_TOGETHER = 10_000;

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
/** With `offset 0` each range is looked up, whatever PostgreSQL expects: it must not read the whole session for each entry. */
const CONTENTS = sql<
  string | null
>`(select json_agg(json_build_array(e.id, e.provider, e.event_data, n.parts @> e.id) order by e.id)::text
  from unnest(n.parts + ${outputOf}) as r cross join lateral (select o.id, o.provider, o.event_data from session_event o
    where o.session_id = n.session_id and o.organization_id = n.organization_id and o.id >= lower(r) and o.id < upper(r) offset 0) as e)`;

/** The first entry of these turns, or 0: an entry that has lost its first events can follow later turns. Null if there is none. */
const firstOf = (turn: number) => sql<number>`(select case when exists (select from session_fold f
    where f.session_id = s.id and f.organization_id = s.organization_id and f.pruned_until > 0) then 0 else (select min(t.id) from (select t.id
    from session_entry t where t.session_id = s.id and t.organization_id = s.organization_id and t.turn >= ${turn}::int
    order by t.turn, t.id limit 1) as t) end)`;

/** Its entries are found by the index of turns. */
const isOneTurn = ({ turnFrom, turnBefore }: SessionEntryFilter) => turnFrom != null && turnBefore === turnFrom + 1;

type Conditions = {
  readonly [Name in keyof Required<SessionEntryFilter>]: (
    given: NonNullable<SessionEntryFilter[Name]>,
    filter: SessionEntryFilter,
  ) => RawBuilder<SqlBool>;
};
const CONDITIONS: Conditions = {
  kinds: (given) => sql`n.kind = any(${listOf('text', given)})`,
  isFailed: (given) => (given ? sql`n.is_failed` : sql`not n.is_failed`),
  toolNames: (given) => sql`n.tool_name = any(${listOf('text', given)})`,
  subagentIds: (given) => sql`n.subagent_id = any(${listOf('text', given)})`,
  turnFrom: (given, filter) =>
    isOneTurn(filter) ? sql`n.turn = ${given}::int` : sql`n.turn >= ${given}::int and n.id >= ${firstOf(given)}`,
  // By the order of the page, and not by the index of turns, after which all would be sorted. A subagent can go on in later turns.
  turnBefore: (given, filter) => (isOneTurn(filter) ? sql`true` : sql`n.turn + 0 < ${given}::int`),
  // Of the session alone, so that its texts are searched once and not for each entry.
  search: (given) =>
    sql`n.events && coalesce((select range_agg(int8range(t.event_id, t.event_id, '[]')) from session_text as t
      where t.session_id = s.id and t.organization_id = s.organization_id and ${hasPhrases(sql`t.document`, sql`${given}`)}), '{}')`,
};

export const readableSessions = (context: OperationContext, sessionIds: readonly SessionId[]) =>
  db
    .selectFrom('session as s')
    .innerJoinLateral(BEHIND, (join) => join.onTrue())
    .where(sql<SqlBool>`s.id = any(${listOf('uuid', sessionIds)})`)
    .where(within(readableBy(callerOf(context.actor)), 's'))
    .select(OF_SESSION);

function entriesOf(filter: SessionEntryFilter, isMore: RawBuilder<SqlBool> = sql`true`) {
  let found = db
    .selectFrom('session_entry as n')
    .where('n.session_id', '=', sql<SessionId>`s.id`)
    .where('n.organization_id', '=', sql<never>`s.organization_id`)
    .where(isMore);
  for (const [name, condition] of Object.entries(CONDITIONS)) {
    const given = filter[name as keyof SessionEntryFilter];
    // Each condition takes the value of its name.
    if (given != null) found = found.where((condition as (...given: unknown[]) => RawBuilder<SqlBool>)(given, filter));
  }
  return found;
}

const withContents = (found: ReturnType<typeof entriesOf>) =>
  found.select(COLUMNS.map((name) => `n.${name}` as const)).select(CONTENTS.as('contents'));

type PageRow = Omit<FoundEntry, 'sessionId'>;

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
  if (!isUuid(id)) return undefined;
  const sessionId = id.toLowerCase() as SessionId;
  try {
    return name === undefined
      ? { sessionId }
      : { sessionId, subagentId: decodeURIComponent(name).replaceAll('\0', '') };
  } catch {
    return undefined;
  }
}

type OwnedRow = PageRow & {
  readonly ownSessionId: SessionId;
  readonly isBehind: boolean;
  readonly isPrivate: boolean;
  readonly ownerId: string;
};

/** Rows of sessions, each with a value. */
const unnested = <Row = object>(sessionIds: readonly SessionId[], values: RawBuilder<unknown>) =>
  sql<Row>`unnest(${listOf('uuid', sessionIds)}, ${values})`;

/** The owners in sessions that the caller can read. */
function amongOwners(context: OperationContext, keys: readonly string[]) {
  const some = keys.flatMap((key) => ownerOf(key) ?? []);
  const sessionIds = some.map(({ sessionId }) => sessionId);
  const subagentIds = some.map(({ subagentId = '' }) => subagentId);
  return db
    .selectFrom(
      unnested<{ subagent_id: string }>(sessionIds, listOf('text', subagentIds)).as<'k'>(
        sql`k(session_id, subagent_id)`,
      ),
    )
    .innerJoin('session as s', (join) => join.on(sql<SqlBool>`s.id = k.session_id`))
    .innerJoinLateral(BEHIND, (join) => join.onTrue())
    .where(within(readableBy(callerOf(context.actor)), 's'))
    .select(OF_SESSION)
    .select('k.subagent_id as ownerId');
}

const isOfSubagents = (keys: readonly string[]) => keys.some((key) => ownerOf(key)?.subagentId !== undefined);
const entriesOfOwner = (keys: readonly string[], filter: SessionEntryFilter) =>
  entriesOf(filter, isOfSubagents(keys) ? sql<SqlBool>`n.subagent_id = k.subagent_id` : undefined);
const keyOfOwner = (
  { ownSessionId: sessionId, ownerId: subagentId }: Pick<OwnedRow, 'ownSessionId' | 'ownerId'>,
  keys: readonly string[],
) => ownerKey(isOfSubagents(keys) ? { sessionId, subagentId } : { sessionId });

const recordReads = (
  context: OperationContext,
  rows: readonly Pick<OwnedRow, 'ownSessionId' | 'isPrivate'>[],
): Promise<void> =>
  recordPrivateReads(
    context,
    rows.flatMap(({ ownSessionId, isPrivate }) => (isPrivate ? [ownSessionId] : [])),
  );

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
    const paged = plan.apply(withContents(entriesOfOwner(keys, filter)));
    const read = async (left: readonly string[]) => {
      const owned = amongOwners(context, left)
        .leftJoinLateral(sql<object>`${paged}`.as<'page'>(sql`page`), (join) => join.onTrue())
        .select(sql`page.*` as never)
        .$castTo<OwnedRow>();
      const { rows, isCut } = await readFolded(context, (reader) => reader.page(owned, { maxBytes }));
      await recordReads(context, rows);
      return { rows: rows.map((row) => ({ ...entryOf(row), key: keyOfOwner(row, keys) })), isCut };
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
    const count = counted(entriesOfOwner(keys, filter)).as('count');
    const query = amongOwners(context, keys).select(count);
    const { rows } = await readFolded(context, async (reader) => ({ rows: await reader.all(query) }));
    return new Map(rows.map((row) => [keyOfOwner(row, keys), row.count ?? 0]));
  };
}

/** Those of the subagents that are in sessions which the caller can read. */
export async function findSubagents(
  context: OperationContext,
  keys: readonly string[],
): Promise<Required<EntryOwner>[]> {
  requireAccess(context.actor, READ_SESSIONS);
  const isThere = sql<boolean>`exists (${entriesOfOwner(keys, {}).select('n.id')})`.as('isThere');
  const query = amongOwners(context, keys).select(isThere);
  const { rows } = await readFolded(context, async (reader) => ({ rows: await reader.all(query) }));
  return rows.flatMap((row) => (row.isThere ? [{ sessionId: row.ownSessionId, subagentId: row.ownerId }] : []));
}

export interface EntryPlace {
  readonly sessionId: SessionId;
  readonly id: number;
}

const sessionsOf = (places: readonly { readonly sessionId: SessionId }[]) => [
  ...new Set(places.map(({ sessionId }) => sessionId)),
];

/** The entries with these keys that the caller can read. */
export const findEntries = (context: OperationContext, places: readonly EntryPlace[]): Promise<EntryRow[]> =>
  findRows(context, { sessionIds: sessionsOf(places), isWanted: isAt(places), limit: places.length });

export async function findRows(context: OperationContext, wanted: Omit<Wanted, 'reader'>): Promise<EntryRow[]> {
  requireAccess(context.actor, READ_SESSIONS);
  const { rows } = await readFolded(context, (reader) => readRows(context, { ...wanted, reader }));
  await recordReads(context, rows);
  return entriesIn(rows);
}

/** The rows of these places. */
export function rowsAt(places: readonly EntryPlace[]) {
  const sessionIds = places.map(({ sessionId }) => sessionId);
  const ids = places.map(({ id }) => id);
  return unnested(sessionIds, listOf('bigint', ids));
}

export const isAt = (places: readonly EntryPlace[]) =>
  sql<SqlBool>`(n.session_id, n.id) in (select * from ${rowsAt(places)})`;

/** The calls that have started these subagents, by session and id. */
export function findCalls(context: OperationContext, calls: readonly Required<EntryOwner>[]): Promise<EntryRow[]> {
  const sessionIds = calls.map(({ sessionId }) => sessionId);
  const callIds = calls.map(({ subagentId }) => subagentId);
  const isWanted = sql<SqlBool>`n.call_id is not null and n.starts_subagent and (n.session_id, n.call_id) in (select * from ${unnested(sessionIds, listOf('text', callIds))})`;
  return findRows(context, { sessionIds: sessionsOf(calls), isWanted, limit: MAX_TOGETHER });
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

/** The entries of each session, and a row without an entry for one that has none of these. */
function readRows(
  context: OperationContext,
  { reader = context.sql, sessionIds, isWanted, limit, filter = {}, order = sql`n.session_id, n.id` }: Wanted,
) {
  const found = withContents(entriesOf(filter, isWanted)).orderBy(order).limit(limit);
  return reader.page(
    readableSessions(context, sessionIds)
      .leftJoinLateral(sql<object>`(${found})`.as<'page'>(sql`page`), (join) => join.onTrue())
      .select(sql`page.*` as never)
      .$castTo<Omit<OwnedRow, 'ownerId'>>(),
  );
}

const entriesIn = (rows: readonly Omit<OwnedRow, 'ownerId'>[]): EntryRow[] =>
  rows.flatMap((row) => (row.id === null ? [] : [entryOf(row)]));

export async function readEntries(context: OperationContext, wanted: Wanted) {
  const { rows, isCut } = await readRows(context, wanted);
  await recordReads(context, rows);
  return { rows: entriesIn(rows), isCut };
}

type Content = readonly [id: number, provider: string, data: Readonly<Record<string, unknown>>, isPart: boolean];

function entryOf({ contents, ownSessionId: sessionId, ...row }: Omit<OwnedRow, 'ownerId'>): EntryRow {
  const { kind, startedAt, endedAt, outputId } = row;
  const events = JSON.parse(contents ?? '[]') as readonly Content[];
  const parts = events.flatMap(([, , data, isPart]) => (isPart ? [data] : []));
  const output = events.find(([id]) => id === outputId)?.[2];
  const hasResult = endedAt !== null && output !== undefined && kindOf(output) === 'result';
  return {
    ...row,
    sessionId,
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
    const query = readableSessions(context, sessionIds)
      .leftJoin('session_fold as f', (join) =>
        join.onRef('f.session_id', '=', 's.id').onRef('f.organization_id', '=', 's.organization_id'),
      )
      .select(sql<number | null>`(f.memory::json ->> 'turn')::int`.as('turns'));
    const { rows } = await readFolded(context, async (reader) => ({ rows: await reader.all(query) }));
    return new Map(rows.map(({ ownSessionId, turns }) => [ownSessionId, turns ?? 0]));
  };
}
