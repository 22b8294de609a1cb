import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { SessionId } from '../../core/ids.ts';
import { type JobContext, enqueueJob, jobHandler } from '../../core/jobs.ts';
import { DELETION_BATCH, SMALL_DELETION_BATCH } from '../../core/module.ts';
import { BatchSize } from '../../core/work-budget.ts';
import { deleteAuditEntries } from '../audit-log/public.ts';
import { deleteSessions, sessionTopic, sessionsTopic } from '../sessions/public.ts';
import { KINDS, cutoff, retentionOf } from './periods.ts';
import { type RetentionCounts, definitionIdsOf, deleteOldOccurrences, findOrganizations } from './queries.ts';
import { type Run, countDeleted } from './run-entry.ts';

type Context = Pick<JobContext, 'em' | 'sql' | 'now' | 'newId' | 'notifier' | 'settings' | 'signal'>;

/** Deletes what is older than its organization keeps. It can be interrupted at any point; the next attempt continues. */
export const retentionJob = jobHandler({
  queue: 'retention',
  data: z.unknown(),
  schedule: '47 * * * *',
  run: (context, _, jobId) => applyRetention(context, jobId),
});

const ORGANIZATIONS = 100;

export async function applyRetention(context: Context, jobId: string): Promise<void> {
  const { sql, settings } = context;
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const some = await findOrganizations(sql, after, ORGANIZATIONS);
    for (const { id, ...own } of some) {
      const periods = retentionOf(own, settings);
      const run = { jobId, organizationId: id };
      if (KINDS.some((kind) => periods[kind] !== null)) await applyTo(context, run, periods);
    }
    const last = some.at(-1);
    if (!last) return;
    after = last.id;
  }
}

async function applyTo(context: Context, run: Run, periods: ReturnType<typeof retentionOf>): Promise<void> {
  const at = context.now();
  const { organizationId } = run;
  const unchangedSince = cutoff(periods.sessionDays, at);
  if (unchangedSince) await deleteOldSessions(context, run, unchangedSince);
  const receivedBefore = cutoff(periods.occurrenceDays, at);
  if (receivedBefore)
    for (const definitionId of await definitionIdsOf(context.sql, organizationId))
      await deleteAll(context, run, 'occurrences', {
        maxBatch: DELETION_BATCH,
        deleteSome: (em, batch) => deleteOldOccurrences(em, { organizationId, definitionId }, receivedBefore, batch),
      });
  const writtenBefore = cutoff(periods.auditLogDays, at);
  if (writtenBefore)
    await deleteAll(context, run, 'auditEntries', {
      maxBatch: DELETION_BATCH,
      deleteSome: (em, batch) => deleteAuditEntries(em, writtenBefore, batch, organizationId),
    });
}

async function deleteOldSessions(context: Context, run: Run, unchangedSince: Date): Promise<void> {
  const { newId, notifier } = context;
  const which = { organizationId: run.organizationId, unchangedSince };
  let deleted: readonly SessionId[] = [];
  const deleteSome = async (em: EntityManager, batch: number) => {
    ({ deleted } = await deleteSessions(em, which, { batch, deletionJobId: null, reason: 'retention' }));
    const job = { id: newId(), data: { sessionIds: deleted }, delaySeconds: 0 };
    if (deleted.length > 0) await enqueueJob(em, 'session-purge', job);
    return deleted.length;
  };
  const afterCommit = () => {
    for (const id of deleted) notifier.publish(sessionTopic(id));
    if (deleted.length > 0) notifier.publish(sessionsTopic(run.organizationId));
  };
  await deleteAll(context, run, 'sessions', { maxBatch: SMALL_DELETION_BATCH, deleteSome, afterCommit });
}

interface Deletion {
  readonly maxBatch: number;
  readonly deleteSome: (em: EntityManager, batch: number) => Promise<number>;
  readonly afterCommit?: () => void;
}

/** Deletes batches until nothing is found, each in a transaction with its count. */
async function deleteAll(
  { em, now, newId, signal }: Context,
  run: Run,
  kind: keyof RetentionCounts,
  { maxBatch, deleteSome, afterCommit }: Deletion,
): Promise<void> {
  const batch = new BatchSize(maxBatch);
  for (let deleted = 1; deleted > 0;) {
    signal.throwIfAborted();
    deleted = await batch.measure((size) =>
      em.fork().transactional(async (transaction) => {
        const count = await deleteSome(transaction, size);
        if (count > 0) await countDeleted(transaction, { now, newId }, run, { [kind]: count });
        return count;
      }),
    );
    afterCommit?.();
  }
}
