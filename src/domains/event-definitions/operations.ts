import type { EntityManager } from '@mikro-orm/postgresql';
import { ConflictError, invalid, notFound } from '../../core/errors.ts';
import type { CountedPage, PageArguments } from '../../core/keyset.ts';
import {
  type ActingOrganization,
  type AuditTarget,
  type OperationContext,
  write,
  requireOrganization,
} from '../../core/operation.ts';
import { lockOrganization } from '../organizations/operations.ts';
import { DEFAULT_PROPERTIES } from './default-properties.ts';
import { type CustomMatchingId, EventDefinition } from './entity.ts';
import type {
  CreateEventDefinitionInput,
  EventDefinitionReference,
  SearchEventDefinitionsInput,
  UpdateEventDefinitionInput,
} from './input.ts';
import { lockDefinition } from './lock.ts';
import { baseNameFor, firstFreeName, nameFromLabel } from './naming.ts';
import { requireEventDefinitions } from './policy.ts';
import { newProperties } from './property-operations.ts';
import { enqueuePurge } from './purge.ts';
import {
  type EventDefinitionFilter,
  type EventDefinitionOrder,
  type EventDefinitionRow,
  type EventPropertyRow,
  countDefinitions,
  defaultPropertyRows,
  findDefinitionRow,
  findDefinitionRowsByIds,
  findPropertyRows,
  pageOfDefinitions,
  referenceTo,
} from './rows.ts';

export { type HeldDefinition, holdDefinitions } from './hold.ts';
export { purgeOccurrences } from './purge.ts';

/**
 * Creates a definition with its properties. Without a name one is made from the label; names of deleted definitions are taken for ever.
 * @throws ConflictError when the given name is taken; ValidationError when custom matching names no fitting property.
 */
export const createEventDefinition = write(
  async (context, input: CreateEventDefinitionInput): Promise<EventDefinition> => {
    const { em, actor, now, newId } = context;
    const organization = requireEventDefinitions(actor);
    // Creations within an organization go one after the other, so that a generated name that is free here is still free at the insert.
    await lockOrganization(em, organization.id);
    // Before the definition is made: a query flushes what was made, and would then find the new definition itself.
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
      customMatchingId: input.customMatchingId ?? null,
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
    operation: 'createEventDefinition',
    target: targetOf,
    conflicts: { event_definition_name_unique: (input) => nameTaken(input.name ?? '') },
  },
);

function targetOf({ id }: EventDefinition): AuditTarget {
  return { type: 'EventDefinition', id };
}

async function generateName(em: EntityManager, organization: ActingOrganization, label: string): Promise<string> {
  const base = baseNameFor(label, 'event');
  return firstFreeName(base, await takenNames(em, organization, base));
}

/** Names like `base`, deleted ones included. The shortening that makes room for a number stays within the last ten characters. */
async function takenNames(em: EntityManager, organization: ActingOrganization, base: string): Promise<Set<string>> {
  const rows = await em.execute<{ name: string }[]>(
    'select name from event_definition where organization_id = ? and starts_with(name, ?)',
    [organization.id, base.slice(0, 40)],
  );
  return new Set(rows.map(({ name }) => name));
}

async function refuseTakenName(em: EntityManager, organization: ActingOrganization, name: string): Promise<void> {
  const taken = await em.findOne(EventDefinition, { organization: organization.id, name });
  if (taken) throw nameTaken(name, taken.deletedAt != null);
}

function nameTaken(name: string, byDeleted = false): ConflictError {
  const message = byDeleted
    ? `${name} was used by a deleted event definition and can never be used again; choose another name`
    : `${name} is taken by another event definition; choose another name`;
  return new ConflictError(message, ['name']);
}

function checkCustomMatching(
  matching: CustomMatchingId | null | undefined,
  properties: readonly { name: string; type: string }[],
): void {
  if (!matching) return;
  const { eventPropertyName } = matching.primaryObjectRule;
  const path = 'customMatchingId.primaryObjectRule.eventPropertyName';
  const property = properties.find(({ name }) => name === eventPropertyName);
  if (!property) throw invalid(path, `must name a property of this definition; ${eventPropertyName} is none`);
  if (property.type !== 'string' && property.type !== 'number') {
    throw invalid(
      path,
      `must name a property of type string or number; ${eventPropertyName} is of type ${property.type}`,
    );
  }
}

/** Changes label and description; nothing else of a definition can change. */
export const updateEventDefinition = write(
  async (context, { eventName, ...changes }: UpdateEventDefinitionInput) => {
    const definition = await lockDefinition(context, eventName);
    if (Object.values(changes).some((value) => value !== undefined)) definition.update(changes, context.now());
    return definition;
  },
  { operation: 'updateEventDefinition', target: targetOf },
);

