import { z } from 'zod';
import { idSchema } from '../../core/input/validation.ts';
import { settleChanges } from '../../core/authority.ts';
import type { DeletionJobId, OrganizationId } from '../../core/ids.ts';
import { type JobContext, type JobHandler, jobHandler } from '../../core/jobs.ts';
import type { DeletionStep, DeletionSteps, DeletionTarget } from '../../core/module.ts';
import { deleteOrganizationRow, lockOrganization } from '../organizations/public.ts';
import { purgeSessions } from '../session-events/public.ts';
import { deleteContents, deleteRest, deletionJobTopic, lockJob } from '../user-deletions/public.ts';

/**
 * Deletes an organization. The job can be interrupted at any point and run again, even by two workers at once: nobody
 * can access the organization since the request, and every step is repeated until nothing is left.
 */
export const organizationDeletionJob = ({ ofOrganization: steps }: DeletionSteps): JobHandler =>
  jobHandler({
    queue: 'organization-deletion',
    data: z.strictObject({ deletionJobId: idSchema<DeletionJobId>() }),
    run: async (context, { deletionJobId }) => {
      const organizationId = await begin(context, deletionJobId);
      context.notifier.publish(deletionJobTopic(deletionJobId));
      if (organizationId === undefined) return;
      const target = { deletionJobId, id: organizationId };
      do {
        await deleteContents(context, steps, target);
        await purgeSessions(context, { deletionJobId });
      } while (!(await finish(context, target, steps)));
      context.notifier.publish(deletionJobTopic(deletionJobId));
    },
  });

/** Waits for concurrent changes of former members, so that no rows are added after the deletion steps. */
async function begin({ em, now, sql }: JobContext, id: DeletionJobId): Promise<OrganizationId | undefined> {
  const job = await em.fork().transactional(async (transaction) => {
    const locked = await lockJob(transaction, id);
    if (!locked?.isActive()) return undefined;
    if (locked.state === 'queued') locked.start(now());
    return { organizationId: locked.organizationId, memberIds: locked.memberIds };
  });
  await settleChanges(sql, job?.memberIds ?? []);
  return job?.organizationId ?? undefined;
}

/** Deletes the row of the organization, unless more rows were found. @returns whether the deletion is finished. */
async function finish(context: JobContext, target: DeletionTarget, steps: readonly DeletionStep[]): Promise<boolean> {
  const { em, now } = context;
  return em.fork().transactional(async (transaction) => {
    const job = await lockJob(transaction, target.deletionJobId);
    if (job?.state !== 'running') return true;
    await lockOrganization(transaction, target.id, { forDeletion: true });
    if ((await deleteRest({ ...context, em: transaction }, steps, target)) > 0) return false;
    await deleteOrganizationRow(transaction, target.id);
    job.finish('done', now());
    return true;
  });
}
