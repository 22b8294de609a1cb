import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { z } from 'zod';
import { idSchema } from '../../core/input/validation.ts';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import { jobHandler } from '../../core/jobs.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { organizationOfDeleted } from '../event-definitions/public.ts';
import type { EventOccurrenceTables } from './entity.ts';

/**
 * Deletes the occurrences of a deleted definition in batches. The transaction that deletes the definition locks its row
 * and queues the job. An occurrence sent at the same time is either committed before, so that the job finds it, or
 * refused because the definition is deleted.
 */

const BATCH = 5_000;
const TABLES = ['event_occurrence', 'event_occurrence_uuid'] as const;

/** Deletes one batch. @returns how many rows were deleted; 0 when none are left. */
export async function purgeOccurrences(
  em: EntityManager,
  organizationId: OrganizationId,
  definitionId: EventDefinitionId,
): Promise<number> {
  const db = em.getKysely<Readable<EventOccurrenceTables>>();
  let purged = 0;
  for (const table of TABLES) {
    const batch = db
      .selectFrom(table)
      .select(sql`ctid`.as('place'))
      .where('definition_id', '=', definitionId)
      .where('organization_id', '=', organizationId)
      .limit(BATCH);
    const { numDeletedRows } = await db
      .deleteFrom(table)
      // All rows of a definition are in one partition of one shard, so `ctid` identifies them.
      .where('definition_id', '=', definitionId)
      .where('organization_id', '=', organizationId)
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
    const organizationId = await organizationOfDeleted(em, definitionId);
    if (organizationId === undefined) return;
    do signal.throwIfAborted();
    while ((await purgeOccurrences(em, organizationId, definitionId)) > 0);
  },
});
