import { z } from 'zod';
import { idSchema } from '../../core/input/validation.ts';
import type { DeletionJobId } from '../../core/ids.ts';
import { recordAudit, jobEntry } from '../../core/audit.ts';
import { publishToFeed } from '../../core/feed.ts';
import { type JobContext, type JobHandler, jobHandler } from '../../core/jobs.ts';
import type { DeletionSteps } from '../../core/module.ts';

import { apiKeyTopic, revokeKeys } from '../api-keys/public.ts';
import { forgetInvited } from '../audit-log/public.ts';
import { deleteInvitationsOf, deleteInvitationsTo } from '../invitations/public.ts';
import {
  deleteOrganizationRow,
  handOverOrganizations,
  leaveOrganizations,
  lockOrganization,
  lockOrganizationsOf,
} from '../organizations/public.ts';
import { purgeSessions } from '../session-events/public.ts';
import { User, deleteUserRow, forgetPerson, lockUser } from '../users/public.ts';
import { deleteContents, deleteRest, lockJob } from './deletion-operations.ts';
import { DeletionJob } from './entity.ts';
import { deletionConflict } from './policy.ts';
import { deletionJobTopic } from './topics.ts';

/**
 * Deletes an account. The job can be interrupted at any point and run again, even by two workers at once. The first transaction makes all
 * decisions. All later steps are repeated until nothing is left, and the transaction that finds nothing left finishes the job.
 */
export const userDeletionJob = (steps: DeletionSteps): JobHandler =>
  jobHandler({
    queue: 'user-deletion',
    data: z.strictObject({ deletionJobId: idSchema<DeletionJobId>() }),
    run: async (context, { deletionJobId }) => {
      const hasBegun = await begin(context, deletionJobId);
      context.notifier.publish(deletionJobTopic(deletionJobId));
      if (!hasBegun) return;
      do {
        await sweep(context, deletionJobId, steps);
        await purgeSessions(context, { deletionJobId });
      } while (!(await finish(context, deletionJobId, steps)));
    },
  });

/**
 * Starts the deletion in one transaction, after which it cannot be undone: revokes the keys, ends the
 * memberships, and records organizations without members. The rules about the last administrator and held sessions are checked again first.
 * When it fails, so does the deletion, without changes.
 * @returns whether there is anything to delete.
 */
async function begin({ em, now, newId, notifier }: JobContext, id: DeletionJobId): Promise<boolean> {
  const revoked = await em.fork().transactional(async (transaction) => {
    const job = await lockJob(transaction, id);
    if (!job?.isActive()) return undefined;
    if (job.state === 'running') return [];
    await lockUser(transaction, job.userId);
    await lockOrganizationsOf(transaction, job.userId);
    const conflict = await deletionConflict(transaction, job.userId);
    if (conflict) {
      job.finish('failed', now(), conflict.message);
      return undefined;
    }
    job.start(now());
    for (const { organizationId, userId } of await handOverOrganizations({ em: transaction, now }, job.userId)) {
      const heir = await transaction.findOneOrFail(User, { id: userId });
      const target = { type: 'User' as const, id: userId, organizationId, label: heir.label(), detail: 'admin' };
      await recordAudit(transaction, jobEntry({ now, newId }, id, 'changeOrganizationMemberRole', target));
    }
    const left = await leaveOrganizations(transaction, job.userId);
    job.addEmptied(left.emptied);
    job.recordLeft(left.others);
    for (const organizationId of left.others)
      publishToFeed(transaction, { organizationId, subjectType: 'User', subjectId: job.userId, type: 'member.left' });
    await deleteInvitationsOf(transaction, left.emptied);
    const { email } = await transaction.findOneOrFail(User, { id: job.userId });
    await deleteInvitationsTo(transaction, email);
    await forgetInvited(transaction, email);
    for (const organizationId of left.others)
      await recordAudit(
        transaction,
        jobEntry({ now, newId }, id, 'deleteUser', { type: 'User', id: null, organizationId }),
      );
    return revokeKeys(transaction, { userId: job.userId }, now());
  });
  for (const keyId of revoked ?? []) notifier.publish(apiKeyTopic(keyId));
  return revoked !== undefined;
}

/** Runs all steps, each in as many transactions as it needs. */
async function sweep(context: JobContext, deletionJobId: DeletionJobId, steps: DeletionSteps): Promise<void> {
  const { em } = context;
  const { userId, emptiedOrganizations } = await em.fork().findOneOrFail(DeletionJob, { id: deletionJobId });
  // Not before the keys are revoked: requests that insert rows of the user lock the e-mail address, which is unique, and others follow them.
  await forgetPerson(em.fork(), userId);
  await deleteContents(context, steps.ofUser, { deletionJobId, id: userId });
  for (const id of emptiedOrganizations) await deleteContents(context, steps.ofOrganization, { deletionJobId, id });
}

/**
 * Deletes the rows of the organizations and the user, unless concurrent requests have added records. The rows are
 * locked, so that nothing can refer to them after the check.
 * @returns whether the deletion is finished.
 */
async function finish(context: JobContext, id: DeletionJobId, steps: DeletionSteps): Promise<boolean> {
  const { em, now } = context;
  return em.fork().transactional(async (transaction) => {
    const job = await lockJob(transaction, id);
    if (job?.state !== 'running') return true;
    const { userId, emptiedOrganizations } = job;
    await lockUser(transaction, userId, { forDeletion: true });
    for (const organizationId of emptiedOrganizations.toSorted())
      await lockOrganization(transaction, organizationId, { forDeletion: true });
    job.addEmptied((await leaveOrganizations(transaction, userId)).emptied);
    let found = job.emptiedOrganizations.length - emptiedOrganizations.length;
    const inTransaction = { ...context, em: transaction };
    found += await deleteRest(inTransaction, steps.ofUser, { deletionJobId: id, id: userId });
    for (const organizationId of emptiedOrganizations)
      found += await deleteRest(inTransaction, steps.ofOrganization, { deletionJobId: id, id: organizationId });
    if (found > 0) return false;
    for (const organizationId of emptiedOrganizations) await deleteOrganizationRow(transaction, organizationId);
    await deleteUserRow(transaction, userId);
    job.finish('done', now());
    return true;
  });
}
