import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { ConflictError, ForbiddenError, notFound, unauthenticated } from '../../core/errors.ts';
import { cancelJob, enqueueJob } from '../../core/jobs.ts';
import { type AuditTarget, type OperationContext, requireScope, write } from '../../core/operation.ts';
import type { Timestamp } from '../../core/sql.ts';
import { DeletionJob } from './entity.ts';
import type { CancelUserDeletionInput, DeleteUserInput } from './input.ts';
import { onlyAdminConflict } from './policy.ts';

export interface DeletionJobRow extends Pick<DeletionJob, 'id' | 'state' | 'error'> {
  readonly runAfter: Timestamp;
  readonly createdAt: Timestamp;
  readonly startedAt?: Timestamp | null;
  readonly finishedAt?: Timestamp | null;
}

/**
 * Queues the permanent deletion of the caller's account; what it deletes is in docs/deletion.md. Asking again while it is queued or runs
 * answers the same job, with the questionnaire as it was first given. The request and its job are one transaction.
 * @throws ForbiddenError for any user but the caller, an unknown one included; ConflictError while the caller is the only admin of an
 * organization that has other members.
 */
export const deleteUser = write(
  async ({ em, actor, now, newId, settings }: OperationContext, input: DeleteUserInput): Promise<DeletionJob> => {
    requireScope(actor, 'users.delete');
    if (input.userId.toLowerCase() !== actor.userId) throw new ForbiddenError('only the own account can be deleted');
    await lockUser(em, actor.userId);
    const asked = await em.findOne(DeletionJob, { userId: actor.userId, state: { $in: ['queued', 'running'] } });
    if (asked) return asked;
    const conflict = await onlyAdminConflict(em, actor.userId);
    if (conflict) throw conflict;
    const at = now();
    const delaySeconds = settings.userDeletionDelaySeconds;
    const job = em.create(DeletionJob, {
      id: newId(),
      userId: actor.userId,
      state: 'queued',
      questionnaire: input.deletionQuestionnaire ?? null,
      emptiedOrganizations: [],
      runAfter: new Date(at.getTime() + delaySeconds * 1000),
      createdAt: at,
    });
    await enqueueJob(em, 'user-deletion', { id: job.id, data: { deletionJobId: job.id }, delaySeconds });
    return job;
  },
  { operation: 'deleteUser', target: targetOf },
);

/** The job, not the user: the log keeps no ids of accounts that are gone. */
function targetOf({ id }: DeletionJob): AuditTarget {
  return { type: 'DeletionJob', id };
}

/** Holds the user until the transaction ends, so that requests of one user go one after the other. */
async function lockUser(em: EntityManager, userId: string): Promise<void> {
  const [user] = await em.execute<unknown[]>('select 1 from user_account where id = ? for no key update', [userId]);
  // The deletion has ended while this request was on its way.
  if (!user) throw unauthenticated();
}

/**
 * Calls a deletion off that has not begun: everything stays as it was.
 * @throws NotFoundError when it is not the caller's; ConflictError when it runs already, or is over.
 */
export const cancelUserDeletion = write(
  async ({ em, actor, now }: OperationContext, { deletionJobId }: CancelUserDeletionInput): Promise<DeletionJob> => {
    requireScope(actor, 'users.delete');
    const job = await em.findOne(
      DeletionJob,
      { id: deletionJobId, userId: actor.userId },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!job) throw notFound('deletion job');
    if (job.state !== 'queued')
      throw new ConflictError(`the deletion is ${job.state}; it can be cancelled only while it is queued`);
    job.finish('cancelled', now());
    await cancelJob(em, 'user-deletion', job.id);
    return job;
  },
  { operation: 'cancelUserDeletion', target: targetOf },
);

/** Those of the ids that are deletions of the caller's own account. */
export async function readDeletionJobs(
  { actor, sql }: OperationContext,
  ids: readonly string[],
): Promise<DeletionJobRow[]> {
  requireScope(actor, 'users.delete');
  return sql.query<DeletionJobRow>(
    `select id, state, error, run_after as "runAfter", created_at as "createdAt", started_at as "startedAt", finished_at as "finishedAt"
      from deletion_job where id = any($1) and user_id = $2`,
    [ids, actor.userId],
  );
}
