import { builder } from '../../core/builder.ts';
import { toConnection } from '../../core/connection.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { mutation } from '../../core/mutation.ts';
import { nodeType, toGlobalId, uuidsOf } from '../../core/node.ts';
import { requireOrganization } from '../../core/operation.ts';
import { OrganizationType } from '../organizations/graphql.ts';
import {
  addEventPropertyInput,
  createEventDefinitionInput,
  eventDefinitionNamePreviewInput,
  eventDefinitionReference,
  eventPropertyReference,
  replaceEventPropertyTypeInput,
  updateEventDefinitionInput,
  updateEventPropertyInput,
} from './input.ts';
import {
  type NamePreview,
  createEventDefinition,
  deleteEventDefinition,
  listEventDefinitions,
  previewEventDefinitionDeletion,
  previewEventDefinitionName,
  readEventDefinition,
  readEventDefinitionsByIds,
  readPropertiesOf,
  updateEventDefinition,
} from './operations.ts';
import { addEventProperty, deleteEventProperty, replaceEventPropertyType, updateEventProperty } from './property-operations.ts';
import { FIELD_TYPE_OF, type PropertyOption, type PropertyType } from './property-types.ts';
import { type EventDefinitionRow, type EventPropertyRow, ORDERINGS, customPropertyRow, fullyQualifiedName, objectTypeId } from './rows.ts';

const EventPropertyType = builder.enumType('EventPropertyType', {
  description: 'What a property holds. A property keeps its type; `replaceEventPropertyType` deletes and recreates it.',
  values: {
    BOOL: { value: 'bool', description: '`true` or `false`.' },
    DATE: { value: 'date', description: 'A day in UTC: ISO 8601, or a UNIX timestamp in milliseconds at midnight.' },
    DATETIME: { value: 'datetime', description: 'A moment: ISO 8601, or a UNIX timestamp in milliseconds.' },
    ENUMERATION: { value: 'enumeration', description: 'One of the predefined options.' },
    NUMBER: { value: 'number', description: 'A number with up to one decimal.' },
    STRING: { value: 'string', description: 'Plain text, at most 256 characters; 1,024 when the name contains `url`, `referrer` or `link`.' },
  } satisfies Record<string, { value: PropertyType; description: string }>,
});

const EventPropertyFieldType = builder.enumType('EventPropertyFieldType', {
  description: 'How a property is stored and shown; follows from its type.',
  values: {
    RADIO: { value: 'radio', description: 'For `BOOL`.' },
    DATE: { value: 'date', description: 'For `DATE` and `DATETIME`.' },
    SELECT: { value: 'select', description: 'For `ENUMERATION`.' },
    NUMBER: { value: 'number', description: 'For `NUMBER`.' },
    TEXT: { value: 'text', description: 'For `STRING`.' },
  },
});

const EventPropertyOptionType = builder.objectRef<PropertyOption>('EventPropertyOption').implement({
  description: 'One choice of an enumeration.',
  fields: (t) => ({
    label: t.exposeString('label', { description: 'What people read.' }),
    value: t.exposeString('value', { description: 'What occurrences carry; unique within the property.' }),
  }),
});

const MatchingRuleType = builder.objectRef<{ targetObjectPropertyName: string; eventPropertyName: string }>('PrimaryObjectRule').implement({
  description: 'Which value of an occurrence finds which record.',
  fields: (t) => ({
    targetObjectPropertyName: t.exposeString('targetObjectPropertyName', { description: 'A unique property of the target object.' }),
    eventPropertyName: t.exposeString('eventPropertyName', { description: 'The property of this definition that holds the same value.' }),
  }),
});

const CustomMatchingIdType = builder.objectRef<NonNullable<EventDefinitionRow['customMatchingId']>>('CustomMatchingId').implement({
  description: 'Links occurrences to records by a property value, so that they need not carry an object id.',
  fields: (t) => ({
    primaryObjectRule: t.field({ type: MatchingRuleType, description: 'The rule.', resolve: ({ primaryObjectRule }) => primaryObjectRule }),
  }),
});

