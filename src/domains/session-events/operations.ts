import { auditSql } from '../../core/audit.ts';
import { ConflictError, DomainError, notFound } from '../../core/errors.ts';
import type { CountedPage, PageArguments } from '../../core/keyset.ts';
import { type OperationContext, auditEntry, requireOrganization, requireScope } from '../../core/operation.ts';
import { changeableSql, requireSessionChange, sessionTopic } from '../sessions/operations.ts';
import { idOf } from './cursor.ts';
import {
  type AppendSessionEventsInput,
  DEFAULT_PAGE,
  type ListSessionEventsInput,
  type SessionEventFilter,
} from './input.ts';
import { type SessionEventRow, countEventRows, findEventRows, windowOf } from './page.ts';

export interface SessionEventPage {
  readonly events: readonly SessionEventRow[];
  /** Id of the last event of the page, or the cursor given when it is empty: a client can poll with it for ever. */
  readonly nextCursor: string;
}

/**
 * Events behind a cursor, by ascending id. Ids grow in commit order within a session, so a reader that follows `nextCursor` never skips
 * and never repeats an event, whatever is being written meanwhile.
 * @throws NotFoundError when there is no such session that the caller may read.
 */
export async function listSessionEvents(
  context: OperationContext,
  { sessionId, limit, cursor, messageId }: ListSessionEventsInput,
): Promise<SessionEventPage> {
  requireScope(context.actor, 'sessions.read');
  const slice = await findEventRows(context, sessionId, { messageId }, { after: idOf(cursor), limit });
  if (!slice) throw notFound('session');
  const { events } = slice;
  return { events, nextCursor: String(events.at(-1)?.id ?? cursor) };
}

/**
 * The same events as a Relay page, forward or backward, with more filters.
 * @throws NotFoundError when there is no such session that the caller may read; the count likewise.
 */
export async function pageOfSessionEvents(
  context: OperationContext,
  sessionId: string,
  filter: SessionEventFilter,
  page: PageArguments,
): Promise<CountedPage<SessionEventRow>> {
  requireScope(context.actor, 'sessions.read');
  const { window, size } = windowOf(page, DEFAULT_PAGE);
  const found = await findEventRows(context, sessionId, filter, window);
  if (!found) throw notFound('session');
  const { events, isFull: more } = found;
  const rows = events.length > size ? (window.backward ? events.slice(1) : events.slice(0, size)) : events;
  return {
    page: {
      rows,
      hasNextPage: window.backward ? page.before != null : more,
      hasPreviousPage: window.backward ? more : page.after != null,
      cursorOf: ({ id }) => String(id),
    },
    total: () => countSessionEvents(context, sessionId, filter),
  };
}

async function countSessionEvents(
  context: OperationContext,
  sessionId: string,
  filter: SessionEventFilter,
): Promise<number> {
  const count = await countEventRows(context, sessionId, filter);
  if (count === undefined) throw notFound('session');
  return count;
}

/** One event by its place; undefined when there is none that the caller may see. */
export async function readSessionEvent(
  context: OperationContext,
  sessionId: string,
  id: number,
): Promise<SessionEventRow | undefined> {
  requireScope(context.actor, 'sessions.read');
  return (await findEventRows(context, sessionId, {}, { after: id - 1, before: id + 1, limit: 1 }))?.events[0];
}

export interface AppendedEvents {
  readonly sessionId: string;
  readonly firstId: number;
  readonly lastId: number;
  /** Whether the batch had been stored before, so that nothing was stored now. */
  readonly isReplayed: boolean;
}

/**
 * Appends events to a session's stream, all or none, and tells those who follow it.
 *
 * One statement, and so one transaction. It updates the head of the stream first and holds that row until the commit, so ids become
 * visible in the order in which they were drawn. Twins of one batch meet at the same row; the later one then breaks the key of the batch.
 * Where many append to one session they take turns, and hold no connection meanwhile.
 * @throws ConflictError when the session is finished, or the batch id stands for another batch; NotFoundError and ForbiddenError as for
 * every change of a session.
 */
