import { NotFoundError } from '../../core/errors.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { AskedList } from '../../core/graphql/lists.ts';
import type { Page } from '../../core/postgres/reading/keyset.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { requireAccess } from '../../core/access.ts';
import { type OperationContext, defineOperation, guarded } from '../../core/operation.ts';
import type { SessionId } from '../../core/ids.ts';
import { READ_SESSIONS, sessionNotFound } from '../sessions/public.ts';
import { type SessionEventFilter, listSessionEventsInput } from './input.ts';
import { type SessionEventRow, countsOf, findEvents, pageOfEvents, pagesOfEvents } from './queries.ts';

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
    const page = await pageOfEvents(context, sessionId, {
      filter: { messageId },
      page: { first: limit, after: cursor },
    });
    if (!page) throw sessionNotFound();
    return { events: page.rows, nextCursor: String(page.rows.at(-1)?.id ?? cursor), hasMore: page.hasNextPage };
  },
});

/**
 * Reads Relay pages of the events of many sessions with one statement, and their counts with another. A session that the caller cannot read
 * has neither.
 */
export const sessionEventsBelow = {
  pagesBelow: (
    context: OperationContext,
    { order: { direction }, ...asked }: AskedList<SessionEventFilter, 'ID'>,
    selected: Columns<SessionEventRow>,
  ): LoadBatch<string, Page<SessionEventRow>> => {
    requireAccess(context.actor, READ_SESSIONS);
    return pagesOfEvents(context, { ...asked, direction, selected });
  },
  countsBelow: (context: OperationContext, filter: SessionEventFilter): LoadBatch<string, number> => {
    requireAccess(context.actor, READ_SESSIONS);
    return countsOf(context, filter);
  },
};

/** The events with these keys that the caller can read. */
export const readSessionEvents = guarded(
  READ_SESSIONS,
  (
    context: OperationContext,
    places: readonly { readonly sessionId: SessionId; readonly id: number }[],
    selected?: Columns<SessionEventRow>,
  ): Promise<SessionEventRow[]> => findEvents(context, places, selected),
);
