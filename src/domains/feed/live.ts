import { type FeedType, feedTopic } from '../../core/feed.ts';
import { requireAccess, requireOrganization } from '../../core/access.ts';
import type { LiveTail } from '../../core/live-tails.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import { isDatabaseAway } from '../../core/postgres/failures.ts';
import { apiKeyTopic } from '../api-keys/public.ts';
import { readFeedPage } from './operations.ts';
import { READ_FEED } from './policy.ts';
import type { FeedEntryRow } from './queries.ts';

/** Interval of retries while the database is unreachable. */
const RETRY_MS = 500;
const PAGE_ROWS = 200;

export interface FollowedFeed {
  /** Id of the last entry seen. */
  readonly after: number;
  readonly types: readonly FeedType[] | null | undefined;
  /** Must abort even if the generator is never read. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Yields pages of the feed: first the stored entries after `after`, then new ones as any process commits them, in order and each once. The
 * rights are checked again before every read; then the iteration throws. While the database is unreachable, it retries.
 */
export const tailFeed = guarded(READ_FEED, (context: OperationContext, feed: FollowedFeed) => {
  const { id } = requireOrganization(context.actor);
  const topics = [feedTopic(id), apiKeyTopic(context.actor.keyId)];
  const live = context.liveTails.open(context.actor, topics, feed.signal);
  // Notifications come from the primary. A replica may not have the new rows yet.
  return Promise.resolve(follow({ ...context, sql: context.sql.primary }, feed, live));
});

async function* follow(
  context: OperationContext,
  { after, types, signal }: FollowedFeed,
  live: LiveTail,
): AsyncGenerator<readonly FeedEntryRow[], void, undefined> {
  let cursor = after;
  try {
    while (signal?.aborted !== true) {
      const page = await readPage(context, cursor, types);
      if (page === 'away') {
        await live.changed(RETRY_MS);
        continue;
      }
      // Nothing is held while the client reads, which may take long, or never end.
      context.budget.renew();
      if (page.entries.length > 0) yield page.entries;
      cursor = Number(page.nextCursor);
      if (!page.hasMore) await live.changed();
    }
  } finally {
    live.close();
    context.budget.close();
  }
}

async function readPage(context: OperationContext, after: number, types: readonly FeedType[] | null | undefined) {
  try {
    context.budget.renew();
    const current: OperationContext = { ...context, actor: await context.authenticateAgain() };
    requireAccess(current.actor, READ_FEED);
    return await readFeedPage(current, { after, limit: PAGE_ROWS, types });
  } catch (error) {
    if (isDatabaseAway(error)) return 'away';
    throw error;
  }
}