/**
 * Deletes a definition: it is gone at once, and its name can never be used again. The row stays, marked with `deletedAt`, both to keep
 * the name and to tell the purge of occurrences, which is queued by the same transaction, what to remove.
 */
export const deleteEventDefinition = write(
  async (context, { eventName }: EventDefinitionReference) => {
    const definition = await lockDefinition(context, eventName);
    definition.delete(context.now());
    await enqueuePurge(context.em, definition.id);
    return definition;
  },
  { operation: 'deleteEventDefinition', target: targetOf },
);

/** @throws NotFoundError for a missing, a foreign and a deleted definition alike. */
export async function readEventDefinition(
  context: OperationContext,
  { eventName }: EventDefinitionReference,
): Promise<EventDefinitionRow> {
  const organization = requireEventDefinitions(context.actor);
  const row = await findDefinitionRow(context, organization.id, referenceTo(eventName, organization.number));
  if (!row) throw notFound('event definition');
  return row;
}

/** Those of the ids that the caller may see, in no particular order. */
export async function readEventDefinitionsByIds(
  context: OperationContext,
  ids: readonly string[],
): Promise<EventDefinitionRow[]> {
  return findDefinitionRowsByIds(context, requireEventDefinitions(context.actor).id, ids);
}

export interface EventDefinitionListOptions {
  /** The organization that is asked for, where the caller may know others beside the one they act in. */
  readonly organizationId?: string;
  readonly filter: EventDefinitionFilter;
  readonly order: EventDefinitionOrder;
  readonly page: PageArguments;
  readonly maxPageSize?: number;
}

/**
 * Pages by keyset, in any of the orders, through the definitions of the organization that the caller acts in.
 * @throws ValidationError (400) when another organization is asked for.
 */
export async function listEventDefinitions(
  context: OperationContext,
  { organizationId, filter, order, page, maxPageSize }: EventDefinitionListOptions,
): Promise<CountedPage<EventDefinitionRow>> {
  requireEventDefinitions(context.actor);
  const organization = requireOrganization(context.actor, organizationId);
  return {
    page: await pageOfDefinitions(context, organization.id, filter, order, page, maxPageSize),
    total: () => countDefinitions(context, organization.id, filter),
  };
}

/** The documented search: by name, forward, at most 500 a page. */
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

/** All properties of many definitions, default ones first, by definition id; one statement at most for the custom ones. */
export async function readPropertiesOf(
  context: OperationContext,
  definitions: readonly EventDefinitionRow[],
): Promise<Map<string, EventPropertyRow[]>> {
  const organization = requireEventDefinitions(context.actor);
  const properties = new Map(definitions.map((definition) => [definition.id, defaultPropertyRows(definition)]));
  const toFind = definitions.filter(({ customProperties }) => !customProperties).map(({ id }) => id);
  const known = definitions.flatMap(({ customProperties = [] }) => customProperties);
  const found = toFind.length > 0 ? await findPropertyRows(context, organization.id, toFind) : [];
  for (const row of [...known, ...found]) properties.get(row.definitionId)?.push(row);
  return properties;
}

export interface NamePreview {
  /** What the label makes; undefined when it leaves nothing. */
  readonly name: string | undefined;
  readonly isFree: boolean;
  /** Why the name is not free. */
  readonly reason: string | undefined;
  /** The name that a creation with this label would get now. */
  readonly nextFreeName: string | undefined;
}

/** What a creation without a name would make of the label, as things stand; it reserves nothing. */
export async function previewEventDefinitionName(
  { em, actor }: OperationContext,
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
  const holder = await em.findOne(EventDefinition, { organization: organization.id, name });
  return {
    name,
    isFree: !holder,
    reason: holder ? nameTaken(name, holder.deletedAt != null).message : undefined,
    nextFreeName: firstFreeName(name, await takenNames(em, organization, name)),
  };
}

/** What a deletion would take away for ever. */
export async function previewEventDefinitionDeletion(context: OperationContext, input: EventDefinitionReference) {
  const definition = await readEventDefinition(context, input);
  const properties = (await readPropertiesOf(context, [definition])).get(definition.id) ?? [];
  return { definition, customPropertyCount: properties.filter(({ isDefault }) => !isDefault).length };
}

// What the deletion of an organization does with its definitions.
export { deleteDefinitionRow, lockDefinitionsOf } from './deletion.ts';
