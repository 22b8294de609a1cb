import { NotFoundError, notFound } from '../../core/errors.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { type Page, type PageArguments, mirrored, mirroredPage } from '../../core/postgres/reading/keyset.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { requireAccess } from '../../core/access.ts';
import { type OperationContext, defineOperation, guarded } from '../../core/operation.ts';
import type { SessionId } from '../../core/ids.ts';
import { READ_SESSIONS } from '../sessions/public.ts';
import { idOf } from './cursor.ts';
import { DEFAULT_PAGE, type SessionEventFilter, listSessionEventsInput } from './input.ts';
import {
  type SessionEventRow,
  type SessionEventSlice,
  countsOf,
  findEvents,
  findSlice,
  slicesOf,
  windowOf,
} from './queries.ts';

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
    const slice = await findSlice(context, sessionId, { messageId }, { after: idOf(cursor), limit: limit + 1 });
    if (!slice) throw notFound('session');
    const events = slice.events.slice(0, limit);
    const last = events.at(-1)?.id;
    return { events, nextCursor: String(last ?? cursor), hasMore: slice.isFull };
  },
});

/** The arguments of a list of events in GraphQL. */
export interface SessionEventList {
  readonly filter: SessionEventFilter;
  readonly page: PageArguments;
  /** When absent, by ascending id. */
  readonly direction?: 'ASC' | 'DESC';
  readonly selected?: Columns<SessionEventRow>;
}

/**
 * Reads Relay pages of the events of many sessions with one statement, and their counts with another. A session that the caller cannot read
 * has no events.
 */
export function pagesOfSessionEvents(
  context: OperationContext,
  { filter, page: asked, direction, selected }: SessionEventList,
): {
  readonly pages: LoadBatch<SessionId, Page<SessionEventRow>>;
  readonly counts: LoadBatch<SessionId, number>;
} {
  requireAccess(context.actor, READ_SESSIONS);
  const isDescending = direction === 'DESC';
  const page = isDescending ? mirrored(asked) : asked;
  const { window, size } = windowOf(page, DEFAULT_PAGE);
  const slices = slicesOf(context, filter, window, selected);
  const pageOf = (slice: SessionEventSlice) => toPage(slice, page, size);
  return {
    pages: async (sessionIds) =>
      new Map(
        Array.from(await slices(sessionIds), ([id, slice]) => [
          id,
          isDescending ? mirroredPage(pageOf(slice)) : pageOf(slice),
        ]),
      ),
    counts: countsOf(context, filter),
  };
}

function toPage({ events, isFull }: SessionEventSlice, page: PageArguments, size: number): Page<SessionEventRow> {
  const backward = page.last != null;
  const rows = events.length > size ? (backward ? events.slice(1) : events.slice(0, size)) : events;
  return {
    rows,
    hasNextPage: backward ? page.before != null : isFull,
    hasPreviousPage: backward ? isFull : page.after != null,
    cursorOf: ({ id }) => String(id),
  };
}

/** The events with these keys that the caller can read. */
export const readSessionEvents = guarded(
  READ_SESSIONS,
  (
    context: OperationContext,
    places: readonly { readonly sessionId: SessionId; readonly id: number }[],
    selected?: Columns<SessionEventRow>,
  ): Promise<SessionEventRow[]> => findEvents(context, places, selected),
);
