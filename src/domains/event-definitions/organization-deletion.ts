import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import { EventDefinition } from './entity.ts';

/** Steps of the deletion of an organization. Each runs in the caller's transaction. */

/** Locks a batch of the definitions of an organization, so that no new occurrences are stored for them. @returns their ids. */
export async function lockDefinitionsOf(
  em: EntityManager,
  organizationId: OrganizationId,
  batch: number,
): Promise<EventDefinitionId[]> {
  const definitions = await em.find(
    EventDefinition,
    { organization: organizationId },
    { fields: ['id'], orderBy: { id: 'asc' }, limit: batch, lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  return definitions.map(({ id }) => id);
}

/** Deletes a definition with its properties. Its occurrences must be deleted before. */
export async function deleteDefinitionRow(em: EntityManager, definitionId: EventDefinitionId): Promise<void> {
  await em.nativeDelete(EventDefinition, { id: definitionId });
}
