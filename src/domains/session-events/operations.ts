import { ConflictError, DomainError, NotFoundError, notFound } from '../../core/errors.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { type Page, type PageArguments, mirrored, mirroredPage } from '../../core/postgres/reading/keyset.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { requireAccess } from '../../core/access.ts';
import { type OperationContext, defineOperation, guarded, requireAuthority } from '../../core/operation.ts';
import { auditEntry } from '../../core/audit.ts';
import type { SessionId } from '../../core/ids.ts';
import { READ_SESSIONS, RECORD_SESSIONS, requireSessionChange, sessionTopic } from '../sessions/public.ts';
import { appendStatement } from './append.ts';
import { findBatch, isSameBatch } from './batches.ts';
import { idOf } from './cursor.ts';
import {
  type AppendSessionEventsInput,
  DEFAULT_PAGE,
  type SessionEventFilter,
  appendSessionEventsInput,
  listSessionEventsInput,
} from './input.ts';
import {
  type SessionEventRow,
  type SessionEventSlice,
  countsOf,
  findEvents,
  findSlice,
  slicesOf,
  windowOf,
} from './queries.ts';

export interface SessionEventPage {
  readonly events: readonly SessionEventRow[];
  /** Id of the last event of the page, or the given cursor when the page is empty, so that a client can always poll with it. */
  readonly nextCursor: string;
  /** Whether more events are stored after this page. */
  readonly hasMore: boolean;
}

/**
 * Ids of a session ascend in commit order, so a client that follows `nextCursor` never skips or repeats an event, even during concurrent
 * writes.
 */
export const listSessionEvents = defineOperation({
  name: 'listSessionEvents',
  description: 'Lists the recorded events of a session by ascending id.',
  access: READ_SESSIONS,
  input: listSessionEventsInput,
  errors: [NotFoundError],
  run: async (context, { sessionId, limit, cursor, messageId }): Promise<SessionEventPage> => {
    const slice = await findSlice(context, sessionId, { messageId }, { after: idOf(cursor), limit: limit + 1 });
    if (!slice) throw notFound('session');
    const events = slice.events.slice(0, limit);
    const last = events.at(-1)?.id;
    return { events, nextCursor: String(last ?? cursor), hasMore: slice.isFull };
  },
});

/** The arguments of a list of events in GraphQL. */
export interface SessionEventList {
  readonly filter: SessionEventFilter;
  readonly page: PageArguments;
  /** When absent, by ascending id. */
  readonly direction?: 'ASC' | 'DESC';
  readonly selected?: Columns<SessionEventRow>;
}

/**
 * Reads Relay pages of the events of many sessions with one statement, and their counts with another. A session that the caller cannot read
 * has no events.
 */
export function pagesOfSessionEvents(
  context: OperationContext,
  { filter, page: asked, direction, selected }: SessionEventList,
): {
  readonly pages: LoadBatch<SessionId, Page<SessionEventRow>>;
  readonly counts: LoadBatch<SessionId, number>;
} {
  requireAccess(context.actor, READ_SESSIONS);
  const isDescending = direction === 'DESC';
  const page = isDescending ? mirrored(asked) : asked;
  const { window, size } = windowOf(page, DEFAULT_PAGE);
  const slices = slicesOf(context, filter, window, selected);
  const pageOf = (slice: SessionEventSlice) => toPage(slice, page, size);
  return {
    pages: async (sessionIds) =>
      new Map(
        Array.from(await slices(sessionIds), ([id, slice]) => [
          id,
          isDescending ? mirroredPage(pageOf(slice)) : pageOf(slice),
        ]),
      ),
    counts: countsOf(context, filter),
  };
}

function toPage({ events, isFull }: SessionEventSlice, page: PageArguments, size: number): Page<SessionEventRow> {
  const backward = page.last != null;
  const rows = events.length > size ? (backward ? events.slice(1) : events.slice(0, size)) : events;
  return {
    rows,
    hasNextPage: backward ? page.before != null : isFull,
    hasPreviousPage: backward ? isFull : page.after != null,
    cursorOf: ({ id }) => String(id),
  };
}

