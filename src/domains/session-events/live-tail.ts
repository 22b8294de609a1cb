import { NotFoundError } from '../../core/errors.ts';
import { followPages } from '../../core/followed-pages.ts';
import type { SessionId } from '../../core/ids.ts';
import type { LiveTail } from '../../core/live-tails.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/public.ts';
import { READ_SESSIONS, readStreamHead, sessionNotFound, sessionTopic } from '../sessions/public.ts';
import type { SessionEventFilter } from './input.ts';
import { ALL_COLUMNS, type SessionEventRow, isPresent, pageOfEvents } from './queries.ts';

const MAX_TAIL_PAGE_ROWS = 200;
/** A page ends with the event that reaches this size. Each client that does not read keeps one page in memory. */
const MAX_TAIL_PAGE_BYTES = 256 * 1024;

export interface Tail {
  readonly sessionId: SessionId;
  /** Id of the last event seen. */
  readonly after: number;
  readonly filter?: SessionEventFilter;
  readonly signal?: AbortSignal;
}

/**
 * Yields pages of the events of a session: first the stored events after `after`, then new events as any process commits them, in order and
 * each once. Both use the same query and cursor, so no event is lost between them. Ends when the session is finished and all its events were
 * yielded, or when `signal` aborts. The signal must abort even if the generator is never read. While the database is unreachable, it retries.
 * Also ends when the session is deleted.
 * @throws NotFoundError when the caller cannot read the session. The rights are checked again before every read; then the iteration throws.
 */
export const tailSessionEvents = guarded(
  READ_SESSIONS,
  async (context: OperationContext, tail: Tail): Promise<Tailed> => {
    // Notifications come from the primary. A replica may not have the new rows yet.
    const following = context.with({ sql: context.sql.primary });
    const { isFinished, lastId } = await readStreamHead(following, tail.sessionId);
    const topics = [sessionTopic(tail.sessionId), apiKeyTopic(context.actor.keyId)];
    const live = context.liveTails.open(context.actor, topics, tail.signal);
    return { pages: follow(following, tail, live), hasEnded: isFinished && tail.after >= lastId };
  },
);

/** Pages of events; returns the id of the last event of a finished session, which the filter may exclude. */
type Pages = AsyncGenerator<readonly SessionEventRow[], number | undefined, undefined>;

export interface Tailed {
  readonly pages: Pages;
  /** Whether the session is finished and has no events after `after`, so that a client that resumes there can stop. */
  readonly hasEnded: boolean;
}

async function* follow(
  context: OperationContext,
  { sessionId, after, filter = {}, signal }: Tail,
  live: LiveTail,
): Pages {
  let cursor = after;
  let limit = 20;
  let end: number | undefined;
  const readPresent = async (current: OperationContext) => {
    // The head is read before the page, so that the page contains everything that was appended before the session was finished.
    const head = await readStreamHead(current, sessionId);
    const part = { first: limit, after: String(cursor) };
    const page = await pageOfEvents(current, sessionId, { filter, page: part, selected: ALL_COLUMNS });
    if (!page) throw sessionNotFound();
    const items = firstOf(page.rows);
    const hasMore = page.hasNextPage || items.length < page.rows.length;
    limit = rowsLike(items);
    cursor = items.at(-1)?.id ?? cursor;
    // Without more, all events up to the head were read, including those that the filter excluded.
    if (!hasMore) cursor = Math.max(cursor, head.lastId);
    const isLast = !hasMore && head.isFinished;
    if (isLast) end = cursor;
    return { items, hasMore, isLast };
  };
  const readPage = async (current: OperationContext) => {
    try {
      return await readPresent(current);
    } catch (error) {
      if (!(error instanceof NotFoundError) || (await isPresent(current, sessionId))) throw error;
      // A deleted session ends for all who followed it.
      end = cursor;
      return { items: [], hasMore: false, isLast: true };
    }
  };
  yield* followPages(context, { live, access: READ_SESSIONS, signal, readPage });
  return end;
}

/** The events up to the one that reaches the maximum size. The others are read again. */
function firstOf(events: readonly SessionEventRow[]): readonly SessionEventRow[] {
  let characters = 0;
  const end = events.findIndex(({ eventData }) => (characters += eventData.length) >= MAX_TAIL_PAGE_BYTES);
  return end === -1 ? events : events.slice(0, end + 1);
}

/** The number of rows for the next page, from the size of the last events, because sizes differ by a factor of a thousand. */
function rowsLike(events: readonly SessionEventRow[]): number {
  const characters = events.reduce((sum, { eventData }) => sum + eventData.length, 0);
  return Math.max(
    1,
    Math.min(
      MAX_TAIL_PAGE_ROWS,
      Math.floor((MAX_TAIL_PAGE_BYTES * events.length) / (characters || 1)) || MAX_TAIL_PAGE_ROWS,
    ),
  );
}
