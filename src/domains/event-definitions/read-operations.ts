import type { LoadBatch } from '../../core/graphql/batches.ts';
import { z } from 'zod';
import { NotFoundError, notFound } from '../../core/errors.ts';
import { unlessTooLarge } from '../../core/answer-size.ts';
import { groupBy } from '../../core/arrays.ts';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import { requireOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation, guarded } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import type { Asked } from '../../core/postgres/reading/lists.ts';
import { defaultPropertiesOf, fullyQualifiedName } from './computed-fields.ts';
import { type EventDefinitionFilter, readEventDefinitionInput, searchEventDefinitionsInput } from './input.ts';
import { definitionNameTaken, firstFreeName, nameFromLabel } from './naming.ts';
import { EVENT_DEFINITIONS, requireEventDefinitions } from './policy.ts';
import { type EventPropertyRow, firstCustomPropertiesOf } from './property-queries.ts';
import {
  DEFINITIONS,
  type EventDefinitionOrderField,
  type EventDefinitionRow,
  type EventDefinitionWithProperties,
  conditionsOf,
  findDefinition,
  findDefinitionWithProperties,
  findDefinitionsWithProperties,
  namesLike,
  namesOfDefinitions,
  referenceTo,
} from './queries.ts';

/** The definition with this id or name; undefined when it does not exist, belongs to another organization, or is deleted. */
export async function lookUpEventDefinition(
  context: OperationContext,
  eventName: string,
  selected?: Columns<EventDefinitionRow>,
): Promise<EventDefinitionRow | undefined> {
  const organization = requireEventDefinitions(context.actor);
  return findDefinition(context, referenceTo(eventName, organization.number), selected);
}

/** The same with its custom properties. */
export async function lookUpEventDefinitionWithProperties(
  context: OperationContext,
  eventName: string,
  selected: { asked?: Columns<EventDefinitionRow>; askedOfProperties?: Columns<EventPropertyRow> } = {},
): Promise<EventDefinitionWithProperties | undefined> {
  const organization = requireEventDefinitions(context.actor);
  return findDefinitionWithProperties(context, referenceTo(eventName, organization.number), selected);
}

/** @throws NotFoundError when it does not exist, belongs to another organization, or is deleted. */
export async function requireEventDefinition(
  context: OperationContext,
  eventName: string,
  selected?: Columns<EventDefinitionRow>,
): Promise<EventDefinitionRow> {
  const row = await lookUpEventDefinition(context, eventName, selected);
  if (!row) throw notFound('event definition');
  return row;
}

export const readEventDefinition = defineOperation({
  name: 'readEventDefinition',
  description:
    'Reads an event definition by its name, fully qualified name or id. The answer contains all properties, default properties first; with `includeProperties=false` it contains none.',
  access: EVENT_DEFINITIONS,
  input: readEventDefinitionInput,
  errors: [NotFoundError],
  run: async (context, { eventName, includeProperties }): Promise<DefinitionDetails> => {
    const found = await lookUpEventDefinitionWithProperties(context, eventName);
    if (!found) throw notFound('event definition');
    const { customProperties, ...definition } = found;
    const properties = includeProperties ? [...defaultPropertiesOf(definition), ...customProperties] : [];
    return { definition, properties };
  },
});

/** The definitions with these ids that the caller can see, in any order. */
export const readEventDefinitionsByIds = guarded(EVENT_DEFINITIONS, DEFINITIONS.find);

export const listEventDefinitions = defineOperation({
  name: 'listEventDefinitions',
  description: 'Lists the event definitions of the organization, by name by default.',
  access: EVENT_DEFINITIONS,
  run: (
    context,
    { filter, ...asked }: Asked<EventDefinitionFilter, EventDefinitionOrderField> & { organizationId?: OrganizationId },
    selected?: Columns<EventDefinitionRow>,
  ) => DEFINITIONS.read(context, { ...asked, filter: conditionsOf(filter) }, selected),
});

