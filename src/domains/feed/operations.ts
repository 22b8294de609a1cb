import { type FeedType, feedTopic } from '../../core/feed.ts';
import { requireOrganization } from '../../core/access.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { type OperationContext, defineOperation, guarded } from '../../core/operation.ts';
import type { CountedPage, PageArguments } from '../../core/postgres/reading/keyset.ts';
import { idOf } from '../session-events/public.ts';
import { type FeedFilter, listFeedInput } from './input.ts';
import { READ_FEED, visibleTypes } from './policy.ts';
import {
  type FeedEntryRow,
  type FeedReader,
  countFeedEntries,
  findFeedEntries,
  findFeedEntriesById,
} from './queries.ts';
import { followPages } from '../../core/followed-pages.ts';
import { apiKeyTopic } from '../api-keys/public.ts';

export interface FeedPage {
  readonly entries: readonly FeedEntryRow[];
  readonly nextCursor: string;
  /** Whether more entries follow. A page with few or no entries can have looked at as many as one page may. */
  readonly hasMore: boolean;
}

interface FeedPageRequest {
  readonly after: number;
  readonly limit: number;
  readonly types: readonly FeedType[] | null | undefined;
  readonly sessionStates?: readonly string[] | null;
}

/** A page of the entries after an id. Its cursor also passes entries that the caller cannot read, up to the end of the feed. */
export async function readFeedPage(
  context: FeedReader,
  { after, limit, types, sessionStates }: FeedPageRequest,
): Promise<FeedPage> {
  const { page, head } = await findFeedEntries(context, {
    types: visibleTypes(context.actor, types),
    sessionStates,
    page: { first: limit, after: String(after) },
  });
  const { rows: entries, hasNextPage: hasMore, endCursor } = page;
  const last = Number(endCursor ?? entries.at(-1)?.id ?? after);
  return { entries, nextCursor: String(hasMore ? last : Math.max(last, head)), hasMore };
}

export const listFeed = defineOperation({
  name: 'listFeed',
  description:
    'Lists the feed of the organization by ascending id: an entry for each change of what the caller may see. Entries are kept for 30 days. Types whose scope the key lacks are left out.',
  access: READ_FEED,
  input: listFeedInput,
  run: async (context, { limit, cursor, types }): Promise<FeedPage> => {
    const after = idOf(cursor);
    const page = await readFeedPage(context, { after, limit, types });
    // Larger cursors than any id are equivalent, and stay as they were given.
    return Number(page.nextCursor) === after ? { ...page, nextCursor: cursor } : page;
  },
});

interface AskedFeed {
  readonly organizationId: OrganizationId;
  readonly filter: FeedFilter;
  readonly order: { readonly direction: 'ASC' | 'DESC' };
  readonly page: PageArguments;
}

/** The same as a Relay connection, whose cursors are ids. */
export const pageOfFeed = defineOperation({
  name: 'pageOfFeed',
  description:
    'Feed of the organization: an entry for each change of what the caller may see, in the order of the commits by default. Types whose scope the key lacks are left out. Entries are kept for 30 days. A page has 1 to 1000 entries. Cursors are the ids that REST uses.',
  access: READ_FEED,
  run: async (
    context,
    { organizationId, filter, order: { direction }, page: asked }: AskedFeed,
  ): Promise<CountedPage<FeedEntryRow>> => {
    requireOrganization(context.actor, organizationId);
    const conditions = { ...filter, types: visibleTypes(context.actor, filter.types) };
    const { page } = await findFeedEntries(context, { ...conditions, page: asked, direction });
    return { page, total: () => countFeedEntries(context, conditions) };
  },
});

/** The entries with these keys that the caller can read. */
export const readFeedEntries = guarded(
  READ_FEED,
  async (
    context: OperationContext,
    keys: readonly { readonly organizationId: OrganizationId; readonly id: number }[],
  ): Promise<FeedEntryRow[]> => {
    const acting = requireOrganization(context.actor).id;
    const ids = keys.flatMap(({ organizationId, id }) => (organizationId === acting ? [id] : []));
    const types = visibleTypes(context.actor, undefined);
    return findFeedEntriesById(context, types, ids);
  },
);

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
  const following = context.with({ sql: context.sql.primary });
  return Promise.resolve(followPages(following, { live, access: READ_FEED, signal, readPage }));
});
