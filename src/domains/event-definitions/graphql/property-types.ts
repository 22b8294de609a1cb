import { builder } from '../../../core/graphql/builder.ts';
import type { InputFields } from '../../../core/graphql/mutations.ts';
import { nodeType, uuidsOf } from '../../../core/graphql/nodes.ts';
import { describeAccess } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { hasAccess } from '../../../core/operation.ts';
import { EVENT_DEFINITIONS } from '../policy.ts';
import { type EventPropertyKey, readEventProperties } from '../read-operations.ts';
import { displayOrder, isDefault } from '../computed-fields.ts';
import { FIELD_TYPE_OF, type PropertyOption, type PropertyType } from '../property-types.ts';
import type { EventPropertyRow } from '../property-queries.ts';

/** The GraphQL types of properties, as they are read and as they are given. */

export const EventPropertyType = builder.enumType('EventPropertyType', {
  description:
    'Type of the values of a property. A property keeps its type; `replaceEventPropertyType` deletes and recreates it.',
  values: {
    BOOL: { value: 'bool', description: '`true` or `false`.' },
    DATE: { value: 'date', description: 'A day in UTC: ISO 8601, or a UNIX timestamp in milliseconds at midnight.' },
    DATETIME: { value: 'datetime', description: 'A moment: ISO 8601, or a UNIX timestamp in milliseconds.' },
    ENUMERATION: { value: 'enumeration', description: 'One of the predefined options.' },
    NUMBER: { value: 'number', description: 'A number with up to one decimal.' },
    STRING: {
      value: 'string',
      description: 'Plain text, at most 256 characters; 1,024 when the name contains `url`, `referrer` or `link`.',
    },
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
    displayOrder: t.exposeInt('displayOrder', {
      nullable: true,
      description:
        'Where clients show it among the options; null when it was not given. The gateway keeps the order of the list.',
    }),
    hidden: t.boolean({
      description: 'Whether clients leave it out of select boxes. Occurrences may carry it all the same.',
      resolve: ({ hidden }) => hidden ?? false,
    }),
    description: t.exposeString('description', { nullable: true, description: 'Free text; null when there is none.' }),
  }),
});

export const EventProperty = nodeType<EventPropertyRow>('EventProperty', {
  description:
    'A property that occurrences of an event may carry: a default one, the same everywhere, or a custom one. Its definition and its name identify it.',
  keyOf: ({ definitionId, name }) => `${definitionId}:${name}`,
  keyColumns: ['definitionId', 'name'],
  load: (context, keys, selected) => readEventProperties(context, keys.flatMap(propertyKeyOf), selected),
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Internal name, unique within the definition; never changes.' }),
    label: t.exposeString('label', { description: 'What people read; at most 50 characters.' }),
    type: t.expose('type', { type: EventPropertyType, description: 'Type of its values.' }),
    fieldType: t.field({
      type: EventPropertyFieldType,
      description: 'How it is stored.',
      extensions: needs<EventPropertyRow>('type'),
      resolve: ({ type }) => FIELD_TYPE_OF[type],
    }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'Free text; null when there is none.',
    }),
    options: t.expose('options', {
      type: [EventPropertyOptionType],
      description: 'The choices of an enumeration; empty for other types.',
    }),
    displayOrder: t.int({
      description: 'Default properties first, then custom ones in order of creation.',
      extensions: needs<EventPropertyRow>('position'),
      resolve: displayOrder,
    }),
    isDefault: t.boolean({
      description: 'Whether it is a default property, which can be neither changed nor deleted.',
      extensions: needs<EventPropertyRow>('position'),
      resolve: isDefault,
    }),
    viewerCanUpdate: t.boolean({
      description: `Whether the caller may change it: a custom property. ${describeAccess(EVENT_DEFINITIONS)}`,
      extensions: needs<EventPropertyRow>('position'),
      resolve: (property, _, { actor }) => !isDefault(property) && hasAccess(actor, EVENT_DEFINITIONS),
    }),
    viewerCanDelete: t.boolean({
      description: `Whether the caller may delete it: a custom property. ${describeAccess(EVENT_DEFINITIONS)}`,
      extensions: needs<EventPropertyRow>('position'),
      resolve: (property, _, { actor }) => !isDefault(property) && hasAccess(actor, EVENT_DEFINITIONS),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When it was last changed; what `expectedUpdatedAt` is compared with.',
    }),
  }),
});

function propertyKeyOf(key: string): EventPropertyKey[] {
  const [, id = '', name = ''] = /^([^:]*):(.*)$/s.exec(key) ?? [];
  return uuidsOf([id]).map((definitionId) => ({ definitionId, name }));
}

export const OptionInput = builder.inputType('EventPropertyOptionInput', {
  description: 'One choice of an enumeration.',
  fields: (t) => ({
    label: t.string({ required: true, description: 'What people read.' }),
    value: t.string({
      required: true,
      description: 'What occurrences carry; 1 to 1000 characters, unique within the property.',
    }),
    displayOrder: t.int({ description: 'Where clients show it among the options.' }),
    hidden: t.boolean({ description: 'Whether clients leave it out of select boxes.' }),
    description: t.string({ description: 'Free text, at most 10,000 characters.' }),
  }),
});

/** What a new property takes, alone or with its definition. */
export const newPropertyFields = (t: InputFields) => ({
  label: t.string({ required: true, description: '1 to 50 characters.' }),
  name: t.string({
    description:
      'At most 50 lowercase letters, digits and underscores, a letter first; made from the label when absent.',
  }),
  type: t.field({ type: EventPropertyType, required: true, description: 'Type of its values.' }),
  description: t.string({ description: 'Free text, at most 10,000 characters.' }),
  options: t.field({
    type: [OptionInput],
    description: 'For `ENUMERATION`, which needs at least one; at most 5,000. Absent or empty for every other type.',
  }),
});

export const PropertyInput = builder.inputType('EventPropertyDefinitionInput', {
  description: 'A property to create with its definition.',
  fields: newPropertyFields,
});
