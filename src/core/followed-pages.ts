import { type Access, requireAccess } from './access.ts';
import type { LiveTail } from './live-tails.ts';
import type { OperationContext } from './operation.ts';
import { isDatabaseAway } from './postgres/failures.ts';

/** Interval of retries while the database is unreachable. */
const RETRY_MS = 500;

export interface FollowedPage<Item> {
  readonly items: readonly Item[];
  /** Whether more is stored already, so that the next page is read without waiting for a change. */
  readonly hasMore: boolean;
  /** Whether nothing can follow, so that the stream ends after this page. */
  readonly isLast?: boolean;
}

export interface FollowedPages<Item> {
  /** Closed when the iteration ends. */
  readonly live: LiveTail;
  /** Checked again, with the key, before every read. */
  readonly access: Access;
  readonly signal: AbortSignal | undefined;
  /** Reads the page after the last one that it has read. */
  readonly readPage: (current: OperationContext) => Promise<FollowedPage<Item>>;
}

/**
 * Yields pages: first what is stored, then what any process commits. Ends after the last page, or when the signal aborts. While the database is
 * unreachable, it retries. It throws when the rights of the caller have ended.
 */
export async function* followPages<Item>(
  context: OperationContext,
  { live, access, signal, readPage }: FollowedPages<Item>,
): AsyncGenerator<readonly Item[], void, undefined> {
  try {
    while (signal?.aborted !== true) {
      const page = await readUnlessAway(context, access, readPage);
      if (page === 'away') {
        await live.changed(RETRY_MS);
        continue;
      }
      // Nothing is held while the client reads, which may take long, or never end.
      context.budget.renew();
      if (page.items.length > 0) yield page.items;
      if (page.isLast) return;
      if (!page.hasMore) await live.changed();
    }
  } finally {
    live.close();
    context.budget.close();
  }
}

async function readUnlessAway<Item>(
  context: OperationContext,
  access: Access,
  readPage: FollowedPages<Item>['readPage'],
): Promise<FollowedPage<Item> | 'away'> {
  try {
    context.budget.renew();
    const current = context.with({ actor: await context.authenticateAgain() });
    requireAccess(current.actor, access);
    return await readPage(current);
  } catch (error) {
    if (isDatabaseAway(error)) return 'away';
    throw error;
  }
}
