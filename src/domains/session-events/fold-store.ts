import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { groupBy } from '../../core/arrays.ts';
import type { OrganizationId, SessionId } from '../../core/ids.ts';
import { isObject } from '../../core/is-object.ts';
import type { OperationContext } from '../../core/operation.ts';
import { listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { WorkSlices } from '../../core/work-budget.ts';
import { type Caller, type SessionTables, callerOf, readableBy } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { type EntryChange, EntryFold } from './entry-fold.ts';
import { ANEW, NO_MEMORY } from './fold-memory.ts';

/**
 * Folds the events of sessions into stored entries, behind their recording: one statement reads what is not folded, and another one writes the
 * entries and how far they go, once, whichever processes try. Who reads entries folds what is left first.
 */

/** Who reads entries folds at most so many events of a session first, and an append leaves no more to fold. */
export const MAX_EVENTS = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;
/** Pages of many bytes have few events. */
const MAX_ROUNDS = 100;

const db = queriesOn<SessionEventTables & SessionTables>();

interface UnfoldedRow {
  readonly sessionId: SessionId;
  readonly organizationId: OrganizationId;
  readonly lastId: number;
  readonly isClosed: boolean;
  readonly endedId: number | null;
  readonly endedAt: string | null;
  readonly updatedAt: string;
  readonly foldedId: number | null;
  readonly closedId: number | null;
  readonly version: number | null;
  readonly prunedUntil: number;
  readonly superseded: number | null;
  /** In the first row of a session. */
  readonly memory: string | null;
  /** Null for a session without more events. */
  readonly id: number | null;
  readonly createdAt: string;
  readonly messageId: string | null;
  readonly eventData: unknown;
  readonly isSuperseded: boolean | null;
}

/** How far the entries of a session go. */
export interface FoldedHead {
  readonly isClosed: boolean;
  readonly lastId: number;
  /** The last event before the last end of the session that the entries know of. */
  readonly closedId: number;
  /** Whether all events are folded. */
  readonly isComplete: boolean;
  readonly prunedUntil: number;
  /** How many superseded events the entries leave out. */
  readonly superseded: number;
}

export interface FoldedSessions {
  readonly heads: ReadonlyMap<SessionId, FoldedHead>;
  /** Reads what was written: a replica may not have it yet. */
  readonly reader: Sql;
}

/** Folds the next events of the sessions: of those that the caller can read, or of any. @returns how far they are then. */
export async function foldSessions(
  reader: Sql,
  sessionIds: readonly SessionId[],
  caller?: Caller,
): Promise<FoldedSessions> {
  const heads = new Map<SessionId, FoldedHead>();
  const counts = new Map<SessionId, number>();
  let [left, from] = [sessionIds, reader];
  const most = sessionIds.length + MAX_ROUNDS;
  for (let round = 0; left.length > 0 && round < most; round += 1) {
    const { rows, isCut } = await from.page(eventsLeft(left, caller, reader.isTransaction), {
      isJson: true,
      isAnswered: false,
      maxBytes: MAX_BYTES,
    });
    const found = [...groupBy(rows, (row) => row.sessionId)];
    const folds: Folded[] = [];
    for (const [index, [id, ofSession]] of found.entries()) {
      const some = ofSession.slice(0, MAX_EVENTS - (counts.get(id) ?? 0));
      folds.push(await foldOf(some, some.length < ofSession.length || (isCut && index === found.length - 1)));
    }
    const changed = folds.filter(({ hasChanged }) => hasChanged);
    // Nothing is written where others have folded or pruned meanwhile: it is read again.
    const written = changed.length > 0 ? await write((from = reader.primary), changed) : new Set();
    for (const { row, count, superseded, closedId, isComplete, hasChanged } of folds) {
      const { sessionId, isClosed, lastId, prunedUntil } = row;
      const isDone = isComplete && (!hasChanged || written.has(sessionId));
      if (written.has(sessionId)) counts.set(sessionId, (counts.get(sessionId) ?? 0) + count);
      heads.set(sessionId, { isClosed, lastId, closedId, prunedUntil, superseded, isComplete: isDone });
    }
    left = left.filter((id) => {
      const head = heads.get(id);
      return head ? !head.isComplete && (counts.get(id) ?? 0) < MAX_EVENTS : isCut;
    });
  }
  return { heads, reader: from };
}

function eventsLeft(sessionIds: readonly SessionId[], caller: Caller | undefined, isText: boolean) {
  const data: RawBuilder<unknown> = isText ? sql`event_data::text` : sql`event_data`;
  const isReadable = caller ? sql<SqlBool>`${within(readableBy(caller), 's')}` : sql<SqlBool>`true`;
  const events = sql<object>`(select x.*, row_number() over (order by x.id) as place from (
    select id, created_at, message_id, is_superseded, ${data} as event_data from session_event
    where session_id = s.id and organization_id = s.organization_id and id > coalesce(f.folded_id, 0) and st.last_id > coalesce(f.folded_id, 0)
    order by id limit ${sql.lit(MAX_EVENTS)}) as x)`;
  return db
    .selectFrom('session as s')
    .innerJoin('session_stream as st', (join) =>
      join.onRef('st.session_id', '=', 's.id').onRef('st.organization_id', '=', 's.organization_id'),
    )
    .leftJoin('session_fold as f', (join) =>
      join.onRef('f.session_id', '=', 's.id').onRef('f.organization_id', '=', 's.organization_id'),
    )
    .leftJoinLateral(events.as<'e'>(sql`e`), (join) => join.onTrue())
    .where(sql<SqlBool>`s.id = any(${listOf('uuid', sessionIds)})`)
    .where(isReadable)
    .select(['s.id as sessionId', 's.organization_id as organizationId', 'st.last_id as lastId'])
    .select([
      'st.is_closed as isClosed',
      'st.ended_id as endedId',
      'st.ended_at as endedAt',
      's.updated_at as updatedAt',
    ])
    .select(['f.folded_id as foldedId', 'f.closed_id as closedId', 'f.version as version'])
    .select([sql`coalesce(f.pruned_until, 0)`.as('prunedUntil'), 'f.superseded as superseded'])
    .select(sql`case when coalesce(e.place, 1) = 1 then f.memory end`.as('memory'))
    .select([sql`e.id`.as('id'), sql`e.created_at`.as('createdAt'), sql`e.message_id`.as('messageId')])
    .select([sql`e.event_data`.as('eventData'), sql`e.is_superseded`.as('isSuperseded')])
    .orderBy('s.id')
    .orderBy(sql`e.id`)
    .$castTo<UnfoldedRow>();
}

interface Folded {
  readonly row: UnfoldedRow;
  readonly count: number;
  readonly superseded: number;
  readonly changes: readonly EntryChange[];
  readonly memory: string;
  readonly foldedId: number;
  readonly closedId: number;
  readonly endedAt: string | null;
  readonly hasChanged: boolean;
  readonly isComplete: boolean;
  readonly isAnew?: true;
}

async function foldOf(rows: readonly UnfoldedRow[], isCut: boolean): Promise<Folded> {
  const row = rows[0] as UnfoldedRow;
  if (row.superseded === ANEW) return anew(row);
  const fold = new EntryFold(row.memory);
  const slices = new WorkSlices();
  const end = endOf(row);
  let isEnded = end === undefined;
  const finish = () => {
    if (!isEnded && end) fold.end(end.id, end.at);
    isEnded = true;
  };
  let foldedId = row.foldedId ?? 0;
  let superseded = row.superseded ?? 0;
  for (const { id, createdAt, messageId, eventData, isSuperseded } of rows) {
    if (id === null) break;
    foldedId = id;
    if (isSuperseded === true) {
      superseded += 1;
      continue;
    }
    if (slices.isOver()) await slices.pause();
    if (end && id > end.id) finish();
    const data: unknown = typeof eventData === 'string' ? JSON.parse(eventData) : eventData;
    fold.add({ id, createdAt, messageId, data: isObject(data) ? data : {} });
  }
  const isComplete = !isCut && (rows.length < MAX_EVENTS || foldedId >= row.lastId);
  // Events that were pruned are not folded.
  if (isComplete) foldedId = Math.max(foldedId, row.lastId);
  if (end && foldedId >= end.id) finish();
  const closedId = end && isEnded ? end.id : (row.closedId ?? 0);
  return {
    row,
    count: rows.length,
    superseded,
    changes: [...fold.changes.values()],
    memory: fold.memory,
    foldedId,
    closedId,
    endedAt: closedId > (row.closedId ?? 0) ? (end?.at ?? null) : null,
    hasChanged: foldedId > (row.foldedId ?? 0) || closedId > (row.closedId ?? 0),
    isComplete,
  };
}

/** Nothing is folded. */
const anew = (row: UnfoldedRow): Folded => ({
  row,
  count: 0,
  superseded: 0,
  changes: [],
  memory: NO_MEMORY,
  foldedId: 0,
  closedId: 0,
  endedAt: null,
  hasChanged: true,
  isComplete: false,
  isAnew: true,
});

/** The end of the session of which the entries do not know yet. Processes of 1.0 do not say where it is. */
function endOf(row: UnfoldedRow): { readonly id: number; readonly at: string } | undefined {
  const { isClosed, lastId, endedId, endedAt, updatedAt, closedId } = row;
  const isKnown = endedId !== null && endedAt !== null && (!isClosed || endedId === lastId);
  const end = isKnown ? { id: endedId, at: endedAt } : isClosed ? { id: lastId, at: updatedAt } : undefined;
  return end && end.id > (closedId ?? 0) ? end : undefined;
}

const CHANGE_COLUMNS = `s uuid, o uuid, id bigint, kind text, turn int, started_at timestamptz, subagent_id text, call_id text,
  last_event_id bigint, is_ended boolean, ended_at timestamptz, failed int8multirange, is_final boolean, tool_name text, model text,
  starts_subagent boolean, events int8multirange, parts int8multirange, is_whole boolean, output_id bigint, closed_with bigint`;

/** The session is locked until the commit, so that its deletion finds what is written. */
const WRITE = `with given as (
    select * from json_to_recordset($1::json) as g(s uuid, o uuid, version bigint, folded bigint, closed bigint, memory text, superseded int, is_anew boolean)
  ), present as (
    select g.* from given g join session se on se.id = g.s and se.organization_id = g.o order by g.s for key share of se
  ), head as (
    insert into session_fold (session_id, organization_id, folded_id, closed_id, version, memory, superseded)
    select s, o, folded, closed, version, memory, superseded from present
    on conflict (session_id, organization_id) do update set folded_id = excluded.folded_id, closed_id = excluded.closed_id,
      version = excluded.version, memory = excluded.memory, superseded = excluded.superseded where session_fold.version = excluded.version - 1
    returning session_id
  ), anew as (
    delete from session_entry e using given g join head on head.session_id = g.s where g.is_anew and e.session_id = g.s and e.organization_id = g.o
    returning e.session_id, e.id, e.organization_id, e.kind, e.events
  ), gone as (
    insert into removed_entry (session_id, id, organization_id, kind, next_id)
    select a.session_id, a.id, a.organization_id, a.kind, (select min(l.id) from session_event l where l.session_id = a.session_id
      and l.organization_id = a.organization_id and l.id > a.id and l.id < upper(a.events) and a.events @> l.id and l.is_superseded is not true)
    from anew a join session_event o on o.session_id = a.session_id and o.organization_id = a.organization_id and o.id = a.id
    where o.is_superseded on conflict do nothing
  ), change as (
    select c.* from json_to_recordset($2::json) as c(${CHANGE_COLUMNS}) join head on head.session_id = c.s
  ), begun as (
    insert into session_entry (session_id, id, organization_id, kind, turn, started_at, ended_at, last_event_id, is_failed, failed_events,
      is_final, starts_subagent, subagent_id, call_id, tool_name, model, events, parts, output_id, closed_with)
    select s, id, o, kind, turn, started_at, ended_at, last_event_id, failed is not null, failed,
      coalesce(is_final, false), coalesce(starts_subagent, false), subagent_id, call_id, tool_name, model, events, parts, output_id, closed_with
    from change where kind is not null
  ), grown as (
    update session_entry e set
      last_event_id = coalesce(c.last_event_id, e.last_event_id),
      ended_at = case when c.is_ended is null then e.ended_at else c.ended_at end,
      is_failed = e.is_failed or c.failed is not null, failed_events = coalesce(e.failed_events + c.failed, c.failed, e.failed_events),
      is_final = coalesce(c.is_final, e.is_final),
      starts_subagent = e.starts_subagent or coalesce(c.starts_subagent, false),
      tool_name = coalesce(c.tool_name, e.tool_name),
      model = coalesce(c.model, e.model),
      events = e.events + c.events,
      parts = case when c.is_whole then c.parts else e.parts + c.parts end,
      output_id = coalesce(c.output_id, e.output_id),
      closed_with = coalesce(c.closed_with, e.closed_with)
    from change c where c.kind is null and e.session_id = c.s and e.organization_id = c.o and e.id = c.id
  ) select session_id from head`;

/** Entries of which nothing is remembered end with the session, too. */
const CLOSE = `update session_entry e set ended_at = g.at, closed_with = g.closed
  from json_to_recordset($1::json) as g(s uuid, o uuid, closed bigint, at timestamptz)
  where e.session_id = g.s and e.organization_id = g.o and e.id <= g.closed and e.ended_at is null`;

/** @returns the sessions whose folds were written */
async function write(writer: Sql, folds: readonly Folded[]): Promise<ReadonlySet<SessionId>> {
  const heads = folds.map(({ row, foldedId, closedId, memory, superseded, isAnew = false }) => ({
    s: row.sessionId,
    o: row.organizationId,
    version: (row.version ?? 0) + 1,
    folded: foldedId,
    closed: closedId,
    memory,
    superseded,
    is_anew: isAnew,
  }));
  const changes = folds.flatMap(({ row, changes: ofSession }) => ofSession.map((change) => changeRow(row, change)));
  const written = await writer.query<{ session_id: SessionId }>(WRITE, [
    JSON.stringify(heads),
    JSON.stringify(changes),
  ]);
  const ids = new Set(written.map((head) => head.session_id));
  const ended = folds
    .filter(({ row, endedAt }) => endedAt !== null && ids.has(row.sessionId))
    .map(({ row, closedId, endedAt }) => ({ s: row.sessionId, o: row.organizationId, closed: closedId, at: endedAt }));
  if (ended.length > 0) await writer.query(CLOSE, [JSON.stringify(ended)]);
  return ids;
}

function changeRow(
  { sessionId, organizationId }: UnfoldedRow,
  { id, begin, lastEventId, endedAt, failed, isFinal, toolName, model, startsSubagent, ...rest }: EntryChange,
) {
  return {
    s: sessionId,
    o: organizationId,
    id,
    ...(begin && {
      kind: begin.kind,
      turn: begin.turn,
      started_at: begin.startedAt,
      subagent_id: begin.subagentId,
      call_id: begin.callId,
    }),
    last_event_id: lastEventId,
    ...(endedAt !== undefined && { is_ended: endedAt !== null, ended_at: endedAt }),
    failed: failed && rangesOf(failed),
    is_final: isFinal,
    tool_name: toolName,
    model,
    starts_subagent: startsSubagent,
    events: rangesOf(rest.events),
    parts: rangesOf(rest.parts),
    is_whole: rest.isWhole,
    output_id: rest.outputId,
    closed_with: rest.closedWith,
  };
}

/** Ascending ids as the text of an `int8multirange`. */
function rangesOf(ids: readonly number[]): string {
  const ranges: [from: number, until: number][] = [];
  for (const id of ids) {
    const last = ranges.at(-1);
    if (last?.[1] === id) last[1] = id + 1;
    else ranges.push([id, id + 1]);
  }
  return `{${ranges.map(([from, until]) => `[${from},${until})`).join(',')}}`;
}

export const IS_BEHIND = sql<boolean>`(st.last_id > coalesce(f.folded_id, 0) or coalesce(f.superseded, 0) = ${sql.lit(ANEW)}
  or case when st.is_closed then st.last_id else coalesce(st.ended_id, 0) end > coalesce(f.closed_id, 0))`;

/**
 * Whether the entries of the session `s` lack events, or do not know its end: joined, because PostgreSQL would ask for each row of a page what is
 * selected.
 */
export const BEHIND = sql<{ isBehind: boolean }>`(select coalesce((select ${IS_BEHIND} from session_stream st
  left join session_fold f on f.session_id = st.session_id and f.organization_id = st.organization_id
  where st.session_id = s.id and st.organization_id = s.organization_id), false) as "isBehind" offset 0)`.as<'b'>(
  sql`b`,
);

/** What is read of a session with {@link BEHIND}. */
export const OF_SESSION = [
  sql<SessionId>`s.id`.as('ownSessionId'),
  sql<boolean>`b."isBehind"`.as('isBehind'),
  sql<boolean>`s.visibility = 'private'`.as('isPrivate'),
] as const;

interface RowOfSession {
  readonly ownSessionId: SessionId;
  readonly isBehind: boolean;
  readonly isPrivate: boolean;
}

/** Reads rows of sessions; those whose entries are behind are folded, and then all are read again. */
export async function readFolded<Found extends { readonly rows: readonly RowOfSession[] }>(
  { sql: reader, actor }: OperationContext,
  read: (reader: Sql) => Promise<Found>,
): Promise<Found> {
  const found = await read(reader);
  const behind = new Set(found.rows.flatMap(({ isBehind, ownSessionId }) => (isBehind ? [ownSessionId] : [])));
  if (behind.size === 0) return found;
  return read((await foldSessions(reader, [...behind], callerOf(actor))).reader);
}

/** Folds all that is left of sessions. */
export async function foldAll(
  reader: Sql,
  sessionIds: readonly SessionId[],
  { caller, signal }: { readonly caller?: Caller; readonly signal?: AbortSignal | undefined } = {},
): Promise<void> {
  for (let left = sessionIds; left.length > 0 && signal?.aborted !== true;) {
    const { heads } = await foldSessions(reader.primary, left, caller);
    left = left.filter((id) => heads.get(id)?.isComplete === false);
  }
}
