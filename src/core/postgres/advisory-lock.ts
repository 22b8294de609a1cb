import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';

/** Locks a name until the transaction ends, to serialize work that has no row to lock. Transactions that share it do not wait for each other. */
export async function lockName(em: EntityManager, name: string, { isShared = false } = {}): Promise<void> {
  const lock = sql.ref(isShared ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock');
  await em
    .getKysely()
    .selectNoFrom(sql`${lock}(hashtextextended(${name}, 0))`.as('lock'))
    .execute();
}
