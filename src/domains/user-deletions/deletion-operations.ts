import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import type { DeletionJobId } from '../../core/ids.ts';
import type { JobContext } from '../../core/jobs.ts';
import {
  DELETION_BATCH,
  type DeletionStep,
  type DeletionTarget,
  type StepContext,
  type StepOutcome,
} from '../../core/module.ts';
import { purgeEvents } from '../session-events/public.ts';
import { sessionTopic, sessionsTopic } from '../sessions/public.ts';
import { DeletedSession, DeletionJob } from './entity.ts';

/** Parts of the deletion of an account or an organization. */

export function lockJob(em: EntityManager, id: DeletionJobId): Promise<DeletionJob | null> {
  return em.findOne(DeletionJob, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

/** Repeats a step until it finds nothing, each time in a new transaction. */
async function exhaust(context: JobContext, step: DeletionStep, target: DeletionTarget): Promise<void> {
  const { em, signal, notifier } = context;
  for (;;) {
    signal.throwIfAborted();
    const {
      found,
      endedSessions = [],
      deletedSessions = [],
    } = await em.fork().transactional((transaction) => runStep({ ...context, em: transaction }, step, target));
    if (found === 0) return;
    // Notifies live tails of the sessions that these are deleted, and those of their lists.
    for (const id of endedSessions) notifier.publish(sessionTopic(id));
    for (const id of new Set(deletedSessions.map(({ organizationId }) => organizationId)))
      notifier.publish(sessionsTopic(id));
  }
}

/** Runs a step, and records the sessions that it has deleted, whose events `purgeSessions` deletes. */
async function runStep(context: StepContext, step: DeletionStep, target: DeletionTarget): Promise<StepOutcome> {
  const outcome = await step.run(context, target);
  const notes = (outcome.deletedSessions ?? []).map(({ id, organizationId }) => ({
    sessionId: id,
    organizationId,
    deletionJob: target.deletionJobId,
  }));
  if (notes.length > 0) await context.em.insertMany(DeletedSession, notes);
  return outcome;
}

/** Deletes the records that the steps find, in batches. `purgeSessions` deletes the events of their sessions. */
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
  for (const step of steps) found += (await runStep(context, step, target)).found;
  return found;
}

/** Deletes the events of deleted sessions, in batches. */
export async function purgeSessions({ em, signal }: JobContext, deletionJobId: DeletionJobId): Promise<void> {
  for (;;) {
    const sessions = await em.fork().find(DeletedSession, { deletionJob: deletionJobId }, { limit: 100 });
    if (sessions.length === 0) return;
    for (const { sessionId } of sessions) {
      do signal.throwIfAborted();
      while ((await purgeEvents(em.fork(), sessionId, DELETION_BATCH)) > 0);
      await em.fork().nativeDelete(DeletedSession, { sessionId });
    }
  }
}
