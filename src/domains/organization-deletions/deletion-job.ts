import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { idSchema } from '../../core/input/validation.ts';
import { settleChanges } from '../../core/authority.ts';
import type { DeletionJobId, OrganizationId } from '../../core/ids.ts';
import { type JobContext, type JobHandler, jobHandler } from '../../core/jobs.ts';
import { deleteOrganizationRow, lockOrganization } from '../organizations/public.ts';
import { deleteContentsOf, deleteRestOf, deletionJobTopic, lockJob, purgeSessions } from '../user-deletions/public.ts';

/** Deletes a batch of the rows of an organization in tables of `gateway`, such as stored answers. @returns how many were deleted. */
type DeleteGatewayRows = (em: EntityManager, organizationId: OrganizationId, batch: number) => Promise<number>;

const BATCH = 5_000;

/**
 * Deletes an organization. The job can be interrupted at any point and run again, even by two workers at once: nobody
 * can access the organization since the request, and every step is repeated until nothing is left.
 */
export function organizationDeletionJob(deleteMore: DeleteGatewayRows): JobHandler {
  return jobHandler({
    queue: 'organization-deletion',
    data: z.strictObject({ deletionJobId: idSchema<DeletionJobId>() }),
    run: async (context, { deletionJobId }) => {
      const organizationId = await begin(context, deletionJobId);
      context.notifier.publish(deletionJobTopic(deletionJobId));
      if (organizationId === undefined) return;
      const target = { deletionJobId, id: organizationId };
      do {
        await deleteContentsOf(context, target);
        await purgeSessions(context, deletionJobId);
        while ((await deleteMore(context.em.fork(), organizationId, BATCH)) > 0) context.signal.throwIfAborted();
      } while (!(await finish(context, target, deleteMore)));
      context.notifier.publish(deletionJobTopic(deletionJobId));
    },
  });
}

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
async function finish(
  context: JobContext,
  target: { readonly deletionJobId: DeletionJobId; readonly id: string },
  deleteMore: DeleteGatewayRows,
): Promise<boolean> {
  const { em, now } = context;
  return em.fork().transactional(async (transaction) => {
    const job = await lockJob(transaction, target.deletionJobId);
    if (job?.state !== 'running') return true;
    await lockOrganization(transaction, target.id, { forDeletion: true });
    const found = await deleteRestOf({ ...context, em: transaction }, target);
    if (found + (await deleteMore(transaction, target.id, BATCH)) > 0) return false;
    await deleteOrganizationRow(transaction, target.id);
    job.finish('done', now());
    return true;
  });
}
