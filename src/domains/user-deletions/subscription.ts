import type { DeletionJobId } from '../../core/ids.ts';
import { notFound } from '../../core/errors.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/entity.ts';
import { readDeletionJobs } from './operations.ts';
import { READ_DELETION_JOBS } from './policy.ts';
import type { DeletionJobRow } from './queries.ts';
import { deletionJobTopic } from './topics.ts';

/**
 * Follows a deletion that the caller has asked for: as it is now, then each time it has another state, whichever process changed it. Ends when
 * the deletion is over; that of the caller's account with an error once it runs, since their keys are revoked then.
 * @throws NotFoundError when there is no such deletion.
 */
export const followDeletionJob = guarded(
  READ_DELETION_JOBS,
  async (context: OperationContext, deletionJobId: DeletionJobId) => changesOf(context, deletionJobId),
);

async function* changesOf(
  context: OperationContext,
  deletionJobId: DeletionJobId,
): AsyncGenerator<DeletionJobRow, void, undefined> {
  const { signal } = context;
  const topics = [deletionJobTopic(deletionJobId), apiKeyTopic(context.actor.keyId)];
  const live = context.liveTails.open(context.actor, topics, signal);
  let last: string | undefined;
  try {
    for (let { actor } = context; signal?.aborted !== true; actor = await context.authenticateAgain()) {
      context.budget.renew();
      const [row] = await readDeletionJobs({ ...context, actor }, [deletionJobId]);
      if (!row) throw notFound('deletion job');
      if (row.state !== last) yield row;
      if (row.finishedAt !== null) return;
      last = row.state;
      await live.changed();
    }
  } finally {
    live.close();
  }
}
