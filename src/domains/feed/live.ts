import { type FeedType, feedTopic } from '../../core/feed.ts';
import { requireOrganization } from '../../core/access.ts';
import { followPages } from '../../core/followed-pages.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/public.ts';
import { readFeedPage } from './operations.ts';
import { READ_FEED } from './policy.ts';

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
export const tailFeed = guarded(READ_FEED, (context: OperationContext, { after, types, signal }: FollowedFeed) => {
  const { id } = requireOrganization(context.actor);
  const topics = [feedTopic(id), apiKeyTopic(context.actor.keyId)];
  const live = context.liveTails.open(context.actor, topics, signal);
  let cursor = after;
  const readPage = async (current: OperationContext) => {
    const page = await readFeedPage(current, { after: cursor, limit: PAGE_ROWS, types });
    cursor = Number(page.nextCursor);
    return { items: page.entries, hasMore: page.hasMore };
  };
  // Notifications come from the primary. A replica may not have the new rows yet.
  const following = { ...context, sql: context.sql.primary };
  return Promise.resolve(followPages(following, { live, access: READ_FEED, signal, readPage }));
});
