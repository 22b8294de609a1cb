import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import type { AuditTarget } from '../../core/audit.ts';
import { ConflictError, ForbiddenError, NotFoundError, invalid } from '../../core/errors.ts';
import { isEmptyUpdate, requireUnchanged } from '../../core/input/expected-version.ts';
import { enqueueJob } from '../../core/jobs.ts';
import type { ActingOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import { givenNames } from '../../core/keys-of.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { enumValue, enumValues, wording } from '../../core/text/wording.ts';
import { lockOrganization } from '../organizations/public.ts';
import { DEFAULT_PROPERTIES, propertyMeantBy } from './default-properties.ts';
import { type CustomMatchingId, EventDefinition } from './entity.ts';
import {
  type CreateEventDefinitionInput,
  createEventDefinitionInput,
  eventDefinitionReference,
  updateEventDefinitionInput,
} from './input.ts';
import { baseNameFor, definitionNameTaken, firstFreeName } from './naming.ts';
import { EVENT_DEFINITIONS, requireEventDefinitions } from './policy.ts';
import { newProperties } from './property-operations.ts';
import { deletableOf, namesLike } from './queries.ts';
import { lockDefinition } from './row-locks.ts';

// Used by other domain modules.

/** @throws ValidationError when custom matching names no property of type string or number. */
export const createEventDefinition = defineOperation({
  name: 'createEventDefinition',
  description:
    'Creates an event definition with its properties. Without `name`, a name is generated from the label. A name can never be used again, even when its definition is deleted. A definition has at most 50 custom properties; default properties do not count.',
  access: EVENT_DEFINITIONS,
  input: createEventDefinitionInput,
  errors: [ConflictError],
  run: async (context, input) => {
    const { em, actor } = context;
    const organization = requireEventDefinitions(actor);
    // Definitions of an organization are created one at a time, so that a generated name is still free at the insert.
    await lockOrganization(em, organization.id);
    // Must run before `em.create`: a query flushes new entities, and would then find the new definition.
    if (input.name !== undefined) await refuseTakenName(em, organization, input.name);
    const name = input.name ?? (await generateName(context.sql, organization, input.label));
    const definition = newDefinition(context, organization, { ...input, name });
    const properties = newProperties(definition, input.propertyDefinitions, context);
    checkCustomMatching(definition.customMatchingId, [
      ...properties,
      ...(definition.includeDefaultProperties ? DEFAULT_PROPERTIES : []),
    ]);
    em.persist([definition, ...properties]);
    return definition;
  },
  target: targetOf,
  conflicts: { event_definition_name_unique: ({ name = '' }) => definitionNameTaken(name) },
});

/** A definition that is not yet persisted. */
export function newDefinition(
  { em, actor, now, newId }: OperationContext,
  organization: ActingOrganization,
  input: Omit<CreateEventDefinitionInput, 'propertyDefinitions'> & { readonly name: string },
): EventDefinition {
  const at = now();
  return em.create(
    EventDefinition,
    {
      id: newId(),
      organization: organization.id,
      name: input.name,
      label: input.label,
      description: input.description ?? null,
      primaryObject: input.primaryObject,
      customMatchingId: matchingOf(input),
      includeDefaultProperties: input.includeDefaultProperties,
      creator: actor.userId,
      createdAt: at,
      updatedAt: at,
      deletedAt: null,
    },
    { persist: false },
  );
}

function targetOf({ id, name }: EventDefinition): AuditTarget {
  return { type: 'EventDefinition', id, label: name };
}

/** The stored form of the matching rule. */
export function matchingOf({
  customMatchingId,
}: Pick<CreateEventDefinitionInput, 'customMatchingId'>): CustomMatchingId | null {
  if (!customMatchingId) return null;
  const { targetObjectPropertyName, eventPropertyName } = customMatchingId.primaryObjectRule;
  return { primaryObjectRule: { targetObjectPropertyName, eventPropertyName: propertyMeantBy(eventPropertyName) } };
}

async function generateName(sql: Sql, organization: ActingOrganization, label: string): Promise<string> {
  const base = baseNameFor(label, 'event');
  const taken = await sql.all(namesLike(organization, base));
  return firstFreeName(base, new Set(taken.map(({ name }) => name)));
}

async function refuseTakenName(em: EntityManager, organization: ActingOrganization, name: string): Promise<void> {
  const taken = await em.findOne(EventDefinition, { organization: organization.id, name });
  if (taken) throw definitionNameTaken(name, taken.deletedAt != null);
}

/** @throws ValidationError when custom matching names no property of type string or number. */
export function checkCustomMatching(
  matching: CustomMatchingId | null | undefined,
  properties: readonly { readonly name: string; readonly type: string }[],
): void {
  if (!matching) return;
  const { eventPropertyName } = matching.primaryObjectRule;
  const path = 'customMatchingId.primaryObjectRule.eventPropertyName';
  const property = properties.find(({ name }) => name === eventPropertyName);
  if (!property)
    throw invalid(
      path,
      `must be the name of a property of this definition; there is no property ${eventPropertyName}`,
      'NOT_FOUND',
    );
  if (property.type !== 'string' && property.type !== 'number') {
    throw invalid(
      path,
      wording`must be the name of a property of type ${enumValues(['string', 'number'], ' or ')}; ${eventPropertyName} is of type ${enumValue(property.type)}`,
    );
  }
}

export const updateEventDefinition = defineOperation({
  name: 'updateEventDefinition',
  description:
    'Updates the label and description of an event definition. An absent field does not change; null clears `description`. The other fields of a definition never change.',
  access: EVENT_DEFINITIONS,
  input: updateEventDefinitionInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { eventName, expectedUpdatedAt, ...changes }) => {
    const definition = await lockDefinition(context, eventName);
    requireUnchanged(definition, { expectedUpdatedAt }, { type: 'EventDefinition', key: definition.id });
    if (isEmptyUpdate(changes)) return unchanged(definition);
    definition.update(changes, context.now());
    return definition;
  },
  target: (definition, { eventName: _name, expectedUpdatedAt: _expected, ...changes }) => ({
    ...targetOf(definition),
    changedFields: givenNames(changes),
  }),
});

