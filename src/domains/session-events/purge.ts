import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { z } from 'zod';
import type { DeletionJobId, OrganizationId, SessionId } from '../../core/ids.ts';
import { idSchema } from '../../core/input/validation.ts';
import { type JobContext, jobHandler } from '../../core/jobs.ts';
import { DELETION_BATCH, SMALL_DELETION_BATCH } from '../../core/module.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { DeletedSession } from '../sessions/public.ts';
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

/** @returns how many rows were deleted; 0 when none are left. */
async function purgeBatch(em: EntityManager, sessionId: SessionId, organizationId: OrganizationId): Promise<number> {
  const tables = em.getKysely<Readable<SessionEventTables>>();
  const some = tables
    .selectFrom('session_event_batch')
    .select('batch_id')
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .limit(DELETION_BATCH);
  const batches = await tables
    .deleteFrom('session_event_batch')
    .where('session_id', '=', sessionId)
    .where('organization_id', '=', organizationId)
    .where('batch_id', '=', sql<string>`any(array(${some}))`)
    .executeTakeFirst();
  return Number(batches.numDeletedRows) + (await purgeEvents(em, sessionId));
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
