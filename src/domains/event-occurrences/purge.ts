import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { z } from 'zod';
import { jobHandler } from '../../core/jobs.ts';
import type { Readable } from '../../core/postgres/queries.ts';
import { isInUse } from '../event-definitions/operations.ts';
import type { EventOccurrenceTables } from './entity.ts';

/**
 * Occurrences of a deleted definition are out of reach at once; their rows go afterwards, by a job, in batches. The transaction that deletes
 * the definition queues it, and holds its row: what is being sent has come before, and is seen here, or finds no definition.
 */

const BATCH = 5_000;
const TABLES = ['event_occurrence', 'event_occurrence_uuid'] as const;

/** @returns how many rows of a batch were deleted; 0 when none are left. */
export async function purgeOccurrences(em: EntityManager, definitionId: string): Promise<number> {
  const db = em.getKysely<Readable<EventOccurrenceTables>>();
  let purged = 0;
  for (const table of TABLES) {
    const batch = db
      .selectFrom(table)
      .select(sql`ctid`.as('place'))
      .where('definition_id', '=', definitionId)
      .limit(BATCH);
    const { numDeletedRows } = await db
      .deleteFrom(table)
      // A definition has its rows in one partition, where their places identify them.
      .where('definition_id', '=', definitionId)
      .where(sql`ctid`, '=', sql`any(array(${batch}))`)
      .executeTakeFirst();
    purged += Number(numDeletedRows);
  }
  return purged;
}

export const eventPurgeJob = jobHandler({
  queue: 'event-purge',
  data: z.strictObject({ definitionId: z.uuid() }),
  run: async ({ em, signal }, { definitionId }) => {
    if (await isInUse(em, definitionId)) throw new Error(`the event definition ${definitionId} is not deleted`);
    do signal.throwIfAborted();
    while ((await purgeOccurrences(em, definitionId)) > 0);
  },
});
