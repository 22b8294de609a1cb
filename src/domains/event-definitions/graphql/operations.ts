import { refusable } from '../../../core/graphql/refusable.ts';
import type { GraphQLResolveInfo } from 'graphql';
import { z } from 'zod';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { connectionType, toConnection } from '../../../core/graphql/connections.ts';
import { ConflictError, type InputFaultCode, NotFoundError } from '../../../core/errors.ts';
import { rule } from '../../../core/validation.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { acceptingIds, toGlobalId } from '../../../core/graphql/nodes.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import type { OperationContext } from '../../../core/operation.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { OrganizationType } from '../../organizations/graphql/types.ts';
import { EVENT_DEFINITIONS } from '../policy.ts';
import { EXPECTED_UPDATED_AT } from '../../../core/expected-version.ts';
import { EVENT_NAME, EventDefinition, PrimaryObject } from './types.ts';
import { PRIMARY_OBJECTS } from '../entity.ts';
import {
  CUSTOM_OBJECT,
  createEventDefinitionInput,
  eventDefinitionFilter,
  eventDefinitionNamePreviewInput,
  eventDefinitionReference,
  updateEventDefinitionInput,
} from '../input.ts';
import { createEventDefinition, deleteEventDefinition, updateEventDefinition } from '../operations.ts';
import {
  type NamePreview,
  listEventDefinitions,
  previewEventDefinitionName,
  readEventDefinition,
  readEventDefinitionWithProperties,
} from '../read-operations.ts';
import { PropertyInput } from './property-types.ts';
import './property-operations.ts';
import type { EventPropertyRow } from '../property-queries.ts';
import { type EventDefinitionOrderField, type EventDefinitionRow, definitionRow } from '../queries.ts';

const EVENT_DEFINITION_ORDER = orderType<EventDefinitionOrderField>('EventDefinition', {
  of: 'event definitions',
  fields: { NAME: 'The internal name.', CREATED_AT: 'Time of creation.', UPDATED_AT: 'Time of the last change.' },
  otherwise: { field: 'NAME', direction: 'ASC' },
});

const FilterInput = builder.inputType('EventDefinitionFilter', {
  description: 'Which event definitions to list. All given conditions must be met; an empty list matches nothing.',
  validate: eventDefinitionFilter,
  fields: (t) => ({
    search: t.string({
      description:
        'Its name contains this text of at most 1,000 characters. Case is ignored; `%` and `_` are plain characters.',
    }),
    primaryObjects: t.field({
      type: [PrimaryObject],
      description: 'It has one of these primary objects, at most 100. `CUSTOM_OBJECT` means any custom object.',
    }),
    customObjectNames: t.stringList({
      description: 'It has one of these custom objects, at most 100; beside `primaryObjects`, one of either.',
    }),
    hasCustomMatchingId: t.boolean({ description: 'Whether it has a custom matching id.' }),
    createdFrom: t.field({ type: 'DateTime', description: 'Created at this moment or after it.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Created before this moment.' }),
  }),
});

const EventDefinitionConnection = connectionType(EventDefinition, { of: 'event definitions' });

builder.objectField(OrganizationType, 'eventDefinitions', (t) =>
  t.connection(
    {
      type: EventDefinition,
      description: 'Its event definitions, by name unless ordered otherwise.',
      extensions: { ...refusable(EVENT_DEFINITIONS, { actingOrganization: true }), ...needs<{ id: string }>('id') },
      args: {
        filter: t.arg({ type: FilterInput, description: 'Which definitions to list; all when absent.' }),
        orderBy: t.arg(EVENT_DEFINITION_ORDER.argument),
      },
      resolve: async ({ id }, { filter, orderBy, ...page }, context, info) => {
        const columns = selectedColumns<EventDefinitionRow>(info, 'EventDefinition');
        const order = EVENT_DEFINITION_ORDER.orderOf(orderBy);
        const list = { organizationId: id, filter: filter ?? {}, order, page, columns };
        return toConnection(await listEventDefinitions(context, list));
      },
    },
    EventDefinitionConnection,
  ),
);

const NamePreviewType = builder.objectRef<NamePreview>('EventDefinitionNamePreview').implement({
  description: 'The name that a creation without a name would get at present. Nothing is reserved.',
  fields: (t) => ({
    name: t.exposeString('name', {
      nullable: true,
      description: 'The name that is made from the label; null when it has neither letters nor digits.',
    }),
    isFree: t.exposeBoolean('isFree', { description: 'Whether that name is free.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it is not free; null when it is.' }),
    nextFreeName: t.exposeString('nextFreeName', {
      nullable: true,
      description: 'The name that a creation would get: this one, or one with a number. Null when no name can be made.',
    }),
  }),
});

