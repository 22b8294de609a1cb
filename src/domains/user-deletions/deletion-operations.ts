import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import type { DeletionJobId } from '../../core/ids.ts';
import type { JobContext } from '../../core/jobs.ts';
import { type DeletionStep, type DeletionTarget, type StepContext } from '../../core/module.ts';
import { sessionTopic, sessionsTopic } from '../sessions/public.ts';
import { DeletionJob } from './entity.ts';
import { deletionJobTopic } from './topics.ts';

/** Parts of the deletion of an account or an organization. */

export const lockJob = (em: EntityManager, id: DeletionJobId): Promise<DeletionJob | null> =>
  em.findOne(DeletionJob, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });

/** Runs the work of a job that deletes something in an organization, and finishes it. It can be repeated at any point. @param work returns what the job has found */
export async function runDeletion(
  context: JobContext,
  id: DeletionJobId,
  work: (job: DeletionJob) => Promise<Partial<Pick<DeletionJob, 'heldSessions'>> | void>,
): Promise<void> {
  const { em, now, notifier } = context;
  const job = await em.fork().transactional(async (transaction) => {
    const locked = await lockJob(transaction, id);
    if (locked?.state === 'queued') locked.start(now());
    return locked;
  });
  if (job?.state === 'running') {
    notifier.publish(deletionJobTopic(id));
    const found = await work(job);
    await em.fork().transactional(async (transaction) => {
      const running = await lockJob(transaction, id);
      if (running?.state !== 'running') return;
      Object.assign(running, found);
      running.finish('done', now());
    });
  }
  notifier.publish(deletionJobTopic(id));
}

/** Repeats a step until it finds nothing, each time in a new transaction. */
async function exhaust(context: JobContext, step: DeletionStep, target: DeletionTarget): Promise<void> {
  const { em, signal, notifier } = context;
  for (;;) {
    signal.throwIfAborted();
    const {
      found,
      endedSessions = [],
      changedOrganizations = [],
    } = await em.fork().transactional((transaction) => step.run({ ...context, em: transaction }, target));
    if (found === 0) return;
    // Notifies live tails of the sessions that these are deleted, and those of their lists.
    for (const id of endedSessions) notifier.publish(sessionTopic(id));
    for (const id of changedOrganizations) notifier.publish(sessionsTopic(id));
  }
}

/** Deletes the records that the steps find, in batches. `purgeSessions` then deletes the events of their sessions. */
export async function deleteContents(
  context: JobContext,
  steps: readonly DeletionStep[],
  target: DeletionTarget,
): Promise<void> {
  for (const step of steps) await exhaust(context, step, target);
}

/** Runs all steps once more in the last transaction, which has locked the user or the organization. @returns how many rows were found. */
export async function deleteRest(
  context: StepContext,
  steps: readonly DeletionStep[],
  target: DeletionTarget,
): Promise<number> {
  let found = 0;
  for (const step of steps) found += (await step.run(context, target)).found;
  return found;
}