/** The events with these keys that the caller can read. */
export const readSessionEvents = guarded(
  READ_SESSIONS,
  (
    context: OperationContext,
    places: readonly { readonly sessionId: SessionId; readonly id: number }[],
    selected?: Columns<SessionEventRow>,
  ): Promise<SessionEventRow[]> => findEvents(context, places, selected),
);

export interface AppendedEvents {
  readonly sessionId: SessionId;
  readonly firstId: number;
  readonly lastId: number;
  /** Whether the batch was already stored, so that nothing was stored now. */
  readonly isReplayed: boolean;
}

/**
 * One statement in one transaction. It first updates, and so locks, the head of the stream: ids become visible in the
 * order in which they were assigned. Concurrent retries of a batch wait for the same row, and the later one violates
 * the primary key of the batch. Concurrent appends to one session wait in a queue without a database connection.
 */
export const appendSessionEvents = defineOperation({
  name: 'appendSessionEvents',
  description:
    'Appends events to a session. Either all events are stored or none; they are numbered in the given order. With a `batchId`, a retry with the same events stores nothing and returns the stored ids; other events with a known `batchId` are refused. A finished session takes no events. Only the creator of the session and administrators can append events.',
  access: RECORD_SESSIONS,
  input: appendSessionEventsInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { sessionId, batchId, events }): Promise<AppendedEvents> => {
    const target = { type: 'Session' as const, id: sessionId };
    context.onChange?.('appendSessionEvents', target);
    const entry = auditEntry(context, 'appendSessionEvents', target);
    const statement = appendStatement(context, { sessionId, batchId, events }, entry);
    const [head] = await inAppendQueue(context, sessionId, () =>
      context.sql.attempt(statement).catch((error: unknown) => {
        if (isDuplicateBatch(error)) return [];
        throw error;
      }),
    );
    if (!head) return replay(context, { sessionId, batchId, events });
    context.notifier.publish(sessionTopic(sessionId));
    return { sessionId, firstId: head.base + 1, lastId: head.base + events.length, isReplayed: false };
  },
});

/**
 * Runs one append of a session at a time in this process. Otherwise each would use a connection of the pool while it
 * waits for the row lock.
 * @throws DomainError (503 with `Retry-After`) when earlier appends take too long.
 */
async function inAppendQueue<Result>(
  { appendQueue, timing }: OperationContext,
  sessionId: SessionId,
  append: () => Promise<Result>,
): Promise<Result> {
  if (!appendQueue) return append();
  const end = await appendQueue.take(`append ${sessionId}`, timing.appendWaitMs);
  if (!end)
    throw new DomainError('unavailable', 'too many requests append to this session at the same time; try again', {
      headers: { 'Retry-After': '1' },
    });
  try {
    return await append();
  } finally {
    end();
  }
}

function isDuplicateBatch(error: unknown): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === 'session_event_batch_pkey';
}

/**
 * Called when nothing was stored: the batch is already stored, the session is finished, or the caller cannot append.
 * @throws ConflictError when other events are stored under the batch id.
 */
async function replay(
  context: OperationContext,
  { sessionId, batchId, events }: AppendSessionEventsInput,
): Promise<AppendedEvents> {
  await requireAuthority(context);
  await requireSessionChange(context, sessionId);
  const batch = batchId === null ? undefined : await findBatch(context, sessionId, batchId);
  if (!batch) throw new ConflictError('WRONG_STATE', 'the session is finished; queue it again before recording events');
  if (!(await isSameBatch(context, sessionId, batch, events)))
    throw new ConflictError('BATCH_REUSED', 'already used for other events; use another batchId', ['batchId']);
  return { sessionId, ...batch, isReplayed: true };
}
