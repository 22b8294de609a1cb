import type { EntityManager } from '@mikro-orm/postgresql';
import type { EventDefinitionId } from '../../core/ids.ts';
import type { AuditTarget } from '../../core/audit.ts';
import { invalid } from '../../core/errors.ts';
import { isEmptyUpdate, requireUnchanged } from '../../core/input/expected-version.ts';
import { enqueueJob } from '../../core/jobs.ts';
import type { ActingOrganization } from '../../core/access.ts';
import { unchanged, write } from '../../core/operation.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { enumValue, enumValues, wording } from '../../core/text/wording.ts';
import { lockOrganization } from '../organizations/public.ts';
import { DEFAULT_PROPERTIES, propertyMeantBy } from './default-properties.ts';
import { type CustomMatchingId, EventDefinition } from './entity.ts';
import type { CreateEventDefinitionInput, EventDefinitionReference, UpdateEventDefinitionInput } from './input.ts';
import { baseNameFor, definitionNameTaken, firstFreeName } from './naming.ts';
import { EVENT_DEFINITIONS, requireEventDefinitions } from './policy.ts';
import { newProperties } from './property-operations.ts';
import { namesLike } from './queries.ts';
import { lockDefinition } from './row-locks.ts';

// Used by other domain modules.

/**
 * Creates a definition with its properties. When no name is given, one is generated from the label. Names of deleted definitions are never
 * free again.
 * @throws ConflictError when the given name is taken; ValidationError when custom matching names no property of type string or number.
 */
export const createEventDefinition = write(
  async (context, input: CreateEventDefinitionInput): Promise<EventDefinition> => {
    const { em, actor, now, newId } = context;
    const organization = requireEventDefinitions(actor);
    // Definitions of an organization are created one at a time, so that a generated name is still free at the insert.
    await lockOrganization(em, organization.id);
    // Must run before `em.create`: a query flushes new entities, and would then find the new definition.
    if (input.name !== undefined) await refuseTakenName(em, organization, input.name);
    const name = input.name ?? (await generateName(context.sql, organization, input.label));
    const at = now();
    const definition = em.create(EventDefinition, {
      id: newId(),
      organization: organization.id,
      name,
      label: input.label,
      description: input.description ?? null,
      primaryObject: input.primaryObject,
      customMatchingId: matchingOf(input),
      includeDefaultProperties: input.includeDefaultProperties,
      createdAt: at,
      updatedAt: at,
      deletedAt: null,
    });
    const properties = newProperties(definition, input.propertyDefinitions, context);
    checkCustomMatching(definition.customMatchingId, [
      ...properties,
      ...(definition.includeDefaultProperties ? DEFAULT_PROPERTIES : []),
    ]);
    em.persist([definition, ...properties]);
    return definition;
  },
  {
    access: EVENT_DEFINITIONS,
    operation: 'createEventDefinition',
    target: targetOf,
    conflicts: { event_definition_name_unique: (input) => definitionNameTaken(input.name ?? '') },
  },
);

function targetOf({ id }: EventDefinition): AuditTarget {
  return { type: 'EventDefinition', id };
}

function matchingOf({ customMatchingId }: CreateEventDefinitionInput): CustomMatchingId | null {
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

function checkCustomMatching(
  matching: CustomMatchingId | null | undefined,
  properties: readonly { name: string; type: string }[],
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

/**
 * Changes the label and description of a definition. The other fields never change.
 * @throws ConflictError when the definition was changed since `expectedUpdatedAt`.
 */
export const updateEventDefinition = write(
  async (context, { eventName, expectedUpdatedAt, ...changes }: UpdateEventDefinitionInput) => {
    const definition = await lockDefinition(context, eventName);
    requireUnchanged(definition, { expectedUpdatedAt });
    if (isEmptyUpdate(changes)) return unchanged(definition);
    definition.update(changes, context.now());
    return definition;
  },
  { access: EVENT_DEFINITIONS, operation: 'updateEventDefinition', target: targetOf },
);

/**
 * Deletes a definition, which then answers 404. The row stays with `deletedAt`, so that its name can never be used
 * again. The transaction also queues a job that deletes the occurrences.
 */
export const deleteEventDefinition = write(
  async (context, { eventName }: EventDefinitionReference) => {
    const definition = await lockDefinition(context, eventName);
    definition.delete(context.now());
    await enqueueJob(context.em, 'event-purge', {
      id: definition.id,
      data: { definitionId: definition.id },
      delaySeconds: 0,
    });
    return definition;
  },
  { access: EVENT_DEFINITIONS, operation: 'deleteEventDefinition', target: targetOf },
);

/** Whether the definition exists in any organization and is not deleted. */
export async function isInUse(em: EntityManager, definitionId: EventDefinitionId): Promise<boolean> {
  return (await em.count(EventDefinition, { id: definitionId, deletedAt: null })) > 0;
}
