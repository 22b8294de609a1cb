import { z } from 'zod';
import { jobEntry, recordAudit } from '../../core/audit.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { type JobContext, enqueueJob, jobHandler } from '../../core/jobs.ts';
import { DELETION_BATCH, SMALL_DELETION_BATCH } from '../../core/module.ts';
import { deleteAuditEntries } from '../audit-log/public.ts';
import { deleteSessions, sessionTopic, sessionsTopic } from '../sessions/public.ts';
import { KINDS, cutoff, retentionOf } from './periods.ts';
import { type RetentionCounts, definitionIdsOf, deleteOldOccurrences, findOrganizations } from './queries.ts';

type Context = Pick<JobContext, 'em' | 'sql' | 'now' | 'newId' | 'notifier' | 'settings' | 'signal'>;

/** Deletes what is older than its organization keeps. It can be interrupted at any point; the next run continues. */
export const retentionJob = jobHandler({
  queue: 'retention',
  data: z.unknown(),
  schedule: '47 * * * *',
  run: (context) => applyRetention(context),
});

const ORGANIZATIONS = 100;

export async function applyRetention(context: Context): Promise<void> {
  const { sql, settings } = context;
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const some = await findOrganizations(sql, after, ORGANIZATIONS);
    for (const { id, ...own } of some) {
      const periods = retentionOf(own, settings);
      if (KINDS.some((kind) => periods[kind] !== null)) await applyTo(context, id, periods);
    }
    const last = some.at(-1);
    if (!last) return;
    after = last.id;
  }
}

/** Writes one entry to the audit log of the organization, with counts, if something was deleted. */
async function applyTo(
  context: Context,
  organizationId: OrganizationId,
  periods: ReturnType<typeof retentionOf>,
): Promise<void> {
  const at = context.now();
  const deleted: RetentionCounts = {
    sessions: await deleteOldSessions(context, organizationId, cutoff(periods.sessionDays, at)),
    occurrences: await deleteOccurrences(context, organizationId, cutoff(periods.occurrenceDays, at)),
    auditEntries: await deleteEntries(context, organizationId, cutoff(periods.auditLogDays, at)),
  };
  if (Object.values(deleted).every((count) => count === 0)) return;
  const detail = `${deleted.sessions} sessions, ${deleted.occurrences} event occurrences, ${deleted.auditEntries} audit log entries`;
  const target = { type: 'Organization' as const, id: organizationId, organizationId, detail };
  await recordAudit(context.em.fork(), jobEntry(context, context.newId(), 'applyRetention', target));
}

async function deleteOldSessions(
  { em, newId, notifier, signal }: Context,
  organizationId: OrganizationId,
  unchangedSince: Date | undefined,
): Promise<number> {
  let count = 0;
  for (; unchangedSince;) {
    signal.throwIfAborted();
    const which = { organizationId, unchangedSince };
    const { deleted } = await em.fork().transactional(async (transaction) => {
      const outcome = await deleteSessions(transaction, which, {
        batch: SMALL_DELETION_BATCH,
        deletionJobId: null,
        reason: 'retention',
      });
      const job = { id: newId(), data: { sessionIds: outcome.deleted }, delaySeconds: 0 };
      if (outcome.deleted.length > 0) await enqueueJob(transaction, 'session-purge', job);
      return outcome;
    });
    if (deleted.length === 0) break;
    count += deleted.length;
    for (const id of deleted) notifier.publish(sessionTopic(id));
    notifier.publish(sessionsTopic(organizationId));
  }
  return count;
}

async function deleteOccurrences(
  { em, sql, signal }: Context,
  organizationId: OrganizationId,
  before: Date | undefined,
): Promise<number> {
  if (!before) return 0;
  let count = 0;
  for (const definitionId of await definitionIdsOf(sql, organizationId))
    count += await exhaust(signal, () =>
      deleteOldOccurrences(em.fork(), { organizationId, definitionId }, before, DELETION_BATCH),
    );
  return count;
}

async function deleteEntries(
  { em, signal }: Context,
  organizationId: OrganizationId,
  before: Date | undefined,
): Promise<number> {
  return before ? exhaust(signal, () => deleteAuditEntries(em.fork(), before, DELETION_BATCH, organizationId)) : 0;
}

/** Repeats a deletion until it finds nothing. @returns how many rows were deleted. */
async function exhaust(signal: AbortSignal, deleteSome: () => Promise<number>): Promise<number> {
  let count = 0;
  for (let deleted = 1; deleted > 0; count += deleted) {
    signal.throwIfAborted();
    deleted = await deleteSome();
  }
  return count;
}
