import { isDatabaseAway } from '../../core/database.ts';
import { notFound } from '../../core/errors.ts';
import { type OperationContext, requireScope } from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/entity.ts';
import { readStreamHead, sessionTopic } from '../sessions/operations.ts';
import type { SessionEventFilter } from './input.ts';
import { type SessionEventRow, findSlice } from './queries.ts';

/** While the database is away. */
const RETRY_MS = 500;
const MAX_PAGE_ROWS = 200;
/** Pages get as many rows as fit here when they are as long as those before. */
const PAGE_CHARACTERS = 1024 * 1024;

export interface Tail {
  readonly sessionId: string;
  /** Id of the last event seen, as of a page. */
  readonly after: number;
  readonly filter?: SessionEventFilter;
  /** Ends the tail. */
  readonly signal?: AbortSignal;
}

/**
 * Follows a session's events, page by page: those behind `after` from the store, then new ones as they are committed, from whichever process,
 * in order, each once. Both come from the same read path with the same cursor, so there is no seam. Ends when the session is finished and all
 * of it has been given, or when `signal` aborts. A slow reader holds one page at most; a database that is away is waited for.
 * @throws NotFoundError at once when there is no such session that the caller may read. Key and session are looked at again before every
 * read, so what is thrown then comes out of the iteration.
 */
export async function tailSessionEvents(
  context: OperationContext,
  tail: Tail,
): Promise<AsyncGenerator<readonly SessionEventRow[], void, undefined>> {
  requireScope(context.actor, 'sessions.read');
  // Notifications are the primary's; a replica may not have yet what they tell of.
  const following = { ...context, sql: context.sql.primary };
  await readStreamHead(following, tail.sessionId);
  return follow(following, tail);
}

async function* follow(
  context: OperationContext,
  { sessionId, after, filter = {}, signal }: Tail,
): AsyncGenerator<readonly SessionEventRow[], void, undefined> {
  const bell = createBell(signal);
  const topics = [sessionTopic(sessionId), apiKeyTopic(context.actor.keyId)];
  const subscriptions = topics.map((topic) => context.notifier.subscribe(topic, bell.ring));
  let cursor = after;
  let limit = 20;
  try {
    while (!signal?.aborted) {
      const page = await readPage(context, sessionId, filter, { after: cursor, limit });
      if (page === 'away') {
        await bell.wait(RETRY_MS);
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
      await bell.wait(context.timing.sessionPollMs);
    }
  } finally {
    for (const unsubscribe of subscriptions) unsubscribe();
  }
}

async function readPage(
  context: OperationContext,
  sessionId: string,
  filter: SessionEventFilter,
  window: { after: number; limit: number },
) {
  try {
    context.budget.renew();
    const current: OperationContext = { ...context, actor: await context.authenticateAgain() };
    // The head before the page: what was appended before the session ended is then in the page.
    const head = await readStreamHead(current, sessionId);
    const slice = await findSlice(current, sessionId, filter, window);
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
    Math.min(MAX_PAGE_ROWS, Math.floor((PAGE_CHARACTERS * events.length) / (characters || 1)) || MAX_PAGE_ROWS),
  );
}

/** Remembers a ring that comes while nobody waits, so that none is missed between reading and waiting. */
function createBell(signal: AbortSignal | undefined) {
  let rung = false;
  let wakeUp: (() => void) | undefined;
  const ring = () => {
    rung = true;
    wakeUp?.();
  };
  signal?.addEventListener('abort', ring, { once: true });
  return {
    ring,
    async wait(timeoutMs: number): Promise<void> {
      if (!rung && !signal?.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs);
          wakeUp = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      rung = false;
      wakeUp = undefined;
    },
  };
}
