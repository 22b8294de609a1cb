import type { EntityManager } from '@mikro-orm/postgresql';
import type { SessionId } from '../../core/ids.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import type { SessionEventTables } from './entity.ts';
import { deleteTexts } from './search-index.ts';

/**
 * Deletes a batch of the events of a deleted session. Ids of a session are consecutive, so a batch is a range of ids.
 * @returns how many events were deleted; 0 when none are left.
 */
export async function purgeEvents(em: EntityManager, sessionId: SessionId, batch: number): Promise<number> {
  const tables = em.getKysely<Readable<SessionEventTables>>();
  const first = await tables
    .selectFrom('session_event')
    .select('id')
    .where('session_id', '=', sessionId)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  await deleteTexts(em, sessionId, first?.id ?? 0, first && first.id + batch);
  if (!first) return 0;
  const { numDeletedRows } = await tables
    .deleteFrom('session_event')
    .where('session_id', '=', sessionId)
    .where('id', '>=', first.id)
    .where('id', '<', first.id + batch)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
