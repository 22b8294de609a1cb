import type { EntityManager } from '@mikro-orm/postgresql';
import type { OrganizationId } from '../../core/ids.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import type { EventOccurrenceTables } from './entity.ts';

/** Deletes a batch of the object identifiers of an organization, in the caller's transaction. @returns their object ids. */
export async function deleteIdentifiersOf(
  em: EntityManager,
  organizationId: OrganizationId,
  batch: number,
): Promise<string[]> {
  const tables = em.getKysely<Readable<EventOccurrenceTables>>();
  const some = tables
    .selectFrom('object_identifier')
    .select(['object_type', 'property_name', 'value'])
    .where('organization_id', '=', organizationId)
    .limit(batch);
  const deleted = await tables
    .deleteFrom('object_identifier')
    .where('organization_id', '=', organizationId)
    .where((eb) =>
      eb(
        eb.refTuple('object_type', 'property_name', 'value'),
        'in',
        some.$asTuple('object_type', 'property_name', 'value'),
      ),
    )
    .returning('object_id as id')
    .execute();
  return deleted.map(({ id }) => id);
}
