import type { EntityManager } from '@mikro-orm/postgresql';
import { type AuditTables, jobEntry, recordAudit } from '../../core/audit.ts';
import type { OrganizationId } from '../../core/ids.ts';
import type { JobContext } from '../../core/jobs.ts';
import { lockName } from '../../core/postgres/advisory-lock.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import type { RetentionCounts } from './queries.ts';

/** The audit log entry of a run of the retention job in an organization. */

const OPERATION = 'applyRetention';

export interface Run {
  /** The same for all attempts: if a worker dies, another one continues the run. */
  readonly jobId: string;
  readonly organizationId: OrganizationId;
}

/**
 * Adds to the counts of the entry, in the transaction that deletes: so the entry covers what was deleted, wherever the run ends. The first
 * deletion of a run writes the entry.
 */
export async function countDeleted(
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

const KINDS = [
  ['sessions', 'sessions'],
  ['occurrences', 'event occurrences'],
  ['auditEntries', 'audit log entries'],
] as const;

/** The counts are in the text alone, as `2 sessions, 0 event occurrences, 5 audit log entries`. */
function textOf(deleted: Partial<RetentionCounts>, before: readonly number[] = []): string {
  return KINDS.map(([kind, name], index) => `${(before[index] ?? 0) + (deleted[kind] ?? 0)} ${name}`).join(', ');
}

const countsIn = (text: string | null) => (text?.match(/\d+/g) ?? []).map(Number);
