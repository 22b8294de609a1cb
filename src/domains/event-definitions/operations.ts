import { enumValue, enumValues, wording } from '../../core/text/wording.ts';
import type { EntityManager } from '@mikro-orm/postgresql';
import { ConflictError, invalid, notFound } from '../../core/errors.ts';
import { requireUnchanged } from '../../core/expected-version.ts';
import { enqueueJob } from '../../core/jobs.ts';
import type { CountedPage } from '../../core/postgres/keyset.ts';
import { type ActingOrganization, type OperationContext, write, requireOrganization } from '../../core/operation.ts';
import { type AuditTarget } from '../../core/audit.ts';
import { sqlWithin } from '../../core/postgres/sql.ts';
import type { Columns } from '../../core/postgres/columns.ts';
import { lockOrganization } from '../organizations/operations.ts';
import { defaultPropertiesOf, fullyQualifiedName } from './computed-fields.ts';
import { DEFAULT_PROPERTIES, propertyMeantBy } from './default-properties.ts';
import { referenceTo } from './definition-reference.ts';
import { type CustomMatchingId, EventDefinition } from './entity.ts';
import type {
  CreateEventDefinitionInput,
  EventDefinitionReference,
  SearchEventDefinitionsInput,
  UpdateEventDefinitionInput,
} from './input.ts';
import { baseNameFor, firstFreeName, nameFromLabel } from './naming.ts';
import { EVENT_DEFINITIONS, requireEventDefinitions } from './policy.ts';
import { newProperties } from './property-operations.ts';
import {
  type EventDefinitionList,
  type EventDefinitionRow,
  type EventDefinitionWithProperties,
  countDefinitions,
  findDefinition,
  findDefinitionWithProperties,
  findDefinitions,
  namesLike,
  namesOfDefinitions,
  pageOfDefinitions,
} from './queries.ts';
import { type EventPropertyRow, customPropertiesOf } from './property-queries.ts';
import { lockDefinition } from './row-locks.ts';

// For other nouns.
export { fullyQualifiedName } from './computed-fields.ts';
export { propertyMeantBy } from './default-properties.ts';
export { deleteDefinitionRow, lockDefinitionsOf } from './organization-deletion.ts';
export { definitionsOf, requireEventDefinitions } from './policy.ts';
export { countCustomProperties, customPropertiesOf } from './property-queries.ts';
export type { EventDefinitionRow } from './queries.ts';
export { type SharedDefinition, shareDefinitions } from './row-locks.ts';

/**
 * Creates a definition with its properties. Without a name it gets one that is made from its label. The names of deleted definitions
 * are never free again.
 * @throws ConflictError when the given name is taken; ValidationError when custom matching names no fitting property.
 */
