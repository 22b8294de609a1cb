import { isObject } from '../../../core/is-object.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import type { GraphQLResolveInfo } from 'graphql';
import { z } from 'zod';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { connectionType } from '../../../core/graphql/connections.ts';
import { ConflictError, type InputFaultCode, NotFoundError } from '../../../core/errors.ts';
import { rule } from '../../../core/input/validation.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { acceptingIds, toGlobalId } from '../../../core/graphql/global-ids.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import type { OperationContext } from '../../../core/operation.ts';
import { selectedColumns } from '../../../core/graphql/selection.ts';
import { organizationList } from '../../organizations/graphql/organization-list.ts';
import { EVENT_DEFINITIONS } from '../policy.ts';
import { EXPECTED_UPDATED_AT } from '../../../core/input/expected-version.ts';
import { EVENT_NAME, EventDefinition, PrimaryObject } from './types.ts';
import { standardObject } from '../entity.ts';
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
  lookUpEventDefinition,
  lookUpEventDefinitionWithProperties,
  previewEventDefinitionName,
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
  description:
    'Conditions on event definitions. A definition is listed when it meets all of them. A condition with an empty list matches nothing.',
  validate: eventDefinitionFilter,
  fields: (t) => ({
    search: t.string({
      description:
        'Definitions whose name contains this text of at most 1,000 characters. Case is ignored; there are no wildcards.',
    }),
    primaryObjects: t.field({
      type: [PrimaryObject],
      description:
        'Definitions with any of these primary objects, at most 100. `CUSTOM_OBJECT` means any custom object.',
    }),
    customObjectNames: t.stringList({
      description:
        'Definitions with any of these custom objects, at most 100. Together with `primaryObjects`, a definition must match one of the two lists.',
    }),
    hasCustomMatchingId: t.boolean({
      description: 'True lists definitions with a custom matching id, false those without one.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Definitions created at this time or later.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Definitions created before this time.' }),
  }),
});

const EventDefinitionConnection = connectionType(EventDefinition, { of: 'event definitions' });

organizationList('eventDefinitions', {
  type: EventDefinition,
  connection: EventDefinitionConnection,
  description: 'Event definitions of the organization, by name by default.',
  access: EVENT_DEFINITIONS,
  filter: { type: FilterInput, description: 'Conditions on the definitions. When absent, all definitions are listed.' },
  order: EVENT_DEFINITION_ORDER,
  list: (context, asked, columns) => listEventDefinitions(context, { ...asked, columns }),
});

const NamePreviewType = builder.objectRef<NamePreview>('EventDefinitionNamePreview').implement({
  description: 'The name that `createEventDefinition` would generate from a label now. The name is not reserved.',
  fields: (t) => ({
    name: t.exposeString('name', {
      nullable: true,
      description: 'The name generated from the label. Null when the label has neither letters nor digits.',
    }),
    isFree: t.exposeBoolean('isFree', { description: 'Whether `name` is free.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why `name` is not free. Null when it is free.' }),
    nextFreeName: t.exposeString('nextFreeName', {
      nullable: true,
      description:
        'The name that a new definition would get: `name`, or `name` with a number. Null when no name can be generated.',
    }),
  }),
});

/** Exactly one of `id` and `name` is required. As in mutations, each of them accepts an id or a name. */
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
    description:
      'One event definition of the acting organization. Null when there is none. Give exactly one of `id` and `name`.',
    extensions: { ...OWN_STATEMENT, ...refusable(EVENT_DEFINITIONS) },
    args: {
      id: t.arg.id({ description: '`id` or `databaseId` of the definition. Must not be combined with `name`.' }),
      name: t.arg.string({
        description:
          'Name or fully qualified name of the definition, 1 to 255 characters. Must not be combined with `id`.',
      }),
    },
    validate: acceptingIds(eventDefinitionArguments, { id: 'EventDefinition', name: 'EventDefinition' }),
    resolve: (_, { id, name }, context, info) => lookUpSelected(context, id ?? name ?? '', info),
  }),
  eventDefinitionNamePreview: t.field({
    type: NamePreviewType,
    description: 'The name that would be generated from a label, and whether it is free.',
    extensions: { ...OWN_STATEMENT, ...refusable(EVENT_DEFINITIONS) },
    args: {
      label: t.arg.string({
        required: true,
        description: 'A label as in `createEventDefinition`, 1 to 100 characters.',
        validate: eventDefinitionNamePreviewInput.shape.label,
      }),
    },
    resolve: (_, { label }, context) => previewEventDefinitionName(context, { label }),
  }),
}));

