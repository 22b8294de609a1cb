import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { z } from 'zod';
import { groupBy } from '../../core/arrays.ts';
import type { DeletionJobId, OrganizationId, SessionId } from '../../core/ids.ts';
import { idSchema } from '../../core/input/validation.ts';
import { type JobContext, jobHandler } from '../../core/jobs.ts';
import { DELETION_BATCH, SMALL_DELETION_BATCH } from '../../core/module.ts';
import { eraseLateAnswers } from '../../core/stored-answers.ts';
import { DeletedSession } from '../sessions/public.ts';
import { letExpire } from './counted-messages.ts';

/** Deletes what a deleted session leaves: events, searched texts and batch ids. Nobody can read them since its row is gone. */

type Deleted = { readonly deletionJobId: DeletionJobId } | { readonly sessionIds: readonly SessionId[] };

/** Purges deleted sessions, in batches. It can be interrupted at any point and run again, even by two workers at once. */
export async function purgeSessions({ em, signal }: Pick<JobContext, 'em' | 'signal'>, which: Deleted): Promise<void> {
  const condition = 'sessionIds' in which ? { sessionId: [...which.sessionIds] } : which;
  for (;;) {
    const sessions = await em.fork().find(DeletedSession, condition, { limit: 100 });
    if (sessions.length === 0) return;
    for (const [organizationId, theirs] of groupBy(sessions, (session) => session.organizationId)) {
      const ids = theirs.map(({ sessionId }) => sessionId);
      await eraseLateAnswers(em.fork(), organizationId, ids);
    }
    for (const { sessionId, organizationId } of sessions) {
      await purge({ em, signal }, sessionId, organizationId);
      await em.fork().nativeDelete(DeletedSession, { sessionId });
    }
  }
}

/** Purges the sessions that were deleted by a person or by retention. */
export const sessionPurgeJob = jobHandler({
  queue: 'session-purge',
  data: z.strictObject({ sessionIds: z.array(idSchema<SessionId>()).max(SMALL_DELETION_BATCH) }),
  run: purgeSessions,
});

/** What is known of a session beside its events, with the rest of the primary key. */
const KNOWN = {
  session_event_batch: ['batch_id'],
  transcript_line: ['file', 'line'],
} as const;

/**
 * Deletes a batch of the batch ids, or of the lines, of a session that is gone. A worker of an earlier release leaves them. Each hour of the day has
 * its part of the session ids, so that a run reads a small range of the primary key.
 */
export async function deleteOrphans(
  em: EntityManager,
  { table, at, batch }: { readonly table: keyof typeof KNOWN; readonly at: Date; readonly batch: number },
): Promise<number> {
  const hour = at.getUTCHours();
  const until = hour < 23 ? sql`and b.session_id < ${firstIdOf(hour + 1)}::uuid` : sql``;
  const {
    rows: [orphan],
  } = await sql<{ sessionId: SessionId; organizationId: OrganizationId }>`
    select b.session_id as "sessionId", b.organization_id as "organizationId"
    from ${sql.table(table)} b left join session s on s.id = b.session_id and s.organization_id = b.organization_id
    where b.session_id >= ${firstIdOf(hour)}::uuid ${until} and s.id is null limit 1`.execute(em.getKysely());
  return orphan ? deleteKnown(em, table, orphan, batch) : 0;
}

const firstIdOf = (hour: number): string =>
  `${Math.floor((hour * 256) / 24)
    .toString(16)
    .padStart(2, '0')}000000-0000-0000-0000-000000000000`;

/** The tables of events, with the columns of their keys within a session, and what is before all of these. */
const OF_EVENTS = [
  ['session_text', 'item', ''],
  ['session_entry', 'id', 0],
  ['removed_entry', 'id', 0],
  ['session_event', 'id', 0],
] as const;

async function purge(
  { em, signal }: Pick<JobContext, 'em' | 'signal'>,
  sessionId: SessionId,
  organizationId: OrganizationId,
): Promise<void> {
  for (const table of ['session_event_batch', 'transcript_line'] as const)
    do signal.throwIfAborted();
    while ((await deleteKnown(em.fork(), table, { sessionId, organizationId }, DELETION_BATCH)) > 0);
  await letExpire(em.fork(), sessionId, organizationId);
  for (const [table, column, beginning] of OF_EVENTS)
    for (let after: string | number | undefined = beginning; after !== undefined;) {
      signal.throwIfAborted();
      after = await purgeAfter(em.fork(), sessionId, [table, column], after);
    }
}

/**
 * Deletes the next rows in the order of the primary key, which serves both statements, whatever is known of the session when they are planned.
 * @returns the last key, because passing deleted rows again takes long; undefined when none is left.
 */
async function purgeAfter(
  em: EntityManager,
  sessionId: SessionId,
  [table, column]: readonly [string, string],
  after: string | number,
): Promise<string | number | undefined> {
  const tables = em.getKysely();
  const [name, key] = [sql.table(table), sql.ref(column)];
  const later = sql`session_id = ${sessionId}::uuid and ${key} > ${after}`;
  const { rows } = await sql<{ last: string | number }>`
    select ${key} as last from ${name} where ${later} order by ${key} offset ${sql.lit(DELETION_BATCH - 1)} limit 1`.execute(
    tables,
  );
  const last = rows[0]?.last;
  await sql`delete from ${name} where ${later}${last === undefined ? sql`` : sql` and ${key} <= ${last}`}`.execute(
    tables,
  );
  return last;
}

async function deleteKnown(
  em: EntityManager,
  table: keyof typeof KNOWN,
  { sessionId, organizationId }: { readonly sessionId: SessionId; readonly organizationId: OrganizationId },
  batch: number,
): Promise<number> {
  const name = sql.table(table);
  const key = sql.join(KNOWN[table].map((column) => sql.ref(column)));
  const ofSession = sql`session_id = ${sessionId}::uuid and organization_id = ${organizationId}::uuid`;
  const { numAffectedRows } = await sql`
    delete from ${name} where ${ofSession} and (${key}) in (select ${key} from ${name} where ${ofSession} limit ${batch})`.execute(
    em.getKysely(),
  );
  return Number(numAffectedRows);
}
