import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import type { DeletionJobId } from '../../core/ids.ts';
import type { JobContext } from '../../core/jobs.ts';
import { purgeEvents } from '../session-events/public.ts';
import { sessionTopic } from '../sessions/public.ts';
import { BATCH, ORGANIZATION_STEPS, type Step, type StepContext, type Target } from './deletion-steps.ts';
import { DeletedSession, DeletionJob } from './entity.ts';

/** Parts of the deletion of an account or an organization. */

export function lockJob(em: EntityManager, id: DeletionJobId): Promise<DeletionJob | null> {
  return em.findOne(DeletionJob, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

/** Repeats a step until it finds nothing, each time in a new transaction. */
export async function exhaust(context: JobContext, step: Step, target: Target): Promise<void> {
  const { em, signal, notifier } = context;
  for (;;) {
    signal.throwIfAborted();
    const ids = await em.fork().transactional((transaction) => step.run({ ...context, em: transaction }, target));
    if (ids.length === 0) return;
    // Notifies live tails of the sessions that these are deleted.
    if (step.endsSessions) for (const id of ids) notifier.publish(sessionTopic(id));
  }
}

/** Deletes the records of an organization in batches. `purgeSessions` deletes the events of its sessions. */
export async function deleteContentsOf(context: JobContext, organization: Target): Promise<void> {
  for (const step of ORGANIZATION_STEPS) await exhaust(context, step, organization);
}

/** Runs all steps once more in the last transaction, which has locked the organization. @returns how many rows were found. */
export async function deleteRestOf(context: StepContext, organization: Target): Promise<number> {
  let found = 0;
  for (const step of ORGANIZATION_STEPS) found += (await step.run(context, organization)).length;
  return found;
}

/** Deletes the events of deleted sessions, in batches. */
export async function purgeSessions({ em, signal }: JobContext, deletionJobId: DeletionJobId): Promise<void> {
  for (;;) {
    const sessions = await em.fork().find(DeletedSession, { deletionJob: deletionJobId }, { limit: 100 });
    if (sessions.length === 0) return;
    for (const { sessionId } of sessions) {
      do signal.throwIfAborted();
      while ((await purgeEvents(em.fork(), sessionId, BATCH)) > 0);
      await em.fork().nativeDelete(DeletedSession, { sessionId });
    }
  }
}
