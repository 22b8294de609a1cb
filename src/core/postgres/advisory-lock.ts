import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';

/** Locks a name until the transaction ends, to serialize work that has no row to lock. */
export async function lockName(em: EntityManager, name: string): Promise<void> {
  await em
    .getKysely()
    .selectNoFrom(sql`pg_advisory_xact_lock(hashtextextended(${name}, 0))`.as('lock'))
    .execute();
}
