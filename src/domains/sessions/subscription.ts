import { requireAccess } from '../../core/access.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { apiKeyTopic } from '../api-keys/public.ts';
import { READ_SESSIONS, callerOf } from './policy.ts';
import type { SessionFilter } from './input.ts';
import { type SessionRow, findMatchingSessions, findSessionChanges } from './queries.ts';
import { sessionsTopic } from './topics.ts';

/** Overlap of two reads: clocks of processes differ, and changes do not commit in the order of their times. */
const OVERLAP_MS = 10_000;
/** Maximum number of sessions in one read, and of changes that are remembered as already sent. */
const MAX_CHANGED = 500;

/**
 * Yields each session of the organization that is created or changed, if the caller can read it and it meets the filter, whichever process
 * changed it. Several changes in quick succession can be merged into one. Ends when the caller can no longer read sessions.
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
): AsyncGenerator<SessionRow, void, undefined> {
  const { signal } = context;
  const { organizationId } = callerOf(context.actor);
  const topics = [sessionsTopic(organizationId), apiKeyTopic(context.actor.keyId)];
  const live = context.liveTails.open(context.actor, topics, signal);
  let seen: ReadonlyMap<string, string> | undefined;
  try {
    for (let { actor } = context; signal?.aborted !== true; actor = await context.authenticateAgain()) {
      requireAccess(actor, READ_SESSIONS, organizationId);
      context.budget.renew();
      const since = new Date(context.now().getTime() - OVERLAP_MS);
      const changes = await findSessionChanges({ ...context, actor }, since, MAX_CHANGED);
      const news = changes.filter(({ id, updatedAt }) =>
        seen ? seen.get(id) !== updatedAt : new Date(updatedAt) >= startedAt,
      );
      seen = new Map(changes.map(({ id, updatedAt }) => [id, updatedAt]));
      const ids = news.map(({ id }) => id);
      const rows = ids.length > 0 ? await findMatchingSessions({ ...context, actor }, { ids, filter }, selected) : [];
      yield* rows.toSorted((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id));
      await live.changed();
    }
  } finally {
    live.close();
  }
}
