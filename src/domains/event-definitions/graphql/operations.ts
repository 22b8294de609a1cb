import { refusable } from '../../../core/graphql/refusable.ts';
import type { GraphQLResolveInfo } from 'graphql';
import { z } from 'zod';
import { OWN_STATEMENT, OrderDirection, builder } from '../../../core/graphql/builder.ts';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import { connectionType, toConnection } from '../../../core/graphql/connections.ts';
import { ConflictError, NotFoundError } from '../../../core/errors.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { keyFromId, toGlobalId } from '../../../core/graphql/nodes.ts';
import type { OperationContext } from '../../../core/operation.ts';
import { selectedColumns } from '../../../core/graphql/selection.ts';
import { OrganizationType } from '../../organizations/graphql.ts';
import { EVENT_DEFINITIONS } from '../policy.ts';
import { EVENT_NAME, EventDefinition } from './types.ts';
import {
  createEventDefinitionInput,
  eventDefinitionFilter,
  eventDefinitionNamePreviewInput,
  eventDefinitionReference,
  eventDefinitionSearch,
  updateEventDefinitionInput,
} from '../input.ts';
import {
  type NamePreview,
  countCustomProperties,
  createEventDefinition,
  deleteEventDefinition,
  listEventDefinitions,
  previewEventDefinitionName,
  readEventDefinition,
  readEventDefinitionWithProperties,
  updateEventDefinition,
} from '../operations.ts';
import { PropertyInput } from './property-types.ts';
import './property-operations.ts';
import type { EventPropertyRow } from '../property-queries.ts';
import { type EventDefinitionOrderField, type EventDefinitionRow, definitionRow } from '../queries.ts';

const OrderField = builder.enumType('EventDefinitionOrderField', {
  description: 'What event definitions can be sorted by.',
  values: {
    NAME: { description: 'The internal name.' },
    CREATED_AT: { description: 'Time of creation.' },
    UPDATED_AT: { description: 'Time of the last change.' },
  } satisfies Record<EventDefinitionOrderField, { description: string }>,
});

const OrderInput = builder.inputType('EventDefinitionOrder', {
  description: 'How to sort event definitions.',
  fields: (t) => ({
    field: t.field({ type: OrderField, required: true, description: 'What to sort by.' }),
    direction: t.field({ type: OrderDirection, description: 'Which way; `ASC` when absent.' }),
  }),
});

const FilterInput = builder.inputType('EventDefinitionFilter', {
  description: 'Which event definitions to list; all conditions hold together.',
  validate: eventDefinitionFilter,
  fields: (t) => ({
    primaryObject: t.stringList({ description: 'Any of these primary objects, at most 100.' }),
    hasCustomMatchingId: t.boolean({ description: 'Only those with, or only those without, a custom matching id.' }),
  }),
});

const EventDefinitionConnection = connectionType(EventDefinition, { of: 'event definitions' });

builder.objectField(OrganizationType, 'eventDefinitions', (t) =>
  t.connection(
    {
      type: EventDefinition,
      description: 'Its event definitions, by name unless ordered otherwise.',
      extensions: refusable(EVENT_DEFINITIONS, { actingOrganization: true }),
      args: {
        search: t.arg.string({
          description:
            'Only those whose name contains this, at most 1000 characters; case is ignored, `%` and `_` are plain characters.',
          validate: eventDefinitionSearch.nullish(),
        }),
        filter: t.arg({ type: FilterInput, description: 'Further conditions.' }),
        orderBy: t.arg({ type: OrderInput, description: 'By name, ascending, unless given.' }),
      },
      resolve: async ({ id }, { search, filter, orderBy, ...page }, context, info) => {
        const order = { field: orderBy?.field ?? ('NAME' as const), direction: orderBy?.direction ?? ('ASC' as const) };
        const columns = selectedColumns<EventDefinitionRow>(info, 'EventDefinition');
        return toConnection(
          await listEventDefinitions(context, {
            organizationId: id,
            filter: { ...filter, search },
            order,
            page,
            columns,
          }),
        );
      },
    },
    EventDefinitionConnection,
  ),
);

const NamePreviewType = builder.objectRef<NamePreview>('EventDefinitionNamePreview').implement({
  description: 'What a creation without a name would make of a label, as things stand; nothing is reserved.',
  fields: (t) => ({
    name: t.exposeString('name', {
      nullable: true,
      description: 'The name that the label makes; null when it leaves nothing.',
    }),
    isFree: t.exposeBoolean('isFree', { description: 'Whether that name is free.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it is not free; null when it is.' }),
    nextFreeName: t.exposeString('nextFreeName', {
      nullable: true,
      description: 'The name that a creation would get: this one, or a numbered one.',
    }),
  }),
});

export const DeletionPreviewType = builder
  .objectRef<{ readonly definition: EventDefinitionRow }>('DeleteEventDefinitionPreview')
  .implement({
    description: 'What a deletion would take away for ever.',
    fields: (t) => ({
      eventDefinition: t.field({
        type: EventDefinition,
        description: 'The definition, with its default and custom properties.',
        resolve: ({ definition }) => definition,
      }),
      customPropertyCount: t.int({
        description: 'Custom properties that would be lost.',
        extensions: OWN_STATEMENT,
        resolve: async ({ definition: { id } }, _, context, info) =>
          (await resolveBatched({ context, info }, id, countCustomProperties(context))) ?? 0,
      }),
      burntName: t.string({
        description: 'The name that could never be used again.',
        resolve: ({ definition }) => definition.name,
      }),
    }),
  });

/** As in mutations: a global id serves beside the name. */
const eventName = z.preprocess(
  (value) => keyFromId('EventDefinition', value),
  eventDefinitionReference.shape.eventName,
);

