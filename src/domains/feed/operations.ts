import type { FeedType } from '../../core/feed.ts';
import { invalid } from '../../core/errors.ts';
import { requireOrganization } from '../../core/access.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { type OperationContext, defineOperation, guarded } from '../../core/operation.ts';
import {
  type CountedPage,
  type Page,
  type PageArguments,
  isBackward,
  isGiven,
  mirrored,
  mirroredPage,
} from '../../core/postgres/reading/keyset.ts';
import { idOf, relayCursorId } from '../session-events/public.ts';
import { DEFAULT_PAGE, type FeedFilter, MAX_PAGE, listFeedInput } from './input.ts';
import { READ_FEED, visibleTypes } from './policy.ts';
import {
  type FeedConditions,
  type FeedEntryRow,
  type FeedReader,
  countFeedEntries,
  findFeedEntries,
  findFeedEntriesById,
} from './queries.ts';

export interface FeedPage {
  readonly entries: readonly FeedEntryRow[];
  readonly nextCursor: string;
  /** Whether more entries follow. */
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
  const conditions = { types: visibleTypes(context.actor, types), sessionStates };
  const { entries: found, head } = await findFeedEntries(context, conditions, { after, limit: limit + 1 });
  const hasMore = found.length > limit;
  const entries = found.slice(0, limit);
  const last = entries.at(-1)?.id ?? after;
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

interface FeedList {
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
    { organizationId, filter, order, page: asked }: FeedList,
  ): Promise<CountedPage<FeedEntryRow>> => {
    requireOrganization(context.actor, organizationId);
    const conditions = { ...filter, types: visibleTypes(context.actor, filter.types) };
    const isDescending = order.direction === 'DESC';
    const page = await readPage(context, conditions, isDescending ? mirrored(asked) : asked);
    return {
      page: isDescending ? mirroredPage(page) : page,
      total: () => countFeedEntries(context, conditions),
    };
  },
});

async function readPage(
  context: OperationContext,
  conditions: FeedConditions,
  page: PageArguments,
): Promise<Page<FeedEntryRow>> {
  const isFromEnd = isBackward(page);
  const size = page.last ?? page.first ?? DEFAULT_PAGE;
  const [code, limit] = size > MAX_PAGE ? (['TOO_LARGE', MAX_PAGE] as const) : (['TOO_SMALL', 1] as const);
  if (size < 1 || size > MAX_PAGE)
    throw invalid(isFromEnd ? 'last' : 'first', `must be from 1 to ${MAX_PAGE}`, code, limit);
  const window = { after: relayCursorId(page.after, 'after'), before: relayCursorId(page.before, 'before') };
  const { entries: found } = await findFeedEntries(context, conditions, {
    ...window,
    limit: size + 1,
    isBackward: isFromEnd,
  });
  const isFull = found.length > size;
  return {
    rows: isFull ? (isFromEnd ? found.slice(1) : found.slice(0, size)) : found,
    hasNextPage: isFromEnd ? isGiven(page.before) : isFull,
    hasPreviousPage: isFromEnd ? isFull : isGiven(page.after),
    cursorOf: ({ id }) => String(id),
  };
}

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
