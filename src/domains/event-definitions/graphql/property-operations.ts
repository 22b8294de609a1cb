import { ConflictError, NotFoundError } from '../../../core/errors.ts';
import { type PayloadFields, mutation } from '../../../core/graphql/mutations.ts';
import { EXPECTED_UPDATED_AT } from '../../../core/expected-version.ts';
import { EVENT_NAME, EventDefinition } from './types.ts';
import {
  addEventPropertyInput,
  eventPropertyReference,
  replaceEventPropertyTypeInput,
  updateEventPropertyInput,
} from '../property-input.ts';
import { EventProperty, EventPropertyType, OptionInput, newPropertyFields } from './property-types.ts';
import {
  addEventProperty,
  deleteEventProperty,
  replaceEventPropertyType,
  updateEventProperty,
} from '../property-operations.ts';
import { propertyRow } from '../property-queries.ts';
import { definitionRow } from '../queries.ts';

/** A property that was created or changed, and its definition. */
const withDefinition =
  (description: string) => (t: PayloadFields<Awaited<ReturnType<typeof updateEventProperty>>>) => ({
    eventDefinition: t.field({
      type: EventDefinition,
      description: 'The definition that has it.',
      resolve: ({ definition }) => definitionRow(definition),
    }),
    property: t.field({ type: EventProperty, description, resolve: ({ property }) => propertyRow(property) }),
  });

mutation('addEventProperty', {
  access: addEventProperty.access,
  description: 'Adds a custom property to an event definition, which has at most 50.',
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
    'Changes label, description, and the options of an enumeration. Removing an option keeps it valid for past occurrences.',
  schema: updateEventPropertyInput,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    eventName: t.string({ required: true, description: EVENT_NAME }),
    name: t.string({ required: true, description: 'Name of the property.' }),
    label: t.string({ description: '1 to 50 characters; kept when absent.' }),
    description: t.string({ description: 'Free text; kept when absent, cleared by null.' }),
    options: t.field({ type: [OptionInput], description: 'All choices of an enumeration; kept when absent.' }),
    expectedUpdatedAt: t.field({ type: 'DateTime', description: EXPECTED_UPDATED_AT }),
  }),
  errors: [NotFoundError, ConflictError],
  run: updateEventProperty,
  payload: withDefinition('The changed property.'),
});

mutation('replaceEventPropertyType', {
  access: replaceEventPropertyType.access,
  description:
    'Gives a property another type: deletes it and creates it again under its name, in one transaction. Past occurrences keep their values.',
  schema: replaceEventPropertyTypeInput,
  ids: { eventName: 'EventDefinition' },
  input: (t) => ({
    eventName: t.string({ required: true, description: EVENT_NAME }),
    name: t.string({ required: true, description: 'Name of the property.' }),
    type: t.field({ type: EventPropertyType, required: true, description: 'The new type.' }),
    label: t.string({ description: '1 to 50 characters; kept when absent.' }),
    description: t.string({ description: 'Free text; kept when absent, cleared by null.' }),
    options: t.field({ type: [OptionInput], description: 'For `ENUMERATION`, which needs at least one.' }),
    expectedUpdatedAt: t.field({ type: 'DateTime', description: EXPECTED_UPDATED_AT }),
  }),
  errors: [NotFoundError, ConflictError],
  run: replaceEventPropertyType,
  payload: withDefinition('The new property.'),
});

mutation('deleteEventProperty', {
  access: deleteEventProperty.access,
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
    eventDefinition: t.field({
      type: EventDefinition,
      description: 'The definition without it.',
      resolve: ({ definition }) => definitionRow(definition),
    }),
    deletedName: t.string({
      description: 'Name of the deleted property.',
      resolve: ({ property }) => property.name,
    }),
  }),
});
