import { isDatabaseAway } from '../../core/postgres/failures.ts';
import { notFound } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import type { LiveTail } from '../../core/live-tails.ts';
import { type OperationContext, guarded, requireAccess } from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/entity.ts';
import { readStreamHead, sessionTopic } from '../sessions/operations.ts';
import { READ_SESSIONS } from '../sessions/policy.ts';
import type { SessionEventFilter } from './input.ts';
import { type SessionEventRow, findSlice } from './queries.ts';

/** While the database is away. */
const RETRY_MS = 500;
const MAX_PAGE_ROWS = 200;
/** A page ends with the event that reaches this many bytes: one page waits for each reader who does not read. */
const MAX_PAGE_BYTES = 256 * 1024;

export interface Tail {
  readonly sessionId: SessionId;
  /** Id of the last event seen, as of a page. */
  readonly after: number;
  readonly filter?: SessionEventFilter;
  /** Ends the tail. */
  readonly signal?: AbortSignal;
}

/**
 * Follows a session's events, page by page: those behind `after` from the store, then new ones as they are committed, from whichever process,
 * in order, each once. Both come from the same read path with the same cursor, so there is no seam. Ends when the session is finished and all
 * of it has been given, or when `signal` aborts, which it must even if the generator is never read. A slow reader holds one page at most; a database that is away is waited for.
 * @throws NotFoundError at once when there is no such session that the caller may read. Key and session are looked at again before every
 * read, so what is thrown then comes out of the iteration.
 */
export const tailSessionEvents = guarded(
  READ_SESSIONS,
  async (
    context: OperationContext,
    tail: Tail,
  ): Promise<AsyncGenerator<readonly SessionEventRow[], void, undefined>> => {
    // Notifications are the primary's; a replica may not have their rows yet.
    const following = { ...context, sql: context.sql.primary };
    await readStreamHead(following, tail.sessionId);
    const topics = [sessionTopic(tail.sessionId), apiKeyTopic(context.actor.keyId)];
    return follow(following, tail, context.liveTails.open(context.actor, topics, tail.signal));
  },
);

async function* follow(
  context: OperationContext,
  { sessionId, after, filter = {}, signal }: Tail,
  live: LiveTail,
): AsyncGenerator<readonly SessionEventRow[], void, undefined> {
  let cursor = after;
  let limit = 20;
  try {
    while (!signal?.aborted) {
      const page = await readPage(context, sessionId, filter, { after: cursor, limit });
      if (page === 'away') {
        await live.changed(RETRY_MS);
        continue;
      }
      const { events, isFull, lastId } = page;
      if (events.length > 0) yield events;
      cursor = events.at(-1)?.id ?? cursor;
      limit = rowsLike(events);
      if (isFull) continue;
      // All up to the head is seen, what the filter left out included.
      cursor = Math.max(cursor, lastId);
      if (page.isFinished) return;
      await live.changed();
    }
  } finally {
    live.close();
    context.budget.close();
  }
}

async function readPage(
  context: OperationContext,
  sessionId: SessionId,
  filter: SessionEventFilter,
  window: { after: number; limit: number },
) {
  try {
    context.budget.renew();
    const current: OperationContext = { ...context, actor: await context.authenticateAgain() };
    requireAccess(current.actor, READ_SESSIONS);
    // The head before the page: what was appended before the session ended is then in the page.
    const head = await readStreamHead(current, sessionId);
    const slice = await findSlice(current, sessionId, filter, { ...window, maxBytes: MAX_PAGE_BYTES });
    if (!slice) throw notFound('session');
    return { ...slice, lastId: head.lastId, isFinished: head.isFinished };
  } catch (error) {
    if (isDatabaseAway(error)) return 'away';
    throw error;
  }
}

/** Events differ in length by a factor of a thousand, so a page is bounded by what those before it took. */
function rowsLike(events: readonly SessionEventRow[]): number {
  const characters = events.reduce((sum, { eventData }) => sum + eventData.length, 0);
  return Math.max(
    1,
    Math.min(MAX_PAGE_ROWS, Math.floor((MAX_PAGE_BYTES * events.length) / (characters || 1)) || MAX_PAGE_ROWS),
  );
}