const EventProperty = builder.objectRef<EventPropertyRow>('EventProperty').implement({
  description: 'A property that occurrences of an event may carry: a default one, the same everywhere, or a custom one.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Internal name, unique within the definition; never changes.' }),
    label: t.exposeString('label', { description: 'What people read; at most 50 characters.' }),
    type: t.field({ type: EventPropertyType, description: 'What it holds.', resolve: ({ type }) => type }),
    fieldType: t.field({ type: EventPropertyFieldType, description: 'How it is stored.', resolve: ({ type }) => FIELD_TYPE_OF[type] }),
    description: t.exposeString('description', { nullable: true, description: 'Free text.' }),
    options: t.field({ type: [EventPropertyOptionType], description: 'The choices of an enumeration; empty for other types.', resolve: ({ options }) => [...options] }),
    displayOrder: t.exposeInt('displayOrder', { description: 'Default properties first, then custom ones in order of creation.' }),
    isDefault: t.exposeBoolean('isDefault', { description: 'Whether it is a default property, which can be neither changed nor deleted.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

const EventDefinition = nodeType<EventDefinitionRow>('EventDefinition', {
  description: 'The schema of a custom event: something that occurred at a moment in time, such as adding an item to a cart.',
  keyOf: ({ id }) => id,
  load: (context, keys) => readEventDefinitionsByIds(context, uuidsOf(keys)),
  fields: (t) => ({
    databaseId: t.field({ type: 'UUID', description: 'The id that REST uses.', resolve: ({ id }) => id }),
    name: t.exposeString('name', { description: 'Internal name, unique in the organization for ever; never changes.' }),
    fullyQualifiedName: t.string({
      description: '`pe<organization number>_<name>`; accepted wherever the name is.',
      resolve: (row, _, { actor }) => fullyQualifiedName(row, requireOrganization(actor)),
    }),
    objectTypeId: t.string({ description: '`6-<number>`, unique over all organizations.', resolve: objectTypeId }),
    label: t.exposeString('label', { description: 'What people read; at most 100 characters.' }),
    description: t.exposeString('description', { nullable: true, description: 'Free text.' }),
    primaryObject: t.exposeString('primaryObject', { description: 'The object whose records receive occurrences: a standard one, a custom object, or `NO_OBJECT`.' }),
    customMatchingId: t.field({
      type: CustomMatchingIdType,
      nullable: true,
      description: 'How occurrences find their record without an object id.',
      resolve: ({ customMatchingId }) => customMatchingId,
    }),
    includeDefaultProperties: t.exposeBoolean('includeDefaultProperties', { description: 'Whether it has the default properties.' }),
    properties: t.loadableList({
      type: EventProperty,
      description: 'Default properties first, then at most 50 custom ones in order of creation.',
      load: async (definitions: EventDefinitionRow[], context) => {
        const properties = await readPropertiesOf(context, definitions);
        return definitions.map(({ id }) => properties.get(id) ?? []);
      },
      resolve: (row) => row,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

const OrderField = builder.enumType('EventDefinitionOrderField', {
  description: 'What event definitions can be sorted by.',
  values: {
    NAME: { description: 'The internal name.' },
    CREATED_AT: { description: 'Time of creation.' },
    UPDATED_AT: { description: 'Time of the last change.' },
  } satisfies Record<keyof typeof ORDERINGS, { description: string }>,
});

export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Which way a list runs.',
  values: { ASC: { description: 'Smallest or earliest first.' }, DESC: { description: 'Largest or latest first.' } },
});

const OrderInput = builder.inputType('EventDefinitionOrder', {
  description: 'How to sort event definitions.',
  fields: (t) => ({
    field: t.field({ type: OrderField, required: true, description: 'What to sort by.' }),
    direction: t.field({ type: OrderDirection, required: true, defaultValue: 'ASC', description: 'Which way.' }),
  }),
});

const FilterInput = builder.inputType('EventDefinitionFilter', {
  description: 'Which event definitions to list; all conditions hold together.',
  fields: (t) => ({
    primaryObject: t.stringList({ description: 'Any of these primary objects.' }),
    hasCustomMatchingId: t.boolean({ description: 'Only those with, or only those without, a custom matching id.' }),
  }),
});

builder.objectField(OrganizationType, 'eventDefinitions', (t) =>
  t.connection(
    {
      type: EventDefinition,
      description: 'Its event definitions, by name unless ordered otherwise.',
      args: {
        search: t.arg.string({ description: 'Only those whose name contains this; case is ignored, `%` and `_` are plain characters.' }),
        filter: t.arg({ type: FilterInput, description: 'Further conditions.' }),
        orderBy: t.arg({ type: OrderInput, description: 'By name, ascending, unless given.' }),
      },
      resolve: async (_, { search, filter, orderBy, ...page }, context) => {
        const order = { field: orderBy?.field ?? ('NAME' as const), direction: orderBy?.direction ?? ('ASC' as const) };
        const list = await listEventDefinitions(context, { filter: { ...filter, search }, order, page });
        return { ...toConnection(list.page), total: list.total };
      },
    },
    {
      description: 'A page of event definitions.',
      fields: (c) => ({
        totalCount: c.int({ description: 'How many fit the filter; costs a statement, only when asked for.', resolve: (connection) => connection.total() }),
      }),
    },
    { description: 'An event definition in a list.' },
  ),
);

const EVENT_NAME = 'Name, fully qualified name, or id of the definition.';

const NamePreviewType = builder.objectRef<NamePreview>('EventDefinitionNamePreview').implement({
  description: 'What a creation without a name would make of a label, as things stand; nothing is reserved.',
  fields: (t) => ({
    name: t.exposeString('name', { nullable: true, description: 'The name that the label makes; null when it leaves nothing.' }),
    isFree: t.exposeBoolean('isFree', { description: 'Whether that name is free.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it is not free; null when it is.' }),
    nextFreeName: t.exposeString('nextFreeName', { nullable: true, description: 'The name that a creation would get: this one, or a numbered one.' }),
  }),
});

const DeletionPreviewType = builder.objectRef<Awaited<ReturnType<typeof previewEventDefinitionDeletion>>>('DeleteEventDefinitionPreview').implement({
  description: 'What a deletion would take away for ever.',
  fields: (t) => ({
    eventDefinition: t.field({ type: EventDefinition, description: 'The definition, with its default and custom properties.', resolve: ({ definition }) => definition }),
    customPropertyCount: t.exposeInt('customPropertyCount', { description: 'Custom properties that would be lost.' }),
    burntName: t.string({ description: 'The name that could never be used again.', resolve: ({ definition }) => definition.name }),
  }),
});

builder.queryFields((t) => ({
  eventDefinition: t.field({
    type: EventDefinition,
    nullable: true,
    description: 'One event definition of the organization; null when there is none.',
    args: { name: t.arg.string({ required: true, description: EVENT_NAME, validate: eventDefinitionReference.shape.eventName }) },
    resolve: async (_, { name }, context) => orNull(readEventDefinition(context, { eventName: name })),
  }),
  eventDefinitionNamePreview: t.field({
    type: NamePreviewType,
    description: 'The name that a label would make, and whether it is free.',
    args: { label: t.arg.string({ required: true, description: 'A label as for `createEventDefinition`.', validate: eventDefinitionNamePreviewInput.shape.label }) },
    resolve: (_, { label }, context) => previewEventDefinitionName(context, { label }),
  }),
  deleteEventDefinitionPreview: t.field({
    type: DeletionPreviewType,
    nullable: true,
    description: 'What deleting a definition would take away; null when there is none.',
    args: { eventName: t.arg.string({ required: true, description: EVENT_NAME, validate: eventDefinitionReference.shape.eventName }) },
    resolve: async (_, input, context) => orNull(previewEventDefinitionDeletion(context, input)),
  }),
}));

async function orNull<Result>(reading: Promise<Result>): Promise<Result | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

const OptionInput = builder.inputType('EventPropertyOptionInput', {
  description: 'One choice of an enumeration.',
  fields: (t) => ({
    label: t.string({ required: true, description: 'What people read.' }),
    value: t.string({ required: true, description: 'What occurrences carry; unique within the property.' }),
  }),
});

const PropertyInput = builder.inputType('EventPropertyDefinitionInput', {
  description: 'A property to create with its definition.',
  fields: (t) => ({
    label: t.string({ required: true, description: '1 to 50 characters.' }),
    name: t.string({ description: 'At most 50 lowercase letters, digits and underscores, a letter first; made from the label when absent.' }),
    type: t.field({ type: EventPropertyType, required: true, description: 'What it holds.' }),
    description: t.string({ description: 'Free text.' }),
    options: t.field({ type: [OptionInput], description: 'For `ENUMERATION` alone, which needs at least one.' }),
  }),
});

const MatchingRuleInput = builder.inputType('PrimaryObjectRuleInput', {
  description: 'Which value of an occurrence finds which record.',
  fields: (t) => ({
    targetObjectPropertyName: t.string({ required: true, description: 'A unique property of the target object.' }),
    eventPropertyName: t.string({ required: true, description: 'A property of this definition, of type `STRING` or `NUMBER`.' }),
  }),
});

const CustomMatchingIdInput = builder.inputType('CustomMatchingIdInput', {
  description: 'Links occurrences to records by a property value.',
  fields: (t) => ({ primaryObjectRule: t.field({ type: MatchingRuleInput, required: true, description: 'The rule.' }) }),
});

mutation('createEventDefinition', {
  description: 'Creates an event definition with its properties.',
  schema: createEventDefinitionInput,
  input: (t) => ({
    label: t.string({ required: true, description: '1 to 100 characters.' }),
    name: t.string({ description: 'At most 50 lowercase letters, digits and underscores, a letter first; made from the label when absent.' }),
    description: t.string({ description: 'Free text.' }),
    propertyDefinitions: t.field({ type: [PropertyInput], description: 'At most 50 custom properties.' }),
    primaryObject: t.string({ description: '`CONTACT` when absent.' }),
    customMatchingId: t.field({ type: CustomMatchingIdInput, description: 'How occurrences find their record without an object id.' }),
    includeDefaultProperties: t.boolean({ description: '`true` when absent.' }),
  }),
  errors: [ConflictError],
  run: async (context, input) => ({ definition: await createEventDefinition(context, input) }),
  payload: (t) => ({ eventDefinition: t.field({ type: EventDefinition, description: 'The new definition.', resolve: ({ definition }) => definition }) }),
});

mutation('updateEventDefinition', {
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
  payload: (t) => ({ eventDefinition: t.field({ type: EventDefinition, description: 'The changed definition.', resolve: ({ definition }) => definition }) }),
});

mutation('deleteEventDefinition', {
  description: 'Deletes an event definition and its occurrences for ever; its name can never be used again.',
  schema: eventDefinitionReference,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({ eventName: t.string({ required: true, description: EVENT_NAME }) }),
  errors: [NotFoundError],
  run: async (context, input) => ({ definition: await deleteEventDefinition(context, input) }),
  payload: (t) => ({
    deletedId: t.id({ description: 'Global id of the definition that is gone.', resolve: ({ definition }) => toGlobalId('EventDefinition', definition.id) }),
    deletedName: t.string({ description: 'Its name, which can never be used again.', resolve: ({ definition }) => definition.name }),
  }),
});

mutation('addEventProperty', {
  description: 'Adds a custom property to an event definition, which has at most 50.',
  schema: addEventPropertyInput,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    eventName: t.string({ required: true, description: EVENT_NAME }),
    label: t.string({ required: true, description: '1 to 50 characters.' }),
    name: t.string({ description: 'At most 50 lowercase letters, digits and underscores, a letter first; made from the label when absent.' }),
    type: t.field({ type: EventPropertyType, required: true, description: 'What it holds.' }),
    description: t.string({ description: 'Free text.' }),
    options: t.field({ type: [OptionInput], description: 'For `ENUMERATION` alone, which needs at least one.' }),
  }),
  errors: [NotFoundError, ConflictError],
  run: addEventProperty,
  payload: (t) => ({
    eventDefinition: t.field({ type: EventDefinition, description: 'The definition with it.', resolve: ({ definition }) => definition }),
    property: t.field({ type: EventProperty, description: 'The new property.', resolve: ({ property }) => customPropertyRow(property) }),
  }),
});

mutation('updateEventProperty', {
  description: 'Changes label, description, and the options of an enumeration. Removing an option keeps it valid for past occurrences.',
  schema: updateEventPropertyInput,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    eventName: t.string({ required: true, description: EVENT_NAME }),
    name: t.string({ required: true, description: 'Name of the property.' }),
    label: t.string({ description: '1 to 50 characters; kept when absent.' }),
    description: t.string({ description: 'Free text; kept when absent, cleared by null.' }),
    options: t.field({ type: [OptionInput], description: 'All choices of an enumeration; kept when absent.' }),
  }),
  errors: [NotFoundError],
  run: updateEventProperty,
  payload: (t) => ({
    eventDefinition: t.field({ type: EventDefinition, description: 'The definition with it.', resolve: ({ definition }) => definition }),
    property: t.field({ type: EventProperty, description: 'The changed property.', resolve: ({ property }) => customPropertyRow(property) }),
  }),
});

mutation('replaceEventPropertyType', {
  description: 'Gives a property another type: deletes it and creates it again under its name, in one transaction. Past occurrences keep their values.',
  schema: replaceEventPropertyTypeInput,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    eventName: t.string({ required: true, description: EVENT_NAME }),
    name: t.string({ required: true, description: 'Name of the property.' }),
    type: t.field({ type: EventPropertyType, required: true, description: 'The new type.' }),
    label: t.string({ description: '1 to 50 characters; kept when absent.' }),
    description: t.string({ description: 'Free text; kept when absent, cleared by null.' }),
    options: t.field({ type: [OptionInput], description: 'For `ENUMERATION` alone, which needs at least one.' }),
  }),
  errors: [NotFoundError, ConflictError],
  run: replaceEventPropertyType,
  payload: (t) => ({
    eventDefinition: t.field({ type: EventDefinition, description: 'The definition with it.', resolve: ({ definition }) => definition }),
    property: t.field({ type: EventProperty, description: 'The new property.', resolve: ({ property }) => customPropertyRow(property) }),
  }),
});

mutation('deleteEventProperty', {
  description: 'Removes a custom property; past occurrences keep their values, and the name may be used again.',
  schema: eventPropertyReference,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    eventName: t.string({ required: true, description: EVENT_NAME }),
    name: t.string({ required: true, description: 'Name of the property.' }),
  }),
  errors: [NotFoundError, ConflictError],
  run: deleteEventProperty,
  payload: (t) => ({
    eventDefinition: t.field({ type: EventDefinition, description: 'The definition without it.', resolve: ({ definition }) => definition }),
    deletedName: t.string({ description: 'Name of the property that is gone.', resolve: ({ property }) => property.name }),
  }),
});
