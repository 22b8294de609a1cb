import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { enqueueJob, jobHandler } from '../../core/jobs.ts';

/** Occurrences of a deleted definition are out of reach at once; their rows go afterwards, by a job, in batches. */

const BATCH = 5_000;

/**
 * Queues the purge, if there is anything to purge. Part of the transaction that deletes the definition and holds its row: what is being
 * sent has come before, and is seen here, or finds no definition.
 */
export async function enqueuePurge(em: EntityManager, definitionId: string): Promise<void> {
  const found = await em.execute<unknown[]>('select 1 from event_occurrence where definition_id = ? limit 1', [
    definitionId,
  ]);
  if (found.length === 0) return;
  await enqueueJob(em, 'event-purge', { id: definitionId, data: { definitionId }, delaySeconds: 0 });
}

/** @returns how many rows of a batch were deleted; 0 when none are left. */
export async function purgeOccurrences(em: EntityManager, definitionId: string): Promise<number> {
  let purged = 0;
  // A definition has its rows in one partition, where their places identify them.
  for (const table of ['event_occurrence', 'event_occurrence_uuid']) {
    const rows = await em.execute<unknown[]>(
      `delete from ${table} where definition_id = ? and ctid = any(array(select ctid from ${table} where definition_id = ? limit ${BATCH})) returning 1`,
      [definitionId, definitionId],
    );
    purged += rows.length;
  }
  return purged;
}

export const eventPurgeJob = jobHandler({
  queue: 'event-purge',
  data: z.strictObject({ definitionId: z.uuid() }),
  run: async ({ em, signal }, { definitionId }) => {
    const alive = await em.execute<unknown[]>('select 1 from event_definition where id = ? and deleted_at is null', [
      definitionId,
    ]);
    if (alive.length > 0) throw new Error(`the event definition ${definitionId} is not deleted`);
    do signal.throwIfAborted();
    while ((await purgeOccurrences(em, definitionId)) > 0);
  },
});