export const listEventTypes = defineOperation({
  name: 'listEventTypes',
  description:
    'Lists the fully qualified names of all events. The names can be used as `eventType` in the list of occurrences.',
  access: EVENT_DEFINITIONS,
  input: z.strictObject({}),
  run: async ({ actor, sql }): Promise<string[]> => {
    const organization = requireOrganization(actor);
    const definitions = await sql.all(namesOfDefinitions(organization));
    return definitions.map((definition) => fullyQualifiedName(definition, organization));
  },
});

/** The list of the REST API. */
export const searchEventDefinitions = defineOperation({
  name: 'searchEventDefinitions',
  description:
    'Lists event definitions by name, or searches them. Without `includeProperties=true` the `properties` of each definition are an empty list. Follow `paging.next.link` until it is absent.',
  access: EVENT_DEFINITIONS,
  input: searchEventDefinitionsInput,
  run: (context, { searchString, sortOrder, limit, after }) =>
    listEventDefinitions(context, {
      filter: { search: searchString },
      order: { field: 'NAME', direction: sortOrder },
      page: { first: limit, after },
      maxPageSize: 500,
    }),
});

export interface DefinitionDetails {
  readonly definition: EventDefinitionRow;
  /** Default properties first. Null when they are larger than a page. */
  readonly properties: readonly EventPropertyRow[] | null;
}

/**
 * Definitions that the caller can see with their properties, in the given order, with one statement. Definitions beyond
 * the maximum size of a page are left out, but never the first one.
 */
export async function readDefinitionDetails(
  context: OperationContext,
  definitions: readonly EventDefinitionRow[],
): Promise<DefinitionDetails[]> {
  if (definitions.length === 0) return [];
  const ids = definitions.map(({ id }) => id);
  // A definition may have been changed, so it must be answered.
  const found = await unlessTooLarge(firstCustomPropertiesOf(context, ids));
  const complete = found?.complete ?? 0;
  return definitions.slice(0, Math.max(1, complete)).map((definition) => ({
    definition,
    properties:
      found && complete > 0
        ? [...defaultPropertiesOf(definition), ...(found.properties.get(definition.id) ?? [])]
        : null,
  }));
}

/** The key of a property: its definition and its name. */
export interface EventPropertyKey {
  readonly definitionId: EventDefinitionId;
  readonly name: string;
}

/** The properties with these keys that the caller can see, in any order. */
export async function readEventProperties(
  context: OperationContext,
  keys: readonly EventPropertyKey[],
  selected?: Columns<EventPropertyRow>,
): Promise<EventPropertyRow[]> {
  requireEventDefinitions(context.actor);
  const wanted = groupBy(keys, ({ definitionId }) => definitionId);
  const columns = selected && [...new Set<keyof EventPropertyRow>([...selected, 'definitionId', 'name'])];
  const definitions = await findDefinitionsWithProperties(context, [...wanted.keys()], {
    asked: ['includeDefaultProperties', 'createdAt'],
    askedOfProperties: columns,
  });
  return definitions.flatMap((definition) => {
    const names = new Set(wanted.get(definition.id)?.map(({ name }) => name));
    const all = [...defaultPropertiesOf(definition, columns), ...definition.customProperties];
    return all.filter(({ name }) => names.has(name));
  });
}

/** The definitions with these ids that the caller can see, by id. */
export const eventDefinitionsById =
  (
    context: OperationContext,
    selected?: Columns<EventDefinitionRow>,
  ): LoadBatch<EventDefinitionId, EventDefinitionRow> =>
  async (ids) =>
    new Map((await readEventDefinitionsByIds(context, ids, selected)).map((row) => [row.id, row]));

export interface NamePreview {
  /** The name generated from the label; undefined when the label has neither letters nor digits. */
  readonly name: string | undefined;
  readonly isFree: boolean;
  /** Why the name is not free; undefined when it is free. */
  readonly reason: string | undefined;
  /** The name that a new definition with this label would get now; undefined when no name can be generated. */
  readonly nextFreeName: string | undefined;
}

/** The name that a new definition with this label would get. The name is not reserved. */
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
    reason: holder ? definitionNameTaken(name, holder.deletedAt !== null).message : undefined,
    nextFreeName: firstFreeName(name, new Set(taken.map((definition) => definition.name))),
  };
}
