import { NotFoundError } from '../../core/errors.ts';
import { followPages } from '../../core/followed-pages.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/public.ts';
import { READ_SESSIONS, readStreamHead, sessionNotFound, sessionTopic } from '../sessions/public.ts';
import { type ChangedEntries, type SeenEntries, changedEntries } from './entry-changes.ts';
import type { SessionEntryFilter } from './input.ts';
import type { Tail } from './live-tail.ts';
import { isPresent } from './queries.ts';

/** Entries that have begun or changed, which are sent together. */
export type EntryBatch = Omit<ChangedEntries, 'hasMore' | 'seen'> & { readonly lastEventId: number };

export interface TailedEntries {
  readonly pages: AsyncGenerator<readonly EntryBatch[], void, undefined>;
  /** As of `Tailed`, and whether the reader knows what the end has changed. */
  readonly hasEnded: boolean;
}

/** At most five batches a second. */
const MIN_INTERVAL_MS = 200;

interface EntryTail extends Omit<Tail, 'filter'> {
  readonly filter: SessionEntryFilter;
  /** Whether a reader that resumes knows what the end of the session has changed. */
  readonly knowsEnd?: boolean;
}

/**
 * Yields the entries that events after `after` have changed, and then those that any process changes: what was appended is folded first. Ends
 * like the tail of events.
 */
export const tailSessionEntries = guarded(
  READ_SESSIONS,
  async (
    context: OperationContext,
    { sessionId, after, filter, signal, knowsEnd }: EntryTail,
  ): Promise<TailedEntries> => {
    const following = context.with({ sql: context.sql.primary });
    const { isFinished, lastId } = await readStreamHead(following, sessionId);
    const isFirst = after === 0;
    let seen: SeenEntries = isFirst
      ? { lastEventId: 0, closedId: undefined, removedUntil: undefined, superseded: undefined, knownIds: [] }
      : {
          lastEventId: after,
          closedId: knowsEnd === true ? after : after - 1,
          removedUntil: 0,
          superseded: 0,
          knownIds: undefined,
        };
    let hasEnded = isFinished && after >= lastId;
    if (hasEnded && knowsEnd === false) {
      const left = await changedEntries(following, { sessionId, seen, filter });
      hasEnded = left !== undefined && left.isEnded && left.entries.length === 0;
    }
    const topics = [sessionTopic(sessionId), apiKeyTopic(context.actor.keyId)];
    const live = context.liveTails.open(context.actor, topics, signal);
    let sentAt = 0;
    const readPresent = async (current: OperationContext) => {
      const wait = sentAt + MIN_INTERVAL_MS - performance.now();
      if (wait > 0) await live.changed(wait);
      const found = await changedEntries(current, { sessionId, seen, filter });
      if (!found) throw sessionNotFound();
      const { entries, removed, hasMore, isEnded } = found;
      ({ seen } = found);
      const isSaid = entries.length + removed.length > 0;
      if (isSaid) sentAt = performance.now();
      const items = isSaid || isEnded ? [{ entries, removed, lastEventId: seen.lastEventId, isEnded }] : [];
      return { items, hasMore, isLast: isEnded };
    };
    const readPage = async (current: OperationContext) => {
      try {
        return await readPresent(current);
      } catch (error) {
        if (!(error instanceof NotFoundError) || (await isPresent(current, sessionId))) throw error;
        const end = { entries: [], removed: [], lastEventId: seen.lastEventId, isEnded: true };
        return { items: [end], hasMore: false, isLast: true };
      }
    };
    const pages = followPages<EntryBatch>(following, { live, access: READ_SESSIONS, signal, readPage });
    return { pages, hasEnded };
  },
);
