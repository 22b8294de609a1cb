import { ConflictError, NotFoundError } from '../../../core/errors.ts';
import type { InputFields } from '../../../core/graphql/derived-inputs.ts';
import { toGlobalId } from '../../../core/graphql/global-ids.ts';
import { type PayloadFields, mutation } from '../../../core/graphql/mutations.ts';
import { EXPECTED_UPDATED_AT } from '../../../core/input/expected-version.ts';
import { EVENT_NAME, EventDefinition } from './types.ts';
import {
  addEventPropertyInput,
  eventPropertyReference,
  replaceEventPropertyTypeInput,
  updateEventPropertyInput,
} from '../property-input.ts';
import { EventProperty, EventPropertyType, OptionInput, newPropertyFields, propertyKey } from './property-types.ts';
import {
  addEventProperty,
  deleteEventProperty,
  replaceEventPropertyType,
  updateEventProperty,
} from '../property-operations.ts';
import { propertyRow } from '../property-queries.ts';
import { definitionRow } from '../queries.ts';

/** Payload with a new or changed property and its definition. */
const withDefinition =
  (description: string) => (t: PayloadFields<Awaited<ReturnType<typeof updateEventProperty>>>) => ({
    eventDefinition: t.field({
      type: EventDefinition,
      description: 'The definition of the property.',
      resolve: ({ definition }) => definitionRow(definition),
    }),
    property: t.field({ type: EventProperty, description, resolve: ({ property }) => propertyRow(property) }),
  });

/** Input fields that name a property. */
const reference = (t: InputFields) => ({
  eventName: t.string({ required: true, description: EVENT_NAME }),
  name: t.string({ required: true, description: 'Name of the custom property.' }),
});

/** Input fields of the texts of an existing property. */
const changedTexts = (t: InputFields) => ({
  label: t.string({ description: '1 to 50 characters; unchanged when absent.' }),
  description: t.string({
    description: 'Free text, at most 10,000 characters; unchanged when absent, cleared by null.',
  }),
});

mutation('addEventProperty', {
  access: addEventProperty.access,
  description: 'Adds a custom property to an event definition. A definition has at most 50 custom properties.',
  schema: addEventPropertyInput,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    eventName: t.string({ required: true, description: EVENT_NAME }),
    ...newPropertyFields(t),
  }),
  errors: [NotFoundError, ConflictError],
  run: addEventProperty,
  payload: withDefinition('The new property.'),
});

mutation('updateEventProperty', {
  access: updateEventProperty.access,
  description:
    'Changes the label, the description, and the options of an enumeration. A removed option stays valid for past occurrences.',
  schema: updateEventPropertyInput,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    ...reference(t),
    ...changedTexts(t),
    options: t.field({
      type: [OptionInput],
      description: 'All options of an enumeration, 1 to 5,000; unchanged when absent.',
    }),
    expectedUpdatedAt: t.field({ type: 'DateTime', description: EXPECTED_UPDATED_AT }),
  }),
  errors: [NotFoundError, ConflictError],
  run: updateEventProperty,
  payload: withDefinition('The changed property.'),
});

mutation('replaceEventPropertyType', {
  access: replaceEventPropertyType.access,
  description:
    'Changes the type of a property: deletes the property and creates it again with the same name, in one transaction. Past occurrences keep their values.',
  schema: replaceEventPropertyTypeInput,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    ...reference(t),
    type: t.field({ type: EventPropertyType, required: true, description: 'The new type.' }),
    ...changedTexts(t),
    options: t.field({
      type: [OptionInput],
      description: 'Options for the type `ENUMERATION`, 1 to 5,000. Absent or empty for every other type.',
    }),
    expectedUpdatedAt: t.field({ type: 'DateTime', description: EXPECTED_UPDATED_AT }),
  }),
  errors: [NotFoundError, ConflictError],
  run: replaceEventPropertyType,
  payload: withDefinition('The new property.'),
});

mutation('deleteEventProperty', {
  access: deleteEventProperty.access,
  description: 'Deletes a custom property. Past occurrences keep their values, and the name can be used again.',
  schema: eventPropertyReference,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    ...reference(t),
  }),
  errors: [NotFoundError, ConflictError],
  run: deleteEventProperty,
  payload: (t) => ({
    eventDefinition: t.field({
      type: EventDefinition,
      description: 'The definition without the deleted property.',
      resolve: ({ definition }) => definitionRow(definition),
    }),
    deletedId: t.id({
      description: 'Global id of the deleted property.',
      resolve: ({ definition, property: { name } }) =>
        toGlobalId('EventProperty', propertyKey({ definitionId: definition.id, name })),
    }),
    deletedName: t.string({
      description: 'Name of the deleted property.',
      resolve: ({ property }) => property.name,
    }),
  }),
});
