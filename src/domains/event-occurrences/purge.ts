import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { z } from 'zod';
import { idSchema } from '../../core/input/validation.ts';
import type { EventDefinitionId } from '../../core/ids.ts';
import { jobHandler } from '../../core/jobs.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { isInUse } from '../event-definitions/public.ts';
import type { EventOccurrenceTables } from './entity.ts';

/**
 * Deletes the occurrences of a deleted definition in batches. The transaction that deletes the definition locks its row
 * and queues the job. An occurrence sent at the same time is either committed before, so that the job finds it, or
 * refused because the definition is deleted.
 */

const BATCH = 5_000;
const TABLES = ['event_occurrence', 'event_occurrence_uuid'] as const;

/** Deletes one batch. @returns how many rows were deleted; 0 when none are left. */
export async function purgeOccurrences(em: EntityManager, definitionId: EventDefinitionId): Promise<number> {
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
      // All rows of a definition are in one partition, so `ctid` identifies them.
      .where('definition_id', '=', definitionId)
      .where(sql`ctid`, '=', sql`any(array(${batch}))`)
      .executeTakeFirst();
    purged += Number(numDeletedRows);
  }
  return purged;
}

export const eventPurgeJob = jobHandler({
  queue: 'event-purge',
  data: z.strictObject({ definitionId: idSchema<EventDefinitionId>() }),
  run: async ({ em, signal }, { definitionId }) => {
    if (await isInUse(em, definitionId)) throw new Error(`the event definition ${definitionId} is not deleted`);
    do signal.throwIfAborted();
    while ((await purgeOccurrences(em, definitionId)) > 0);
  },
});
