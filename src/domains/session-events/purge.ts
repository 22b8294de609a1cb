import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { z } from 'zod';
import type { DeletionJobId, OrganizationId, SessionId } from '../../core/ids.ts';
import { idSchema } from '../../core/input/validation.ts';
import { type JobContext, jobHandler } from '../../core/jobs.ts';
import { DELETION_BATCH, SMALL_DELETION_BATCH } from '../../core/module.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { DeletedSession, type SessionTables } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { deleteTexts } from './search-index.ts';

/** Deletes what a deleted session leaves: events, searched texts and batch ids. Nobody can read them since its row is gone. */

type Deleted = { readonly deletionJobId: DeletionJobId } | { readonly sessionIds: readonly SessionId[] };

/** Purges deleted sessions, in batches. It can be interrupted at any point and run again, even by two workers at once. */
export async function purgeSessions({ em, signal }: Pick<JobContext, 'em' | 'signal'>, which: Deleted): Promise<void> {
  const condition = 'sessionIds' in which ? { sessionId: [...which.sessionIds] } : which;
  for (;;) {
    const sessions = await em.fork().find(DeletedSession, condition, { limit: 100 });
    if (sessions.length === 0) return;
    for (const { sessionId, organizationId } of sessions) {
      do signal.throwIfAborted();
      while ((await purgeBatch(em.fork(), sessionId, organizationId)) > 0);
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

/**
 * Deletes a batch of the batch ids of a session that is gone. A worker of an earlier release leaves them, because it expects a foreign key to
 * delete them. Each hour of the day has its part of the session ids, so that a run reads a small range of the primary key.
 */
export async function deleteOrphanedBatches(em: EntityManager, at: Date, batch: number): Promise<number> {
  const tables = em.getKysely<Readable<SessionEventTables & SessionTables>>();
  const hour = at.getUTCHours();
  const orphan = await tables
    .selectFrom('session_event_batch as b')
    .leftJoin('session as s', (join) =>
      join.onRef('s.id', '=', 'b.session_id').onRef('s.organization_id', '=', 'b.organization_id'),
    )
    .select(['b.session_id as sessionId', 'b.organization_id as organizationId'])
    .where(sql<boolean>`b.session_id >= ${firstIdOf(hour)}::uuid`)
    .$if(hour < 23, (query) => query.where(sql<boolean>`b.session_id < ${firstIdOf(hour + 1)}::uuid`))
    .where('s.id', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return orphan ? deleteBatchIds(em, orphan.sessionId, orphan.organizationId, batch) : 0;
}

const firstIdOf = (hour: number): string =>
  `${Math.floor((hour * 256) / 24)
    .toString(16)
    .padStart(2, '0')}000000-0000-0000-0000-000000000000`;

/** @returns how many rows were deleted; 0 when none are left. */
async function purgeBatch(em: EntityManager, sessionId: SessionId, organizationId: OrganizationId): Promise<number> {
  return (await deleteBatchIds(em, sessionId, organizationId, DELETION_BATCH)) + (await purgeEvents(em, sessionId));
}

async function deleteBatchIds(
  em: EntityManager,
  sessionId: SessionId,
  organizationId: OrganizationId,
  batch: number,
): Promise<number> {
  const tables = em.getKysely<Readable<SessionEventTables>>();
  const some = tables
    .selectFrom('session_event_batch')
    .select('batch_id')
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .limit(batch);
  const { numDeletedRows } = await tables
    .deleteFrom('session_event_batch')
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .where('batch_id', '=', sql<string>`any(array(${some}))`)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Ids of a session are consecutive, so a batch is a range of ids. */
async function purgeEvents(em: EntityManager, sessionId: SessionId): Promise<number> {
  const tables = em.getKysely<Readable<SessionEventTables>>();
  const first = await tables
    .selectFrom('session_event')
    .select('id')
    .where('session_id', '=', sessionId)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  await deleteTexts(em, sessionId, first?.id ?? 0, first && first.id + DELETION_BATCH);
  if (!first) return 0;
  const { numDeletedRows } = await tables
    .deleteFrom('session_event')
    .where('session_id', '=', sessionId)
    .where('id', '>=', first.id)
    .where('id', '<', first.id + DELETION_BATCH)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
