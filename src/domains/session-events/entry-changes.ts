import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { listOf } from '../../core/postgres/reading/queries.ts';
import { callerOf } from '../sessions/public.ts';
import type { EntryKind } from './entry-fold.ts';
import { type EntryPlace, type EntryRow, MAX_TOGETHER, isAt, readEntries, readableSessions } from './entry-queries.ts';
import { type FoldedHead, foldSessions } from './fold-store.ts';
import { MAX_ENTRIES, type SessionEntryFilter } from './input.ts';

/** Reads what has changed in the entries of a session since a reader has seen them. */

export interface RemovedEntry extends EntryPlace {
  readonly kind: EntryKind;
}

/** What a reader of a session has seen of it. */
export interface SeenEntries {
  /** The last event that was looked at. */
  readonly lastEventId: number;
  /** The reader knows what ends of the session until this event have changed; undefined when it has no entries. */
  readonly closedId: number | undefined;
  /** The reader knows which entries before this id are no more; undefined when it has none. */
  readonly removedUntil: number | undefined;
  /** How many superseded events the reader knows of; undefined when it has no entries. */
  readonly superseded: number | undefined;
  /** Which superseded entries it knows of; undefined when that is not known. */
  readonly knownIds: readonly number[] | undefined;
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
  const { lastEventId: after, closedId = head.closedId } = before;
  const { removedUntil = head.prunedUntil, superseded = head.superseded } = before;
  const seen = { ...before, closedId, removedUntil, superseded };
  if (removedUntil < head.prunedUntil) return prunedEntries(context, { sessionId, seen, filter }, head);
  if (superseded !== head.superseded && head.isComplete)
    return supersededEntries(context, { sessionId, seen, filter }, head);
  const seenAt = (lastEventId: number) => ({ ...seen, lastEventId });
  const { isFailed: wantsFailed, ...others } = filter;
  // One that has failed since leaves those that have not failed.
  const wanted = wantsFailed === false ? others : filter;
  const hasLeft = (entry: EntryRow) => wantsFailed === false && entry.isFailed;
  const changedBy = (isWanted: RawBuilder<SqlBool>, limit: number, order = sql`n.last_event_id, n.id`) =>
    readEntries(context, { sessionIds: [sessionId], isWanted, limit, filter: wanted, order });
  const changed = (rows: readonly EntryRow[]) => ({
    entries: rows.filter((entry) => !hasLeft(entry)),
    removed: rows.filter((entry) => hasLeft(entry) && entry.id <= after),
  });
  const { rows, isCut } = await changedBy(sql<SqlBool>`n.last_event_id > ${after}::bigint`, MAX_ENTRIES + 1);
  const last = rows.at(-1)?.lastEventId ?? after;
  if (isCut || rows.length > MAX_ENTRIES) {
    // Those that one event has changed are sent together.
    const some = rows.filter(({ lastEventId }) => lastEventId < last);
    const [entries, until] =
      some.length > 0
        ? [some, some.at(-1)?.lastEventId ?? after]
        : [(await changedBy(sql<SqlBool>`n.last_event_id = ${last}::bigint`, MAX_TOGETHER)).rows, last];
    return { ...changed(entries), seen: seenAt(until), hasMore: true, isEnded: false };
  }
  if (!head.isComplete) return { ...changed(rows), seen: seenAt(last), hasMore: true, isEnded: false };
  // Those that only an end of the session has changed are sent once more.
  const { isClosed: isEnded, lastId } = head;
  const isClosedSince = sql<SqlBool>`n.closed_with > ${closedId}::bigint and n.last_event_id <= ${after}::bigint`;
  const closed =
    head.closedId > closedId ? (await changedBy(isClosedSince, MAX_TOGETHER, sql`n.closed_with, n.id`)).rows : [];
  const now = { ...seenAt(Math.max(after, lastId)), closedId: Math.max(closedId, head.closedId) };
  return { ...changed([...rows, ...closed]), seen: now, hasMore: false, isEnded };
}

/** The next pruned entries, and what is left of them. */
async function prunedEntries(
  context: OperationContext,
  followed: Followed,
  { prunedUntil }: FoldedHead,
): Promise<ChangedEntries> {
  const { seen } = followed;
  const isNext = sql<SqlBool>`r.id >= ${seen.removedUntil}::bigint`;
  const [found, entries] = await removedEntries(context, followed, isNext, MAX_ENTRIES);
  const removedUntil = found.length < MAX_ENTRIES ? prunedUntil : (found.at(-1)?.id ?? prunedUntil) + 1;
  return { entries, removed: found, seen: { ...seen, removedUntil }, hasMore: true, isEnded: false };
}

/** The next superseded entries, and what is left of them. What follows them can have another turn: it is sent again, but not to who resumes. */
async function supersededEntries(
  context: OperationContext,
  followed: Followed,
  head: FoldedHead,
): Promise<ChangedEntries> {
  const { knownIds, ...seen } = followed.seen;
  const isNew = sql<SqlBool>`r.id <> all(${listOf('bigint', knownIds ?? [])})`;
  const [found, entries] = await removedEntries(context, followed, isNew, MAX_TOGETHER);
  const known = [...(knownIds ?? []), ...found.map(({ id }) => id)];
  const lastEventId = knownIds ? Math.min(seen.lastEventId, (found[0]?.id ?? Infinity) - 1) : seen.lastEventId;
  const next = { ...seen, lastEventId, superseded: head.superseded, knownIds: known };
  return { entries, removed: found, seen: next, hasMore: true, isEnded: false };
}

/** Entries that are no more, among those that the reader can have, and what is left of them. */
async function removedEntries(
  context: OperationContext,
  { sessionId, seen, filter }: Followed,
  isWanted: RawBuilder<SqlBool>,
  limit: number,
): Promise<readonly [RemovedEntry[], readonly EntryRow[]]> {
  const found = await context.sql.all(
    readableSessions(context, [sessionId])
      .innerJoin('removed_entry as r', (join) =>
        join.on(sql<SqlBool>`r.session_id = s.id and r.organization_id = s.organization_id`),
      )
      .where(sql<SqlBool>`r.id <= ${seen.lastEventId}::bigint`)
      .where(isWanted)
      .select(['r.id', 'r.kind', 'r.next_id as nextId'])
      .orderBy('r.id')
      .limit(limit),
  );
  const places = found.flatMap(({ nextId: id }) => (id === null ? [] : [{ sessionId, id }]));
  const wanted = { sessionIds: [sessionId], isWanted: isAt(places), limit, filter };
  const entries = places.length === 0 ? [] : (await readEntries(context, wanted)).rows;
  return [found.map(({ id, kind }) => ({ sessionId, id, kind })), entries];
}
