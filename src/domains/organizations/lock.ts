import type { EntityManager } from '@mikro-orm/postgresql';
import type { OrganizationId } from '../../core/ids.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import type { OrganizationTables } from './entity.ts';

/**
 * Locks the organization until the transaction ends, so that records with a maximum number are created one at a time.
 * `forDeletion` also waits for transactions that insert rows referring to the organization, and blocks new ones.
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
  // NO KEY UPDATE does not block inserts of rows that refer to the organization.
  await (forDeletion ? query.forUpdate() : query.forNoKeyUpdate()).execute();
}
