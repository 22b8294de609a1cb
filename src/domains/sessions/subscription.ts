import { type OperationContext, guarded, requireAccess } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/columns.ts';
import { apiKeyTopic } from '../api-keys/entity.ts';
import { READ_SESSIONS, callerOf } from './policy.ts';
import type { SessionFilter } from './input.ts';
import { type SessionRow, findMatchingSessions, findSessionChanges } from './queries.ts';
import { sessionsTopic } from './topics.ts';

/** Processes do not agree on the time, and a change may commit after a later one: each look goes back this far. */
const OVERLAP_MS = 10_000;
/** Sessions of one look, and those that are remembered as seen. */
const MAX_CHANGED = 500;

/**
 * Follows the sessions of the organization that the caller may read and that fit the filter: each time one was created or changed, whichever process changed it, it is
 * given as it is then. Several changes in quick succession may come as one. Ends when the caller may not read sessions there any more.
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
