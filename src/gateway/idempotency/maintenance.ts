import type { EntityManager } from '@mikro-orm/postgresql';
import type { OrganizationId } from '../../core/ids.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import type { IdempotencyTables } from './entity.ts';

/** Deletes a batch of expired keys, except those that are being reused now. @returns how many were deleted. */
export async function deleteExpiredKeys(em: EntityManager, at: Date, batch: number): Promise<number> {
  const tables = em.getKysely<Readable<IdempotencyTables>>();
  const expired = tables
    .selectFrom('idempotency_key')
    .select(['user_id', 'digest'])
    .where('expires_at', '<=', at.toISOString())
    .orderBy('expires_at')
    .limit(batch)
    .forUpdate()
    .skipLocked();
  const { numDeletedRows } = await tables
    .deleteFrom('idempotency_key')
    .where((eb) => eb(eb.refTuple('user_id', 'digest'), 'in', expired.$asTuple('user_id', 'digest')))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Deletes a batch of the keys that were used in an organization, with their answers. @returns how many were deleted. */
export async function deleteKeysOfOrganization(
  em: EntityManager,
  organizationId: OrganizationId,
  batch: number,
): Promise<number> {
  const tables = em.getKysely<Readable<IdempotencyTables>>();
  const some = tables
    .selectFrom('idempotency_key')
    .select(['user_id', 'digest'])
    .where('organization_id', '=', organizationId)
    .limit(batch);
  const { numDeletedRows } = await tables
    .deleteFrom('idempotency_key')
    .where((eb) => eb(eb.refTuple('user_id', 'digest'), 'in', some.$asTuple('user_id', 'digest')))
    .executeTakeFirst();
  return Number(numDeletedRows);
}