/** The row stays with `deletedAt`, so that its name can never be used again. */
export const deleteEventDefinition = defineOperation({
  name: 'deleteEventDefinition',
  description:
    'Deletes an event definition and its occurrences. This cannot be undone, and the name can never be used again. The definition is gone at once; a background job deletes its occurrences.',
  access: EVENT_DEFINITIONS,
  input: eventDefinitionReference,
  errors: [NotFoundError],
  run: async (context, { eventName }) => {
    const definition = await lockDefinition(context, eventName);
    await deleteWithOccurrences(context, definition);
    return definition;
  },
  target: targetOf,
});

/** Deletes a locked definition, and queues the job that deletes its occurrences. @throws ForbiddenError if the organization lets creators alone. */
export async function deleteWithOccurrences(context: OperationContext, definition: EventDefinition): Promise<void> {
  const { em, now } = context;
  if (!(await deletableOf(context)([definition.id])).get(definition.id))
    throw new ForbiddenError('only administrators and the creator of an event definition can delete it');
  definition.delete(now());
  await enqueueJob(em, 'event-purge', {
    id: definition.id,
    data: { definitionId: definition.id },
    delaySeconds: 0,
  });
}

/**
 * The organization of a deleted definition; undefined when its row was deleted too, after its occurrences.
 * @throws Error when the definition is not deleted
 */
export async function organizationOfDeleted(
  em: EntityManager,
  definitionId: EventDefinitionId,
): Promise<OrganizationId | undefined> {
  const definition = await em.findOne(EventDefinition, { id: definitionId });
  if (definition?.deletedAt === null) throw new Error(`the event definition ${definitionId} is not deleted`);
  return definition?.organization.id;
}

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
