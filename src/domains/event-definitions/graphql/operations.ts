import type { GraphQLResolveInfo } from 'graphql';
import { z } from 'zod';
import { isObject } from '../../../core/is-object.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { filterType, inputType } from '../../../core/graphql/derived-inputs.ts';
import type { InputFaultCode } from '../../../core/errors.ts';
import { rule } from '../../../core/input/validation.ts';
import { mutation, one } from '../../../core/graphql/mutations.ts';
import { acceptingIds, toGlobalId } from '../../../core/graphql/global-ids.ts';
import { listType } from '../../../core/graphql/lists.ts';
import { refuseElsewhere } from '../../../core/graphql/nodes.ts';
import type { OperationContext } from '../../../core/operation.ts';
import { selectedColumns } from '../../../core/graphql/selection.ts';
import { organizationList } from '../../organizations/graphql/organization-list.ts';
import { EVENT_DEFINITIONS } from '../policy.ts';
import { EventDefinition, PrimaryObject } from './types.ts';
import { standardObject } from '../entity.ts';
import {
  CUSTOM_OBJECT,
  createEventDefinitionInput,
  customMatchingId,
  eventDefinitionFilter,
  eventDefinitionNamePreviewInput,
  eventDefinitionReference,
  primaryObjectRule,
} from '../input.ts';
import { createEventDefinition, deleteEventDefinition, updateEventDefinition } from '../operations.ts';
import {
  type NamePreview,
  listEventDefinitions,
  lookUpEventDefinition,
  lookUpEventDefinitionWithProperties,
  previewEventDefinitionName,
} from '../read-operations.ts';
import './property-operations.ts';
import type { EventPropertyRow } from '../property-queries.ts';
import { type EventDefinitionRow, definitionRow } from '../queries.ts';
import { applyTrackingPlan } from '../tracking-plan.ts';
import { plannedDefinition, plannedDeletion, plannedProperty } from '../tracking-plan-input.ts';

const EVENT_DEFINITION_LIST = listType(EventDefinition, {
  of: 'event definitions',
  filter: filterType('EventDefinitionFilter', eventDefinitionFilter, { types: { primaryObjects: PrimaryObject } }),
  conditions: 'Conditions on the definitions. When absent, all definitions are listed.',
  fields: { NAME: 'The internal name.', CREATED_AT: 'Time of creation.', UPDATED_AT: 'Time of the last change.' },
  otherwise: { field: 'NAME', direction: 'ASC' },
});
organizationList('eventDefinitions', EVENT_DEFINITION_LIST, listEventDefinitions);

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
    resolve: async (_, { id, name }, context, info) =>
      (await lookUpSelected(context, id ?? name ?? '', info)) ??
      (id == null ? null : refuseElsewhere(context, { typename: 'EventDefinition', key: id }, info)),
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

inputType('PrimaryObjectRuleInput', primaryObjectRule);
inputType('CustomMatchingIdInput', customMatchingId);

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

mutation(createEventDefinition, {
  schema: withObjectOfBothFields,
  pathOf: ({ path }, { primaryObject }) =>
    path[0] === 'primaryObject' && primaryObject === CUSTOM_OBJECT ? ['customObjectName'] : undefined,
  types: { primaryObject: PrimaryObject },
  fields: (t) => ({
    customObjectName: t.string({
      description:
        'The name of the custom object, required for `CUSTOM_OBJECT` and refused otherwise: a letter, then at most 99 letters, digits or underscores.',
    }),
  }),
  payload: one('eventDefinition', EventDefinition, 'The new definition.', definitionRow),
});

const OF_DEFINITION = { ids: { eventName: 'EventDefinition' } };

mutation(updateEventDefinition, {
  ...OF_DEFINITION,
  payload: one('eventDefinition', EventDefinition, 'The changed definition.', definitionRow),
});

mutation(deleteEventDefinition, {
  ...OF_DEFINITION,
  payload: (t) => ({
    deletedId: t.id({
      description: 'Global id of the deleted definition.',
      resolve: ({ id }) => toGlobalId('EventDefinition', id),
    }),
    deletedName: t.string({
      description: 'Name of the deleted definition, which can never be used again.',
      resolve: ({ name }) => name,
    }),
  }),
});

inputType('PlannedEventPropertyInput', plannedProperty);
// As in REST, it can be the name of a custom object.
inputType('PlannedEventDefinitionInput', plannedDefinition, { types: { primaryObject: 'String' } });
inputType('PlannedEventDeletionInput', plannedDeletion);

mutation(applyTrackingPlan, {
  payload: (t) => ({
    isDryRun: t.exposeBoolean('isDryRun', {
      description: 'Whether nothing was changed because a check was asked for.',
    }),
    created: t.exposeStringList('created', { description: 'Names of the events that did not exist.' }),
    changed: t.exposeStringList('changed', { description: 'Names of the events that differed.' }),
    deleted: t.exposeStringList('deleted', { description: 'Names of the deleted events.' }),
    unchanged: t.exposeStringList('unchanged', { description: 'Names of the events that were already as planned.' }),
  }),
});