/** Looks up a definition. The same statement reads its properties if they are selected. */
async function lookUpSelected(context: OperationContext, name: string, info: GraphQLResolveInfo) {
  const asked = selectedColumns<EventDefinitionRow>(info, 'EventDefinition');
  const askedOfProperties = selectedColumns<EventPropertyRow>(info, 'EventProperty', 'properties');
  const row = askedOfProperties?.length
    ? await lookUpEventDefinitionWithProperties(context, name, { asked, askedOfProperties })
    : await lookUpEventDefinition(context, name, asked);
  return row ?? null;
}

const MatchingRuleInput = builder.inputType('PrimaryObjectRuleInput', {
  description: 'The rule that finds the record of an occurrence by a property value.',
  fields: (t) => ({
    targetObjectPropertyName: t.string({
      required: true,
      description: 'Name of a unique property of the target object, 1 to 255 characters.',
    }),
    eventPropertyName: t.string({
      required: true,
      description: 'Name of a property of this definition, of type `STRING` or `NUMBER`; 1 to 50 characters.',
    }),
  }),
});

const CustomMatchingIdInput = builder.inputType('CustomMatchingIdInput', {
  description: 'Links occurrences to records by the value of a property.',
  fields: (t) => ({
    primaryObjectRule: t.field({ type: MatchingRuleInput, required: true, description: 'The matching rule.' }),
  }),
});

/** Merges `primaryObject` and `customObjectName` into one field, as in REST, where `primaryObject` can be the name of a custom object. */
const withObjectOfBothFields = z.preprocess((value, context) => {
  const { customObjectName, ...given } = isObject(value) ? value : {};
  const isCustom = given['primaryObject'] === CUSTOM_OBJECT;
  const refuse = (code: InputFaultCode, message: string) =>
    context.addIssue({ code: 'custom', path: ['customObjectName'], ...rule(code, message) });
  if (isCustom && customObjectName == null) refuse('REQUIRED', `is required with the primaryObject ${CUSTOM_OBJECT}`);
  if (!isCustom && customObjectName != null)
    refuse('CONFLICTING', `is allowed only with the primaryObject ${CUSTOM_OBJECT}`);
  if (isCustom && typeof customObjectName === 'string' && standardObject(customObjectName))
    refuse('NOT_ALLOWED', `must not be ${customObjectName}, which is a standard object`);
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
        'The internal name: 1 to 50 lowercase letters, digits and underscores, starting with a letter. When absent, it is generated from the label. It never changes.',
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
      description: 'The object whose records receive the occurrences. It never changes.',
    }),
    customObjectName: t.string({
      description:
        'The name of the custom object, required for `CUSTOM_OBJECT` and refused otherwise: a letter, then at most 99 letters, digits or underscores.',
    }),
    customMatchingId: t.field({
      type: CustomMatchingIdInput,
      description: 'How to find the record of an occurrence without an object id. Not allowed with `NO_OBJECT`.',
    }),
    includeDefaultProperties: t.boolean({
      defaultValue: true,
      description: 'Whether the definition gets the default properties.',
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
  description: 'Changes the label and description of an event definition. Its other fields never change.',
  schema: updateEventDefinitionInput,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    eventName: t.string({ required: true, description: EVENT_NAME }),
    label: t.string({ description: '1 to 100 characters; unchanged when absent.' }),
    description: t.string({
      description: 'Free text, at most 10,000 characters; unchanged when absent, cleared by null.',
    }),
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
    'Deletes an event definition and its occurrences. This cannot be undone, and the name can never be used again.',
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
      description: 'Name of the deleted definition, which can never be used again.',
      resolve: ({ definition }) => definition.name,
    }),
  }),
});
