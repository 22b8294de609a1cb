import { builder } from '../../../core/graphql/builder.ts';
import type { InputFields } from '../../../core/graphql/derived-inputs.ts';
import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { nodeType } from '../../../core/graphql/nodes.ts';
import { withAccess } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { hasAccess } from '../../../core/access.ts';
import { EVENT_DEFINITIONS } from '../policy.ts';
import { type EventPropertyKey, readEventProperties } from '../read-operations.ts';
import { displayOrder, isDefault } from '../computed-fields.ts';
import { FIELD_TYPE_OF, type PropertyOption, type PropertyType } from '../property-types.ts';
import type { EventPropertyRow } from '../property-queries.ts';

/** The GraphQL types of properties, for output and input. */

export const EventPropertyType = builder.enumType('EventPropertyType', {
  description:
    'Type of the values of a property. A type never changes; `replaceEventPropertyType` deletes the property and creates it again.',
  values: {
    BOOL: { value: 'bool', description: '`true` or `false`.' },
    DATE: { value: 'date', description: 'A day in UTC: ISO 8601, or a UNIX timestamp in milliseconds at midnight.' },
    DATETIME: { value: 'datetime', description: 'A date and time: ISO 8601, or a UNIX timestamp in milliseconds.' },
    ENUMERATION: { value: 'enumeration', description: 'One of the predefined options.' },
    NUMBER: { value: 'number', description: 'A number with at most 15 digits, at most one of them a decimal.' },
    STRING: {
      value: 'string',
      description:
        'Plain text of at most 256 characters, or 1,024 when the property name contains `url`, `referrer` or `link`.',
    },
  } satisfies Record<string, { value: PropertyType; description: string }>,
});

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

const EventPropertyOptionType = builder.objectRef<PropertyOption>('EventPropertyOption').implement({
  description: 'One option of an enumeration.',
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
    name: t.exposeString('name', {
      description: 'Internal name of at most 50 characters, unique within the definition. It never changes.',
    }),
    label: t.exposeString('label', { description: 'Name to display, at most 50 characters.' }),
    type: t.expose('type', { type: EventPropertyType, description: 'Type of the values.' }),
    fieldType: t.field({
      type: EventPropertyFieldType,
      description: 'How the property is stored and displayed.',
      extensions: needs<EventPropertyRow>('type'),
      resolve: ({ type }) => FIELD_TYPE_OF[type],
    }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'Free text of at most 10,000 characters. Null when there is none.',
    }),
    options: t.expose('options', {
      type: [EventPropertyOptionType],
      description: 'The options of an enumeration, at most 5,000. Empty for other types.',
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
      resolve: (property, _, { actor }) => !isDefault(property) && hasAccess(actor, EVENT_DEFINITIONS),
    }),
    viewerCanDelete: t.boolean({
      description: withAccess(
        'Whether the caller can delete the property. False for a default property.',
        EVENT_DEFINITIONS,
      ),
      extensions: needs<EventPropertyRow>('position'),
      resolve: (property, _, { actor }) => !isDefault(property) && hasAccess(actor, EVENT_DEFINITIONS),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the property was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When the property last changed. `expectedUpdatedAt` is compared with it.',
    }),
  }),
});

/** The key of a property within its type. */
export function propertyKey({ definitionId, name }: Pick<EventPropertyKey, 'definitionId' | 'name'>): string {
  return `${definitionId}:${name}`;
}

function propertyKeyOf(key: string): EventPropertyKey[] {
  const [, id = '', name = ''] = /^([^:]*):(.*)$/s.exec(key) ?? [];
  return uuidsOf([id]).map((definitionId) => ({ definitionId, name }));
}

export const OptionInput = builder.inputType('EventPropertyOptionInput', {
  description: 'One option of an enumeration.',
  fields: (t) => ({
    label: t.string({ required: true, description: 'The text to display, 1 to 1,000 characters.' }),
    value: t.string({
      required: true,
      description: 'The value in occurrences, 1 to 1,000 characters; unique within the property.',
    }),
    displayOrder: t.int({ description: 'Position for display. The gateway stores it, but does not sort by it.' }),
    hidden: t.boolean({ description: 'Whether clients should hide the option in select boxes.' }),
    description: t.string({ description: 'Free text, at most 10,000 characters.' }),
  }),
});

/** Input fields of a new property, which is created alone or together with its definition. */
export const newPropertyFields = (t: InputFields) => ({
  label: t.string({ required: true, description: '1 to 50 characters.' }),
  name: t.string({
    description:
      'The internal name: 1 to 50 lowercase letters, digits and underscores, starting with a letter. When absent, it is generated from the label. It never changes.',
  }),
  type: t.field({ type: EventPropertyType, required: true, description: 'Type of the values.' }),
  description: t.string({ description: 'Free text, at most 10,000 characters.' }),
  options: t.field({
    type: [OptionInput],
    description: 'Options for the type `ENUMERATION`, 1 to 5,000. Absent or empty for every other type.',
  }),
});

export const PropertyInput = builder.inputType('EventPropertyDefinitionInput', {
  description: 'A property to create together with its definition.',
  fields: newPropertyFields,
});