export const createEventDefinition = write(
  async (context, input: CreateEventDefinitionInput): Promise<EventDefinition> => {
    const { em, actor, now, newId } = context;
    const organization = requireEventDefinitions(actor);
    // Creations within an organization wait for each other, so that a generated name that is free here is still free at the insert.
    await lockOrganization(em, organization.id);
    // Before `em.create`: a query flushes new entities, and would then find the new definition itself.
    if (input.name !== undefined) await refuseTakenName(em, organization, input.name);
    const name = input.name ?? (await generateName(em, organization, input.label));
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
    conflicts: { event_definition_name_unique: (input) => nameTaken(input.name ?? '') },
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

async function generateName(em: EntityManager, organization: ActingOrganization, label: string): Promise<string> {
  const base = baseNameFor(label, 'event');
  const taken = await sqlWithin(em).all(namesLike(organization, base));
  return firstFreeName(base, new Set(taken.map(({ name }) => name)));
}

async function refuseTakenName(em: EntityManager, organization: ActingOrganization, name: string): Promise<void> {
  const taken = await em.findOne(EventDefinition, { organization: organization.id, name });
  if (taken) throw nameTaken(name, taken.deletedAt != null);
}

function nameTaken(name: string, byDeleted = false): ConflictError {
  return byDeleted
    ? new ConflictError(
        'NAME_USED_BEFORE',
        `${name} was used by a deleted event definition and can never be used again; choose another name`,
        ['name'],
      )
    : new ConflictError('NAME_TAKEN', `${name} is taken by another event definition; choose another name`, ['name']);
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
    throw invalid(path, `must name a property of this definition; ${eventPropertyName} is none`, 'NOT_FOUND');
  if (property.type !== 'string' && property.type !== 'number') {
    throw invalid(
      path,
      wording`must name a property of type ${enumValues(['string', 'number'], ' or ')}; ${eventPropertyName} is of type ${enumValue(property.type)}`,
    );
  }
}

/**
 * Changes label and description. Nothing else of a definition can change.
 * @throws ConflictError when the definition was changed since `expectedUpdatedAt`.
 */
export const updateEventDefinition = write(
  async (context, { eventName, expectedUpdatedAt, ...changes }: UpdateEventDefinitionInput) => {
    const definition = await lockDefinition(context, eventName);
    requireUnchanged(definition, { expectedUpdatedAt });
    if (Object.values(changes).some((value) => value !== undefined)) definition.update(changes, context.now());
    return definition;
  },
  { access: EVENT_DEFINITIONS, operation: 'updateEventDefinition', target: targetOf },
);

/**
 * Deletes a definition. Nobody finds it from then on, and its name can never be used again. The row stays with `deletedAt`, to reserve the
 * name. A job, queued by the same transaction, deletes the occurrences.
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

/** Whether the definition exists, in any organization, and is not deleted. */
export async function isInUse(em: EntityManager, definitionId: string): Promise<boolean> {
  return (await em.count(EventDefinition, { id: definitionId, deletedAt: null })) > 0;
}

/** @throws NotFoundError for a missing, a foreign and a deleted definition alike. */
export async function readEventDefinition(
  context: OperationContext,
  { eventName }: EventDefinitionReference,
  selected?: Columns<EventDefinitionRow>,
): Promise<EventDefinitionRow> {
  const organization = requireEventDefinitions(context.actor);
  const row = await findDefinition(context, referenceTo(eventName, organization.number), selected);
  return row ?? Promise.reject(notFound('event definition'));
}

/** The same with its custom properties. */
export async function readEventDefinitionWithProperties(
  context: OperationContext,
  { eventName }: EventDefinitionReference,
  selected: { asked?: Columns<EventDefinitionRow>; askedOfProperties?: Columns<EventPropertyRow> } = {},
): Promise<EventDefinitionWithProperties> {
  const organization = requireEventDefinitions(context.actor);
  const row = await findDefinitionWithProperties(context, referenceTo(eventName, organization.number), selected);
  return row ?? Promise.reject(notFound('event definition'));
}

/** The definitions with these ids that the caller may see, in any order. */
export async function readEventDefinitionsByIds(
  context: OperationContext,
  ids: readonly string[],
  selected?: Columns<EventDefinitionRow>,
): Promise<EventDefinitionRow[]> {
  requireEventDefinitions(context.actor);
  return findDefinitions(context, ids, selected);
}

/**
 * A page of the definitions of the acting organization.
 * @param list `organizationId` is the organization that is asked for.
 * @throws ValidationError (400) when that is not the acting organization.
 */
export async function listEventDefinitions(
  context: OperationContext,
  { organizationId, ...list }: EventDefinitionList & { readonly organizationId?: string },
): Promise<CountedPage<EventDefinitionRow>> {
  requireEventDefinitions(context.actor);
  requireOrganization(context.actor, organizationId);
  return { page: await pageOfDefinitions(context, list), total: () => countDefinitions(context, list.filter) };
}

/** The fully qualified names of all events of the acting organization, in order. */
export async function listEventTypes({ actor, sql }: OperationContext): Promise<string[]> {
  const organization = requireEventDefinitions(actor);
  const definitions = await sql.all(namesOfDefinitions(organization));
  return definitions.map((definition) => fullyQualifiedName(definition, organization));
}

/** The search of the REST API: ordered by name, pages of at most 500. */
export function searchEventDefinitions(
  context: OperationContext,
  input: SearchEventDefinitionsInput,
): Promise<CountedPage<EventDefinitionRow>> {
  return listEventDefinitions(context, {
    filter: { search: input.searchString },
    order: { field: 'NAME', direction: input.sortOrder },
    page: { first: input.limit, after: input.after },
    maxPageSize: 500,
  });
}

/** The properties of definitions that the caller may see, by definition id: default ones first. Takes at most one statement. */
export async function readPropertiesOf(
  context: OperationContext,
  definitions: readonly EventDefinitionRow[],
): Promise<Map<string, readonly EventPropertyRow[]>> {
  if (definitions.length === 0) return new Map();
  const custom = await customPropertiesOf(context)(definitions.map(({ id }) => id));
  return new Map(
    definitions.map((definition) => [
      definition.id,
      [...defaultPropertiesOf(definition), ...(custom.get(definition.id) ?? [])],
    ]),
  );
}

export interface NamePreview {
  /** The name that is made from the label; undefined when the label has neither letters nor digits. */
  readonly name: string | undefined;
  readonly isFree: boolean;
  /** Why the name is not free. */
  readonly reason: string | undefined;
  /** The name that a creation with this label would get at present. */
  readonly nextFreeName: string | undefined;
}

/** The name that a creation without a name would get. It is not reserved. */
export async function previewEventDefinitionName(
  { sql, actor }: OperationContext,
  { label }: { label: string },
): Promise<NamePreview> {
  const organization = requireEventDefinitions(actor);
  const name = nameFromLabel(label, 'event');
  if (name === undefined)
    return {
      name,
      isFree: false,
      reason: 'the label has neither letters nor digits; give a name',
      nextFreeName: undefined,
    };
  const taken = await sql.all(namesLike(organization, name));
  const holder = taken.find((definition) => definition.name === name);
  return {
    name,
    isFree: !holder,
    reason: holder ? nameTaken(name, holder.deletedAt !== null).message : undefined,
    nextFreeName: firstFreeName(name, new Set(taken.map((definition) => definition.name))),
  };
}