builder.queryFields((t) => ({
  eventDefinition: t.field({
    type: EventDefinition,
    nullable: true,
    description: 'One event definition of the organization; null when there is none.',
    extensions: { ...OWN_STATEMENT, ...refusable(EVENT_DEFINITIONS) },
    args: { name: t.arg.string({ required: true, description: EVENT_NAME, validate: eventName }) },
    resolve: (_, { name }, context, info) => orNull(readSelected(context, name, info)),
  }),
  eventDefinitionNamePreview: t.field({
    type: NamePreviewType,
    description: 'The name that a label would make, and whether it is free.',
    extensions: { ...OWN_STATEMENT, ...refusable(EVENT_DEFINITIONS) },
    args: {
      label: t.arg.string({
        required: true,
        description: 'A label as for `createEventDefinition`.',
        validate: eventDefinitionNamePreviewInput.shape.label,
      }),
    },
    resolve: (_, { label }, context) => previewEventDefinitionName(context, { label }),
  }),
  deleteEventDefinitionPreview: t.field({
    type: DeletionPreviewType,
    nullable: true,
    description: 'What deleting a definition would take away; null when there is none.',
    extensions: { ...OWN_STATEMENT, ...refusable(EVENT_DEFINITIONS) },
    args: { eventName: t.arg.string({ required: true, description: EVENT_NAME, validate: eventName }) },
    resolve: async (_, input, context, info) => {
      const selected = selectedColumns<EventDefinitionRow>(info, 'EventDefinition', 'eventDefinition');
      const definition = await orNull(readEventDefinition(context, input, selected && [...selected, 'name']));
      return definition && { definition };
    },
  }),
}));

/** Its properties come with the definition where they are selected. */
function readSelected(context: OperationContext, name: string, info: GraphQLResolveInfo): Promise<EventDefinitionRow> {
  const asked = selectedColumns<EventDefinitionRow>(info, 'EventDefinition');
  const askedOfProperties = selectedColumns<EventPropertyRow>(info, 'EventProperty', 'properties');
  return askedOfProperties?.length
    ? readEventDefinitionWithProperties(context, { eventName: name }, { asked, askedOfProperties })
    : readEventDefinition(context, { eventName: name }, asked);
}

async function orNull<Result>(reading: Promise<Result>): Promise<Result | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

const MatchingRuleInput = builder.inputType('PrimaryObjectRuleInput', {
  description: 'Which value of an occurrence finds which record.',
  fields: (t) => ({
    targetObjectPropertyName: t.string({ required: true, description: 'A unique property of the target object.' }),
    eventPropertyName: t.string({
      required: true,
      description: 'A property of this definition, of type `STRING` or `NUMBER`.',
    }),
  }),
});

const CustomMatchingIdInput = builder.inputType('CustomMatchingIdInput', {
  description: 'Links occurrences to records by a property value.',
  fields: (t) => ({
    primaryObjectRule: t.field({ type: MatchingRuleInput, required: true, description: 'The rule.' }),
  }),
});

mutation('createEventDefinition', {
  access: createEventDefinition.access,
  description: 'Creates an event definition with its properties.',
  schema: createEventDefinitionInput,
  input: (t) => ({
    label: t.string({ required: true, description: '1 to 100 characters.' }),
    name: t.string({
      description:
        'At most 50 lowercase letters, digits and underscores, a letter first; made from the label when absent.',
    }),
    description: t.string({ description: 'Free text.' }),
    propertyDefinitions: t.field({ type: [PropertyInput], description: 'At most 50 custom properties.' }),
    primaryObject: t.string({ description: '`CONTACT` when absent.' }),
    customMatchingId: t.field({
      type: CustomMatchingIdInput,
      description: 'How occurrences find their record without an object id.',
    }),
    includeDefaultProperties: t.boolean({ description: '`true` when absent.' }),
  }),
  errors: [ConflictError],
  run: async (context, input) => ({ definition: await createEventDefinition(context, input) }),
  payload: (t) => ({
    eventDefinition: t.field({
      type: EventDefinition,
      description: 'The new definition.',
      resolve: ({ definition }) => definitionRow(definition),
    }),
  }),
});

mutation('updateEventDefinition', {
  access: updateEventDefinition.access,
  description: 'Changes the label and description of an event definition; nothing else of it can change.',
  schema: updateEventDefinitionInput,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    eventName: t.string({ required: true, description: EVENT_NAME }),
    label: t.string({ description: '1 to 100 characters; kept when absent.' }),
    description: t.string({ description: 'Free text; kept when absent, cleared by null.' }),
  }),
  errors: [NotFoundError],
  run: async (context, input) => ({ definition: await updateEventDefinition(context, input) }),
  payload: (t) => ({
    eventDefinition: t.field({
      type: EventDefinition,
      description: 'The changed definition.',
      resolve: ({ definition }) => definitionRow(definition),
    }),
  }),
});

mutation('deleteEventDefinition', {
  access: deleteEventDefinition.access,
  description: 'Deletes an event definition and its occurrences for ever; its name can never be used again.',
  schema: eventDefinitionReference,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({ eventName: t.string({ required: true, description: EVENT_NAME }) }),
  errors: [NotFoundError],
  run: async (context, input) => ({ definition: await deleteEventDefinition(context, input) }),
  payload: (t) => ({
    deletedId: t.id({
      description: 'Global id of the definition that is gone.',
      resolve: ({ definition }) => toGlobalId('EventDefinition', definition.id),
    }),
    deletedName: t.string({
      description: 'Its name, which can never be used again.',
      resolve: ({ definition }) => definition.name,
    }),
  }),
});
