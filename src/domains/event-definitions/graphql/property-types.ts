import { exposed, nullable } from '../../../core/graphql/fields.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { inputType } from '../../../core/graphql/derived-inputs.ts';
import { enumOf } from '../../../core/graphql/enums.ts';
import { keyOfText } from '../../../core/graphql/global-ids.ts';
import { nodeType, resolveNode } from '../../../core/graphql/nodes.ts';
import { withAccess } from '../../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { hasAccess } from '../../../core/access.ts';
import { EVENT_DEFINITIONS } from '../policy.ts';
import { deleteEventProperty, updateEventProperty } from '../property-operations.ts';
import { type EventPropertyKey, readEventProperties } from '../read-operations.ts';
import { displayOrder, isDefault } from '../computed-fields.ts';
import { FIELD_TYPE_OF, PROPERTY_TYPES, type PropertyOption } from '../property-types.ts';
import { propertyPlaceOf } from './property-reference.ts';
import { option, propertyDefinition } from '../property-input.ts';
import type { EventPropertyRow } from '../property-queries.ts';

/** The GraphQL types of properties, for output and input. */

export const EventPropertyType = enumOf(
  'EventPropertyType',
  'Type of the values of a property. A type never changes; `replaceEventPropertyType` deletes the property and creates it again.',
  PROPERTY_TYPES,
  {
    bool: '`true` or `false`.',
    date: 'A day in UTC: ISO 8601, or a UNIX timestamp in milliseconds at midnight.',
    datetime: 'A date and time: ISO 8601, or a UNIX timestamp in milliseconds.',
    enumeration: 'One of the predefined options.',
    number: 'A number with at most 15 digits, at most one of them a decimal.',
    string:
      'Plain text of at most 256 characters, or 1,024 when the property name contains `url`, `referrer` or `link`.',
  },
);

const EventPropertyFieldType = builder.enumType('EventPropertyFieldType', {
  description: 'How a property is stored and displayed. The type of the property determines it.',
  values: {
    RADIO: { value: 'radio', description: 'For `BOOL`.' },
    DATE: { value: 'date', description: 'For `DATE` and `DATETIME`.' },
    SELECT: { value: 'select', description: 'For `ENUMERATION`.' },
    NUMBER: { value: 'number', description: 'For `NUMBER`.' },
    TEXT: { value: 'text', description: 'For `STRING`.' },
  },
});

/** An option, with its property if its id is selected. */
interface OptionRow extends PropertyOption {
  readonly of?: EventPropertyKey;
}

const EventPropertyOptionType = nodeType<OptionRow>('EventPropertyOption', {
  description: 'One option of an enumeration. It is identified by its property and its value.',
  keyOf: ({ of, value }) => `${of ? propertyKey(of) : ''}:${keyOfText(value)}`,
  keyColumns: ['of'],
  load: async (context, keys) => {
    const properties = keys.flatMap((key) => propertyKeyOf(key.replace(/:[^:]*$/, '')));
    const rows = await readEventProperties(context, properties, ['definitionId', 'name', 'options']);
    return rows.flatMap(({ options, ...of }) => options.map((one) => ({ ...one, of })));
  },
  fields: (t) => ({
    label: t.exposeString('label', { description: 'The text to display.' }),
    value: t.exposeString('value', { description: 'The value in occurrences; unique within the property.' }),
    displayOrder: t.exposeInt('displayOrder', {
      nullable: true,
      description: 'Position for display. Null when none was given. The gateway stores it, but does not sort by it.',
    }),
    hidden: t.boolean({
      description: 'Whether clients should hide the option in select boxes. Occurrences can still contain it.',
      resolve: ({ hidden }) => hidden ?? false,
    }),
    description: t.exposeString('description', { nullable: true, description: 'Free text. Null when there is none.' }),
  }),
});

export const EventProperty = nodeType<EventPropertyRow>('EventProperty', {
  description:
    'A property that occurrences of an event can contain. Default properties are the same in all definitions; custom properties belong to one definition. A property is identified by its definition and its name.',
  keyOf: propertyKey,
  keyColumns: ['definitionId', 'name'],
  load: (context, keys, selected) => readEventProperties(context, keys.flatMap(propertyKeyOf), selected),
  fields: (t) => ({
    ...exposed(t, {
      name: ['String', 'Internal name of at most 50 characters, unique within the definition. It never changes.'],
      label: ['String', 'Name to display, at most 50 characters.'],
      type: [EventPropertyType, 'Type of the values.'],
      description: [nullable('String'), 'Free text of at most 10,000 characters. Null when there is none.'],
      createdAt: ['DateTime', 'When the property was created.'],
      updatedAt: ['DateTime', 'When the property last changed. `expectedUpdatedAt` is compared with it.'],
    }),
    fieldType: t.field({
      type: EventPropertyFieldType,
      description: 'How the property is stored and displayed.',
      extensions: needs<EventPropertyRow>('type'),
      resolve: ({ type }) => FIELD_TYPE_OF[type],
    }),
    options: t.field({
      type: [EventPropertyOptionType],
      description: 'The options of an enumeration, at most 5,000. Empty for other types.',
      extensions: needs<EventPropertyRow>('definitionId', 'name', 'options'),
      resolve: ({ options, definitionId, name }, _, __, info): readonly OptionRow[] =>
        selectedColumns<OptionRow>(info, 'EventPropertyOption')?.includes('of') === false
          ? options
          : options.map((one) => ({ ...one, of: { definitionId, name } })),
    }),
    displayOrder: t.int({
      description:
        'Position in the list of properties: default properties first, then custom properties in order of creation.',
      extensions: needs<EventPropertyRow>('position'),
      resolve: displayOrder,
    }),
    isDefault: t.boolean({
      description: 'Whether this is a default property, which cannot be changed or deleted.',
      extensions: needs<EventPropertyRow>('position'),
      resolve: isDefault,
    }),
    viewerCanUpdate: t.boolean({
      description: withAccess(
        'Whether the caller can change the property. False for a default property.',
        EVENT_DEFINITIONS,
      ),
      extensions: needs<EventPropertyRow>('position'),
      resolve: (property, _, { actor }) => !isDefault(property) && hasAccess(actor, updateEventProperty.access),
    }),
    viewerCanDelete: t.boolean({
      description: withAccess(
        'Whether the caller can delete the property. False for a default property.',
        EVENT_DEFINITIONS,
      ),
      extensions: needs<EventPropertyRow>('position'),
      resolve: (property, _, { actor }) => !isDefault(property) && hasAccess(actor, deleteEventProperty.access),
    }),
  }),
});

builder.objectField(EventPropertyOptionType, 'property', (t) =>
  t.field({
    type: EventProperty,
    nullable: true,
    description: 'The property that has the option. Null when it was deleted in the meantime.',
    extensions: { ...OWN_STATEMENT, ...needs<OptionRow>('of') },
    // An object of this type, or null.
    resolve: ({ of }, _, context, info) =>
      resolveNode({ context, info }, 'EventProperty', of ? propertyKey(of) : null) as never,
  }),
);

/** The key of a property within its type. */
export function propertyKey({ definitionId, name }: Pick<EventPropertyKey, 'definitionId' | 'name'>): string {
  return `${definitionId}:${name}`;
}

function propertyKeyOf(key: string): EventPropertyKey | [] {
  return propertyPlaceOf(key) ?? [];
}

inputType('EventPropertyOptionInput', option, { types: { value: 'String' } });
inputType('EventPropertyDefinitionInput', propertyDefinition);
