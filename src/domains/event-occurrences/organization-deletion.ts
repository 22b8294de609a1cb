import type { EntityManager } from '@mikro-orm/postgresql';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import { SMALL_DELETION_BATCH } from '../../core/module.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { deleteDefinitionRow, lockDefinitionsOf } from '../event-definitions/public.ts';
import type { EventOccurrenceTables } from './entity.ts';
import { purgeOccurrences } from './purge.ts';

/** Steps of the deletion of an organization. Each runs in the caller's transaction. */

/** Deletes a batch of the definitions of an organization, each when all its occurrences are deleted. @returns the ids that were found. */
export async function deleteDefinitions(
  em: EntityManager,
  organizationId: OrganizationId,
): Promise<EventDefinitionId[]> {
  const ids = await lockDefinitionsOf(em, organizationId, SMALL_DELETION_BATCH);
  for (const id of ids) {
    // At most one batch of occurrences is deleted in a transaction.
    if ((await purgeOccurrences(em, organizationId, id)) > 0) break;
    await deleteDefinitionRow(em, id);
  }
  return ids;
}

/** Deletes a batch of the object identifiers of an organization. @returns their object ids. */
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
