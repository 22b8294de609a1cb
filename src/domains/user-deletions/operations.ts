import { LockMode } from '@mikro-orm/postgresql';
import { ConflictError, ForbiddenError, NotFoundError, notFound, unauthenticated } from '../../core/errors.ts';
import { cancelJob, enqueueJob } from '../../core/jobs.ts';
import type { DeletionJobId, UserId } from '../../core/ids.ts';
import { type OperationContext, type WorkContext, defineOperation, guarded, unchanged } from '../../core/operation.ts';
import { type AuditTarget, operatorEntry, recordAudit } from '../../core/audit.ts';
import { User, lockUser } from '../users/public.ts';
import { DeletionJob } from './entity.ts';
import { cancelUserDeletionInput, deleteUserInput } from './input.ts';
import { DELETE_USER, READ_DELETION_JOBS, deletionConflict } from './policy.ts';
import { DELETION_JOBS } from './queries.ts';
import { deletionJobTopic } from './topics.ts';

/**
 * Queues the permanent deletion of the caller's account. docs/privacy.md lists what is deleted. While the job is
 * queued or running, a repeated request returns the same job and keeps the first questionnaire. The request and its job
 * are stored in one transaction.
 * @throws ForbiddenError for every other user, even an unknown one; ConflictError while the caller is the only
 * administrator of an organization that has other members, or the only member of one with held sessions.
 */
export const deleteUser = defineOperation({
  name: 'deleteUser',
  description:
    "Queues the permanent deletion of the caller's own account. A repeated request returns the same job. When the deletion runs, the key is revoked. Refused while the caller is the only administrator of an organization that they have created and that has other members; the longest member of others becomes the administrator. Refused too while the caller is the only member of an organization with held sessions.",
  access: DELETE_USER,
  input: deleteUserInput,
  errors: [ConflictError],
  run: async (context, input) => {
    const { actor } = context;
    if (input.userId.toLowerCase() !== actor.userId) throw new ForbiddenError('you can delete only your own account');
    if (!context.settings.isSelfDeletionAllowed)
      throw new ForbiddenError('only the operator of this gateway deletes accounts');
    const { job, isNew } = await queueDeletion(context, actor.userId, {
      questionnaire: input.deletionQuestionnaire ?? null,
    });
    return isNew ? job : unchanged(job);
  },
  target: targetOf,
});

/** Queues the deletion of an account in the caller's transaction. @returns its job, which may be queued already. @throws ConflictError */
export async function queueDeletion(
  { em, now, newId, settings }: Pick<OperationContext, 'em' | 'now' | 'newId' | 'settings'>,
  userId: UserId,
  {
    questionnaire = null,
    delaySeconds = settings.userDeletionDelaySeconds,
  }: { readonly questionnaire?: DeletionJob['questionnaire']; readonly delaySeconds?: number } = {},
): Promise<{ readonly job: DeletionJob; readonly isNew: boolean }> {
  // Requests of one user run one at a time. The deletion may have finished while this request waited.
  if (!(await lockUser(em, userId))) throw unauthenticated();
  const open = { userId, organizationId: null, state: { $in: ['queued' as const, 'running' as const] } };
  const asked = await em.findOne(DeletionJob, open);
  if (asked) return { job: asked, isNew: false };
  const conflict = await deletionConflict(em, userId);
  if (conflict) throw conflict;
  const at = now();
  const job = em.create(DeletionJob, {
    id: newId(),
    userId,
    kind: 'account',
    state: 'queued',
    questionnaire,
    emptiedOrganizations: [],
    leftOrganizations: [],
    runAfter: new Date(at.getTime() + delaySeconds * 1000),
    createdAt: at,
  });
  await enqueueJob(em, 'user-deletion', { id: job.id, data: { deletionJobId: job.id }, delaySeconds });
  return { job, isNew: true };
}

/** Queues the deletion of the account with this address, for the operator. @throws NotFoundError; ConflictError as `deleteUser` */
export const deleteUserByEmail = (
  context: WorkContext,
  email: string,
): Promise<{ readonly userId: UserId; readonly deletionJobId: DeletionJobId }> =>
  context.em.transactional(async (em) => {
    const user = await em.findOne(User, { email: email.toLowerCase() });
    if (!user) throw notFound('user');
    const { job, isNew } = await queueDeletion({ ...context, em }, user.id);
    if (isNew) await recordAudit(em, operatorEntry(context, 'deleteUser', targetOf(job)));
    return { userId: user.id, deletionJobId: job.id };
  });

/** The audit log entry names the job and not the user, because the log must not keep ids of deleted accounts. */
function targetOf({ id }: DeletionJob): AuditTarget {
  return { type: 'DeletionJob', id };
}

/**
 * Cancels a queued deletion. Nothing is deleted.
 * @throws NotFoundError when it is not the caller's deletion; ConflictError when it is already running or finished.
 */
export const cancelUserDeletion = defineOperation({
  name: 'cancelUserDeletion',
  description: "Cancels a queued deletion of the caller's account. Nothing is deleted.",
  access: DELETE_USER,
  input: cancelUserDeletionInput,
  errors: [NotFoundError, ConflictError],
  run: async ({ em, actor, now }, { deletionJobId }) => {
    const job = await em.findOne(
      DeletionJob,
      { id: deletionJobId, userId: actor.userId, organizationId: null },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!job) throw notFound('deletion job');
    if (job.state !== 'queued')
      throw new ConflictError(
        'WRONG_STATE',
        `the deletion is ${job.state}; it can be canceled only while it is queued`,
      );
    job.finish('cancelled', now());
    await cancelJob(em, 'user-deletion', job.id);
    return job;
  },
  target: targetOf,
  afterCommit: async (context, job) => {
    context.notifier.publish(deletionJobTopic(job.id));
    return job;
  },
});

export const listDeletionJobs = defineOperation({
  name: 'listDeletionJobs',
  description:
    'Lists the deletions and redactions that the caller requested, newest first by default. Finished ones stay in the list.',
  access: READ_DELETION_JOBS,
  run: DELETION_JOBS.read,
});

/** The deletions with these ids that the caller requested, of their account and of organizations. */
export const readDeletionJobs = guarded(READ_DELETION_JOBS, DELETION_JOBS.find);