export async function appendSessionEvents(
  context: OperationContext,
  { sessionId, batchId, events }: AppendSessionEventsInput,
): Promise<AppendedEvents> {
  requireScope(context.actor, 'sessions.record');
  const values: unknown[] = [
    sessionId,
    requireOrganization(context.actor).id,
    events.length,
    batchId,
    context.now(),
    events.map(({ createdAt }) => createdAt).join(),
    events.map(({ eventType }) => eventType),
    events.map(({ messageId }) => messageId).join(),
    events.map(({ provider }) => provider),
    // A line for each: JSON that we write has none within, and one text is cheaper to make and to send than an array, whose every element is escaped.
    events.map(({ eventData }) => eventData).join('\n'),
  ];
  const entry = auditEntry(context, 'appendSessionEvents', { type: 'Session', id: sessionId });
  const statement = appendStatement(changeableSql(context.actor, values), auditSql(entry, 'head', values));
  const [head] = await inTurn(context, sessionId, () =>
    context.sql.attempt<{ base: number }>({ text: statement, values }).catch((error: unknown) => {
      if (isBatchTwin(error)) return [];
      throw error;
    }),
  );
  if (!head) return replay(context, { sessionId, batchId, count: events.length });
  context.notifier.publish(sessionTopic(sessionId));
  return { sessionId, firstId: Number(head.base) + 1, lastId: Number(head.base) + events.length, isReplayed: false };
}

/**
 * One append of a session at a time in this process: the others would wait for the head of the stream, each with a connection that everybody
 * else is in need of.
 * @throws DomainError 503 with `Retry-After` when the turn does not come in time.
 */
async function inTurn<Result>(
  { turns, timing }: OperationContext,
  sessionId: string,
  append: () => Promise<Result>,
): Promise<Result> {
  if (!turns) return append();
  const end = await turns.take(`append ${sessionId}`, timing.appendWaitMs);
  if (!end)
    throw new DomainError('unavailable', 'too much is being appended to this session; try again', {
      headers: { 'Retry-After': '1' },
    });
  try {
    return await append();
  } finally {
    end();
  }
}

function appendStatement(changeable: string, record: string): string {
  return `
    with head as (
      update session_stream set last_id = last_id + $3::int
      where session_id = $1 and not is_closed
        and exists (select from session s where s.id = $1 and ${changeable})
        and not exists (select from session_event_batch b where b.session_id = $1 and b.batch_id = $4)
      returning last_id - $3::int as base
    ), batch as (
      insert into session_event_batch (session_id, batch_id, organization_id, first_id, last_id, created_at)
      select $1, $4, $2, base + 1, base + $3::int, $5 from head where $4::text is not null
    ), stored as (
      insert into session_event (session_id, id, organization_id, created_at, event_type, message_id, provider, event_data)
      select $1, head.base + e.position, $2, coalesce(e.created_at, $5), e.event_type, e.message_id, e.provider, e.event_data::json
      from head, unnest(string_to_array($6, ',', '')::timestamptz[], $7::text[], string_to_array($8, ',', '')::uuid[], $9::text[], string_to_array($10, e'\n'))
        with ordinality as e (created_at, event_type, message_id, provider, event_data, position)
    ), seen as (
      update session set last_seen_at = $5 where id = $1 and last_seen_at < $5::timestamptz - interval '1 minute' and exists (select from head)
    ), recorded as (${record})
    select base from head`;
}

function isBatchTwin(error: unknown): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === 'session_event_batch_pkey';
}

/** Nothing was stored: because the batch was stored before, because the session is finished, or because the caller may not. */
async function replay(
  context: OperationContext,
  { sessionId, batchId, count }: { sessionId: string; batchId: string | null; count: number },
): Promise<AppendedEvents> {
  await requireSessionChange(context, sessionId);
  const [batch] = await context.sql.query<{ firstId: string; lastId: string }>(
    'select first_id as "firstId", last_id as "lastId" from session_event_batch where session_id = $1 and batch_id = $2',
    [sessionId, batchId],
  );
  if (!batch) throw new ConflictError('the session is finished; queue it again before recording events');
  const [firstId, lastId] = [Number(batch.firstId), Number(batch.lastId)];
  if (lastId - firstId + 1 !== count)
    throw new ConflictError(`stands for another batch, of ${lastId - firstId + 1} events`, ['batchId']);
  return { sessionId, firstId, lastId, isReplayed: true };
}