/** One of the two. As in mutations, either takes what the other one does. */
const eventDefinitionArguments = z
  .strictObject({
    id: eventDefinitionReference.shape.eventName.nullish(),
    name: eventDefinitionReference.shape.eventName.nullish(),
  })
  .refine(({ id, name }) => (id == null) !== (name == null), {
    path: ['id'],
    ...rule('CONFLICTING', 'give either id or name'),
  });

builder.queryFields((t) => ({
  eventDefinition: t.field({
    type: EventDefinition,
    nullable: true,
    description: 'One event definition of the organization; null when there is none.',
    extensions: { ...OWN_STATEMENT, ...refusable(EVENT_DEFINITIONS) },
    args: {
      id: t.arg.id({ description: 'Either id of the definition. Not together with `name`.' }),
      name: t.arg.string({ description: 'Name or fully qualified name of the definition. Not together with `id`.' }),
    },
    validate: acceptingIds(eventDefinitionArguments, { id: 'EventDefinition', name: 'EventDefinition' }),
    resolve: (_, { id, name }, context, info) => orNull(readSelected(context, id ?? name ?? '', info)),
  }),
  eventDefinitionNamePreview: t.field({
    type: NamePreviewType,
    description: 'The name that would be made from a label, and whether it is free.',
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

/** REST has the name of a custom object in the place of a standard kind. */
const withObjectOfBothFields = z.preprocess((value, context) => {
  const { customObjectName, ...given } = value as Readonly<Record<string, unknown>>;
  const isCustom = given['primaryObject'] === CUSTOM_OBJECT;
  const refuse = (code: InputFaultCode, message: string) =>
    context.addIssue({ code: 'custom', path: ['customObjectName'], ...rule(code, message) });
  if (isCustom && customObjectName == null) refuse('REQUIRED', `is required with the primaryObject ${CUSTOM_OBJECT}`);
  if (!isCustom && customObjectName != null) refuse('CONFLICTING', `is only for the primaryObject ${CUSTOM_OBJECT}`);
  if (isCustom && PRIMARY_OBJECTS.some((name) => name === customObjectName))
    refuse('NOT_ALLOWED', `must not be ${String(customObjectName)}, which is a standard object`);
  return { ...given, ...(isCustom && { primaryObject: customObjectName }) };
}, createEventDefinitionInput);

mutation('createEventDefinition', {
  access: createEventDefinition.access,
  description: 'Creates an event definition with its properties.',
  schema: withObjectOfBothFields,
  pathOf: ({ path }, { primaryObject }) =>
    path[0] === 'primaryObject' && primaryObject === CUSTOM_OBJECT ? ['customObjectName'] : path,
  input: (t) => ({
    label: t.string({ required: true, description: '1 to 100 characters.' }),
    name: t.string({
      description:
        'At most 50 lowercase letters, digits and underscores, a letter first; made from the label when absent.',
    }),
    description: t.string({ description: 'Free text, at most 10,000 characters.' }),
    propertyDefinitions: t.field({
      type: [PropertyInput],
      defaultValue: [],
      description: 'At most 50 custom properties.',
    }),
    primaryObject: t.field({
      type: PrimaryObject,
      defaultValue: 'CONTACT',
      description: 'The object whose records receive occurrences; never changes.',
    }),
    customObjectName: t.string({
      description:
        'The name of the custom object, for `CUSTOM_OBJECT` alone: a letter, then at most 99 letters, digits or underscores.',
    }),
    customMatchingId: t.field({
      type: CustomMatchingIdInput,
      description: 'How occurrences find their record without an object id.',
    }),
    includeDefaultProperties: t.boolean({
      defaultValue: true,
      description: 'Whether the definition has the default properties.',
    }),
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
    expectedUpdatedAt: t.field({ type: 'DateTime', description: EXPECTED_UPDATED_AT }),
  }),
  errors: [NotFoundError, ConflictError],
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
  description:
    'Deletes an event definition and its occurrences, which cannot be undone. Its name can never be used again.',
  schema: eventDefinitionReference,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({ eventName: t.string({ required: true, description: EVENT_NAME }) }),
  errors: [NotFoundError],
  run: async (context, input) => ({ definition: await deleteEventDefinition(context, input) }),
  payload: (t) => ({
    deletedId: t.id({
      description: 'Global id of the deleted definition.',
      resolve: ({ definition }) => toGlobalId('EventDefinition', definition.id),
    }),
    deletedName: t.string({
      description: 'Its name, which can never be used again.',
      resolve: ({ definition }) => definition.name,
    }),
  }),
});
