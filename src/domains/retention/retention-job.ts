import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { OrganizationId, SessionId } from '../../core/ids.ts';
import { type JobContext, enqueueJob, jobHandler } from '../../core/jobs.ts';
import { DELETION_BATCH, SMALL_DELETION_BATCH } from '../../core/module.ts';
import { timeToDelete } from '../../core/stored-time.ts';
import { BatchSize } from '../../core/work-budget.ts';
import { deleteAuditEntries } from '../audit-log/public.ts';
import { deleteSessions, sessionTopic, sessionsTopic } from '../sessions/public.ts';
import { KINDS, cutoff, retentionOf } from './periods.ts';
import { type RetentionCounts, definitionIdsOf, deleteOldOccurrences, findOrganizations } from './queries.ts';
import { type AuditTables, jobEntry, recordAudit } from '../../core/audit.ts';
import { lockName } from '../../core/postgres/advisory-lock.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';

/** The audit log entry of a run of the retention job in an organization. */

const OPERATION = 'applyRetention';

interface Run {
  /** The same for all attempts: if a worker dies, another one continues the run. */
  readonly jobId: string;
  readonly organizationId: OrganizationId;
}

/**
 * Adds to the counts of the entry, in the transaction that deletes: so the entry covers what was deleted, wherever the run ends. The first
 * deletion of a run writes the entry.
 */
async function countDeleted(
  em: EntityManager,
  clock: Pick<JobContext, 'now' | 'newId'>,
  { jobId, organizationId }: Run,
  deleted: Partial<RetentionCounts>,
): Promise<void> {
  // Two workers can run the job, if the first one was only slow.
  await lockName(em, `retention ${organizationId}`);
  const audit = em.getKysely<Readable<AuditTables>>();
  const latest = await audit
    .selectFrom('audit_entry')
    .select(['occurred_at as occurredAt', 'id', 'request_id as requestId', 'detail'])
    .where('target_id', '=', organizationId)
    .where('organization_id', '=', organizationId)
    .where('operation', '=', OPERATION)
    .orderBy('occurred_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (latest?.requestId !== jobId) {
    const target = { type: 'Organization' as const, id: organizationId, organizationId, detail: textOf(deleted) };
    return recordAudit(em, jobEntry(clock, jobId, OPERATION, target));
  }
  await audit
    .updateTable('audit_entry')
    .set({ detail: textOf(deleted, countsIn(latest.detail)) })
    .where('occurred_at', '=', latest.occurredAt)
    .where('id', '=', latest.id)
    .execute();
}

const COUNTED = [
  ['sessions', 'sessions'],
  ['occurrences', 'event occurrences'],
  ['auditEntries', 'audit log entries'],
] as const;

/** The counts are in the text alone, as `2 sessions, 0 event occurrences, 5 audit log entries`. */
const textOf = (deleted: Partial<RetentionCounts>, before: readonly number[] = []): string =>
  COUNTED.map(([kind, name], index) => `${(before[index] ?? 0) + (deleted[kind] ?? 0)} ${name}`).join(', ');

const countsIn = (text: string | null) => (text?.match(/\d+/g) ?? []).map(Number);

type Context = Pick<
  JobContext,
  'em' | 'sql' | 'now' | 'storedNow' | 'newId' | 'notifier' | 'settings' | 'signal' | 'log'
>;

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
  const at = await timeToDelete(context);
  if (!at) return;
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const some = await findOrganizations(sql, after, ORGANIZATIONS);
    for (const { id, ...own } of some) {
      const periods = retentionOf(own, settings);
      const run = { jobId, organizationId: id };
      if (KINDS.some((kind) => periods[kind] !== null)) await applyTo(context, run, { at, periods });
    }
    const last = some.at(-1);
    if (!last) return;
    after = last.id;
  }
}

interface Limits {
  readonly at: Date;
  readonly periods: ReturnType<typeof retentionOf>;
}

async function applyTo(context: Context, run: Run, { at, periods }: Limits): Promise<void> {
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
