import type { EntityManager } from '@mikro-orm/postgresql';
import type { OrganizationId } from '../../core/ids.ts';
import type { Readable } from '../../core/postgres/queries.ts';
import type { OrganizationTables } from './entity.ts';

/**
 * Locks the organization until the transaction ends: what may exist only so many times in it is created one after the other. `forDeletion` also
 * waits for those who refer to the organization, and keeps others from it.
 */
export async function lockOrganization(
  em: EntityManager,
  organizationId: OrganizationId,
  { forDeletion = false } = {},
): Promise<void> {
  const query = em
    .getKysely<Readable<OrganizationTables>>()
    .selectFrom('organization')
    .select('id')
    .where('id', '=', organizationId);
  // NO KEY: rows that merely refer to the organization may be inserted meanwhile.
  await (forDeletion ? query.forUpdate() : query.forNoKeyUpdate()).execute();
}
