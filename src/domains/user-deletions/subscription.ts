import type { DeletionJobId } from '../../core/ids.ts';
import { notFound } from '../../core/errors.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/public.ts';
import { readDeletionJobs } from './operations.ts';
import { READ_DELETION_JOBS } from './policy.ts';
import type { DeletionJobRow } from './queries.ts';
import { deletionJobTopic } from './topics.ts';

/**
 * Yields the current state of a deletion that the caller requested, and then each new state, whichever process changed it. Ends when the
 * deletion is finished. For the caller's account it throws when the deletion begins, because that revokes the key.
 * @throws NotFoundError when the caller requested no such deletion.
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
      const [row] = await readDeletionJobs(context.with({ actor }), [deletionJobId]);
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
