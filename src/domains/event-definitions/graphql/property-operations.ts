import { toGlobalId } from '../../../core/graphql/global-ids.ts';
import { type PayloadFields, mutation } from '../../../core/graphql/mutations.ts';
import { EventDefinition } from './types.ts';
import { eventPropertyReference, replaceEventPropertyTypeInput, updateEventPropertyInput } from '../property-input.ts';
import { PROPERTY_REFERENCE, acceptingPropertyId } from './property-reference.ts';
import { EventProperty, propertyKey } from './property-types.ts';
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

const OF_DEFINITION = { ids: { eventName: 'EventDefinition' } };

mutation(addEventProperty, { ...OF_DEFINITION, payload: withDefinition('The new property.') });
mutation(updateEventProperty, {
  ...PROPERTY_REFERENCE,
  schema: acceptingPropertyId(updateEventPropertyInput),
  payload: withDefinition('The changed property.'),
});
mutation(replaceEventPropertyType, {
  ...PROPERTY_REFERENCE,
  schema: acceptingPropertyId(replaceEventPropertyTypeInput),
  payload: withDefinition('The new property.'),
});
mutation(deleteEventProperty, {
  ...PROPERTY_REFERENCE,
  schema: acceptingPropertyId(eventPropertyReference),
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
