import { invalid } from '../../core/errors.ts';
import type { PageArguments } from '../../core/keyset.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Timestamp, toIsoString } from '../../core/sql.ts';
import { readableSql } from '../sessions/operations.ts';
import { cursorId } from './cursor.ts';
import { MAX_PAGE, type SessionEventFilter } from './input.ts';

/**
 * The read path of events, the same for both doors and the live tail: one statement finds the session, checks that the caller may read it,
 * and gives the page. Rows go to the wire without entities, and `eventData` as the text it was recorded as.
 */

/** An event as it is read. `eventData` is JSON text. */
export interface SessionEventRow {
  readonly id: number;
  readonly sessionId: string;
  readonly createdAt: Timestamp;
  readonly eventType: string;
  readonly messageId: string | null;
  readonly provider: string;
  readonly eventData: string;
}

/** Which events: those between two ids, both exclusive, from either end. */
export interface SessionEventWindow {
  readonly after?: number | null;
  readonly before?: number | null;
  readonly limit: number;
  readonly backward?: boolean;
}

type JoinedRow = { readonly [Column in keyof SessionEventRow]: SessionEventRow[Column] | null };

/** A page ends with the event that reaches this many bytes of data, whatever its limit: a thousand of 1 MiB would be more than a process can hold. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024;

export interface SessionEventSlice {
  /** In ascending order. */
  readonly events: readonly SessionEventRow[];
  /** Whether it ends at its limit, or at what a page may have in bytes, so that more may follow. */
  readonly isFull: boolean;
}

/** Undefined when there is no such session that the caller may read. */
export async function findEventRows(
  context: OperationContext,
  sessionId: string,
  filter: SessionEventFilter,
  { after, before, limit, backward = false }: SessionEventWindow,
): Promise<SessionEventSlice | undefined> {
  const values: unknown[] = [sessionId];
  const reach = readableSql(context.actor, values);
  const where = conditions(filter, values);
  if (after != null) where.push(`e.id > $${values.push(after)}::bigint`);
  if (before != null) where.push(`e.id < $${values.push(before)}::bigint`);
  const direction = backward ? 'desc' : 'asc';
  // The outer join gives one row of nulls for a session without such events, and none where there is no session. `session_id` is compared
  // with the parameter itself, so that the planner picks the partition and its primary key.
  const rows = await context.sql.query<JoinedRow>(
    `select e.id::int8 as id, e.created_at as "createdAt", e.event_type as "eventType", e.message_id as "messageId", e.provider, e."eventData"
      from session s left join lateral (
        select * from (
          select *, sum(octet_length("eventData")) over (order by id ${direction} rows between unbounded preceding and 1 preceding) as before
          from (
            select *, event_data::text as "eventData" from session_event e where ${['e.session_id = $1', ...where].join(' and ')}
            order by e.session_id ${direction}, e.id ${direction} limit $${values.push(limit)}
          ) e
        ) e where before is null or before < ${MAX_PAGE_BYTES}
      ) e on true
      where s.id = $1 and ${reach}`,
    values,
  );
  if (rows.length === 0) return undefined;
  const events = rows.flatMap((row) => (row.id === null ? [] : [toEventRow(row, sessionId)]));
  return { events: backward ? events.toReversed() : events, isFull: events.length === limit || isCut(events) };
}

/** How many events fit the filter. Undefined when there is no such session that the caller may read. */
export async function countEventRows(
  context: OperationContext,
  sessionId: string,
  filter: SessionEventFilter,
): Promise<number | undefined> {
  const values: unknown[] = [sessionId];
  const reach = readableSql(context.actor, values);
  const where = ['e.session_id = $1', ...conditions(filter, values)].join(' and ');
  const [row] = await context.sql.query<{ count: number }>(
    `select (select count(*)::int from session_event e where ${where}) as count from session s where s.id = $1 and ${reach}`,
    values,
  );
  return row?.count;
}

function isCut(events: readonly SessionEventRow[]): boolean {
  return events.reduce((sum, { eventData }) => sum + Buffer.byteLength(eventData), 0) >= MAX_PAGE_BYTES;
}

/** The driver gives `bigint` as text. */
function toEventRow(row: JoinedRow, sessionId: string): SessionEventRow {
  return { ...(row as SessionEventRow), id: Number(row.id), sessionId };
}

function conditions(filter: SessionEventFilter, values: unknown[]): string[] {
  const value = (given: unknown) => `$${values.push(given)}`;
  return [
    ...(filter.eventType ? [`e.event_type = any(${value(filter.eventType)})`] : []),
    ...(filter.provider ? [`e.provider = any(${value(filter.provider)})`] : []),
    ...(filter.messageId ? [`e.message_id = ${value(filter.messageId)}`] : []),
    ...(filter.delivery ? [`e.event_data ->> 'delivery' = ${value(filter.delivery)}`] : []),
    ...(filter.scope ? [`e.event_data -> 'scope' ->> 'kind' = ${value(filter.scope)}`] : []),
    ...(filter.createdAfter ? [`e.created_at > ${value(filter.createdAfter)}`] : []),
    ...(filter.createdBefore ? [`e.created_at < ${value(filter.createdBefore)}`] : []),
  ];
}

/** The documented JSON of an event (section 6), its data spliced in as it was recorded. */
export function eventToJson(row: SessionEventRow): string {
  const { id, createdAt, eventType, messageId, sessionId, provider, eventData } = row;
  const message = messageId === null ? 'null' : `"${messageId}"`;
  return `{"id":${id},"createdAt":"${toIsoString(createdAt)}","eventType":${JSON.stringify(eventType)},"messageId":${message},"sessionId":"${sessionId}","provider":${JSON.stringify(provider)},"eventData":${eventData}}`;
}

/** Relay's arguments as a window; cursors are the ids that REST uses. One more than the page is read, to learn whether more follow. */
export function windowOf(page: PageArguments, defaultSize: number): { window: SessionEventWindow; size: number } {
  if (page.first != null && page.last != null) throw invalid('last', 'must not be given together with first');
  const backward = page.last != null;
  const size = page.last ?? page.first ?? defaultSize;
  if (size < 1 || size > MAX_PAGE) throw invalid(backward ? 'last' : 'first', `must be from 1 to ${MAX_PAGE}`);
  return {
    window: {
      after: cursorId(page.after, 'after'),
      before: cursorId(page.before, 'before'),
      limit: size + 1,
      backward,
    },
    size,
  };
}
