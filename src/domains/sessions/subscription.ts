import { requireAccess } from '../../core/access.ts';
import type { SessionId } from '../../core/ids.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { apiKeyTopic } from '../api-keys/public.ts';
import { CONTENT_COLUMNS } from './content-columns.ts';
import { FollowedSessions, MAX_FOLLOWED } from './followed-sessions.ts';
import type { SessionFilter } from './input.ts';
import { READ_SESSIONS, callerOf } from './policy.ts';
import { SESSIONS, type SessionRow, findSessionChanges, sessionColumns } from './queries.ts';
import { sessionsTopic } from './topics.ts';

/** Overlap of two reads: clocks of processes differ, and changes do not commit in the order of their times. */
const OVERLAP_MS = 10_000;
/** Maximum number of sessions in one read, and of changes that are remembered as already sent. */
const MAX_CHANGED = 500;

/** What happened to a session of the subscription. */
export interface SessionChange {
  /** If it cannot be read, as the caller could read it last. */
  readonly session: SessionRow;
  /** Whether the session no longer meets the filter, or can no longer be read. */
  readonly hasLeft: boolean;
  readonly isReadable: boolean;
}

/**
 * Yields each session of the organization that is created or changed, if the caller can read it and it meets the filter, whichever process
 * changed it. A session that no longer does is yielded once more, as `hasLeft`. Several changes in quick succession can be merged into one.
 * Ends when the caller can no longer read sessions.
 */
export const followSessions = guarded(
  READ_SESSIONS,
  async (context: OperationContext, filter: SessionFilter, selected?: Columns<SessionRow>) =>
    changesOf(context, { startedAt: context.now(), filter, selected }),
);

interface Followed {
  readonly startedAt: Date;
  readonly filter: SessionFilter;
  readonly selected: Columns<SessionRow>;
}

async function* changesOf(
  context: OperationContext,
  { startedAt, filter, selected }: Followed,
): AsyncGenerator<SessionChange, void, undefined> {
  const { signal } = context;
  const { organizationId, role } = callerOf(context.actor);
  const topics = [sessionsTopic(organizationId), apiKeyTopic(context.actor.keyId)];
  const live = context.liveTails.open(context.actor, topics, signal);
  const followed = new FollowedSessions();
  let seen: ReadonlyMap<string, string> | undefined;
  let lastRole = role;
  try {
    for (let { actor } = context; signal?.aborted !== true; actor = await context.authenticateAgain()) {
      requireAccess(actor, READ_SESSIONS, organizationId);
      context.budget.renew();
      const reading = context.with({ actor });
      if (!seen) for (const row of await latestSessions(reading, filter, selected)) followed.remember(row);
      const since = new Date(context.now().getTime() - OVERLAP_MS);
      const changes = await findSessionChanges(reading, since, MAX_CHANGED, followed.ids);
      const news = changes.filter(({ id, updatedAt }) =>
        seen ? seen.get(id) !== updatedAt : new Date(updatedAt) >= startedAt,
      );
      seen = new Map(changes.map(({ id, updatedAt }) => [id, updatedAt]));
      const ids = news.map(({ id }) => id);
      const rows = ids.length > 0 ? await SESSIONS.find(reading, ids, selected, filter) : [];
      // Without a change, sessions may have been deleted, and another role can read other sessions.
      const isComplete = ids.length > 0 && callerOf(actor).role === lastRole;
      lastRole = callerOf(actor).role;
      const left = isComplete
        ? ids.filter((id) => followed.has(id) && !rows.some((row) => row.id === id))
        : await goneOf(reading, followed.ids, filter);
      for (const row of rows) followed.remember(row);
      for (const session of rows.toSorted((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id)))
        yield { session, hasLeft: false, isReadable: true };
      if (left.length > 0) yield* leaving(reading, followed, left, selected);
      await live.changed();
    }
  } finally {
    live.close();
  }
}

/** The sessions that meet the filter and changed last, in the order of their last change, without the content, which can be large. */
async function latestSessions(
  reading: OperationContext,
  filter: SessionFilter,
  selected: Columns<SessionRow>,
): Promise<readonly SessionRow[]> {
  const content: readonly string[] = CONTENT_COLUMNS;
  const columns = sessionColumns(selected).filter((name) => !content.includes(name));
  const page = { first: MAX_FOLLOWED };
  const order = { field: 'UPDATED_AT', direction: 'DESC' } as const;
  return (await SESSIONS.page(reading, { filter, order, page, maxPageSize: MAX_FOLLOWED }, columns)).rows.toReversed();
}

/** Which of these sessions no longer meet the filter, or can no longer be read. */
async function goneOf(
  reading: OperationContext,
  ids: readonly SessionId[],
  filter: SessionFilter,
): Promise<readonly SessionId[]> {
  if (ids.length === 0) return [];
  const present = new Set((await SESSIONS.find(reading, ids, ['id'], filter)).map(({ id }) => id));
  return ids.filter((id) => !present.has(id));
}

/** Sessions that leave: as they are, or as the caller could read them last. */
async function* leaving(
  reading: OperationContext,
  followed: FollowedSessions,
  ids: readonly SessionId[],
  selected: Columns<SessionRow>,
): AsyncGenerator<SessionChange, void, undefined> {
  const readable = new Map((await SESSIONS.find(reading, ids, selected)).map((row) => [row.id, row]));
  for (const id of ids) {
    const last = followed.forget(id);
    const current = readable.get(id);
    const session = current ?? last;
    if (session) yield { session, hasLeft: true, isReadable: current !== undefined };
  }
}
