import type { EventDefinitionId } from '../../../core/ids.ts';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import type { GraphQLResolveInfo } from 'graphql';
import { type GraphQLContext, OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { type FieldsOf, entityType } from '../../../core/graphql/nodes.ts';
import { notFound } from '../../../core/errors.ts';
import { hasAccess, requireOrganization } from '../../../core/access.ts';
import { withAccess } from '../../../core/graphql/refusable.ts';
import { deleteEventDefinition, updateEventDefinition } from '../operations.ts';
import { EVENT_DEFINITIONS } from '../policy.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import {
  type PrimaryObjectKind,
  defaultPropertiesOf,
  fullyQualifiedName,
  objectTypeId,
  primaryObjectKind,
} from '../computed-fields.ts';
import { type EventPropertyRow, countCustomProperties, customPropertiesOf } from '../property-queries.ts';
import { eventDefinitionsById, readEventDefinitionsByIds } from '../read-operations.ts';
import { EventProperty } from './property-types.ts';
import { type EventDefinitionRow, deletableOf, propertiesWith } from '../queries.ts';

/** Description of every argument and input field that names a definition. */
export const EVENT_NAME = 'Name, fully qualified name, or id of the definition; 1 to 255 characters.';

const MatchingRuleType = builder
  .objectRef<{ targetObjectPropertyName: string; eventPropertyName: string }>('PrimaryObjectRule')
  .implement({
    description: 'The rule that finds the record of an occurrence by a property value.',
    fields: (t) => ({
      targetObjectPropertyName: t.exposeString('targetObjectPropertyName', {
        description: 'Name of a unique property of the target object.',
      }),
      eventPropertyName: t.exposeString('eventPropertyName', {
        description: 'Name of the property of this definition whose value is looked up.',
      }),
    }),
  });

const CustomMatchingIdType = builder
  .objectRef<NonNullable<EventDefinitionRow['customMatchingId']>>('CustomMatchingId')
  .implement({
    description: 'Links occurrences to records by the value of a property, so that clients need not send an object id.',
    fields: (t) => ({
      primaryObjectRule: t.expose('primaryObjectRule', { type: MatchingRuleType, description: 'The matching rule.' }),
    }),
  });

export const DeletionPreviewType = builder
  .objectRef<{ readonly definition: EventDefinitionRow }>('EventDefinitionDeletionPreview')
  .implement({
    description: 'What would be deleted together with an event definition now.',
    fields: (t) => ({
      customPropertyCount: t.int({
        description: 'The number of custom properties that would be deleted.',
        extensions: OWN_STATEMENT,
        resolve: async ({ definition: { id } }, _, context, info) =>
          (await resolveBatched({ context, info }, id, countCustomProperties(context))) ?? 0,
      }),
      reservedName: t.string({
        description: 'The name of the definition, which can never be used again after the deletion.',
        resolve: ({ definition }) => definition.name,
      }),
    }),
  });

export const PrimaryObject = builder.enumType('PrimaryObject', {
  description: 'The type of object whose records receive the occurrences of an event.',
  values: {
    APPOINTMENT: { description: 'Appointments.' },
    COMPANY: { description: 'Companies.' },
    CONTACT: { description: 'Contacts: people.' },
    COURSE: { description: 'Courses.' },
    DEAL: { description: 'Deals.' },
    LEAD: { description: 'Leads.' },
    LISTING: { description: 'Listings.' },
    ORDER: { description: 'Orders.' },
    PROJECT: { description: 'Projects.' },
    SERVICE: { description: 'Services.' },
    TICKET: { description: 'Tickets.' },
    NO_OBJECT: { description: 'No records: occurrences are counted, but not stored.' },
    CUSTOM_OBJECT: { description: 'A custom object, whose name is in `customObjectName`.' },
  } satisfies Record<PrimaryObjectKind, { description: string }>,
});

type Fields = FieldsOf<EventDefinitionRow>;

/** Fields that name and describe the definition. */
const nameFields = (t: Fields) => ({
  name: t.exposeString('name', {
    description:
      'Internal name of at most 50 characters, unique in the organization, deleted definitions included. It never changes.',
  }),
  fullyQualifiedName: t.string({
    description: '`pe<organization number>_<name>`. It is accepted everywhere in place of the name.',
    extensions: needs<EventDefinitionRow>('name'),
    resolve: (row, _, { actor }) => fullyQualifiedName(row, requireOrganization(actor)),
  }),
  objectTypeId: t.string({
    description: 'Object type id of the event, `6-<number>`; unique over all organizations.',
    extensions: needs<EventDefinitionRow>('number'),
    resolve: objectTypeId,
  }),
  label: t.exposeString('label', { description: 'Name to display, at most 100 characters.' }),
  description: t.exposeString('description', {
    nullable: true,
    description: 'Free text of at most 10,000 characters. Null when there is none.',
  }),
});

/** Fields about the object whose records receive the occurrences. */
const objectFields = (t: Fields) => ({
  primaryObject: t.field({
    type: PrimaryObject,
    description: 'The object whose records receive the occurrences. It never changes.',
    extensions: needs<EventDefinitionRow>('primaryObject'),
    resolve: primaryObjectKind,
  }),
  customObjectName: t.string({
    nullable: true,
    description: 'The name of the custom object. Null unless `primaryObject` is `CUSTOM_OBJECT`.',
    extensions: needs<EventDefinitionRow>('primaryObject'),
    resolve: (row) => (primaryObjectKind(row) === 'CUSTOM_OBJECT' ? row.primaryObject : null),
  }),
  customMatchingId: t.expose('customMatchingId', {
    type: CustomMatchingIdType,
    nullable: true,
    description:
      'How the record of an occurrence is found without an object id. Null when custom matching is not used.',
  }),
});

/** Fields about the properties of the definition. */
const propertyFields = (t: Fields) => ({
  includeDefaultProperties: t.exposeBoolean('includeDefaultProperties', {
    description: 'Whether the definition has the default properties.',
  }),
  properties: t.field({
    type: [EventProperty],
    description: 'Default properties first, then at most 50 custom properties in order of creation.',
    args: {
      isDefault: t.arg.boolean({
        description:
          'True lists only the default properties, false only the custom ones. When absent, both are listed.',
      }),
    },
    extensions: {
      ...OWN_STATEMENT,
      ...needs<EventDefinitionRow>('id', 'includeDefaultProperties', 'createdAt'),
    },
    resolve: async (definition, { isDefault: wanted }, context, info) => {
      const selected = selectedColumns<EventPropertyRow>(info, 'EventProperty');
      const load = customPropertiesOf(context, selected);
      const custom =
        propertiesWith(definition) ?? (await resolveBatched({ context, info }, definition.id, load, selected)) ?? [];
      const hasDefaults = definition.includeDefaultProperties && wanted !== false;
      return [...(hasDefaults ? defaultPropertiesOf(definition, selected) : []), ...(wanted === true ? [] : custom)];
    },
  }),
});

/** Fields about the rights of the caller, and the effect of a deletion. */
const viewerFields = (t: Fields) => ({
  viewerCanUpdate: t.boolean({
    description: withAccess('Whether the caller can change the definition and its properties.', EVENT_DEFINITIONS),
    extensions: needs<EventDefinitionRow>(),
    resolve: (_, __, { actor }) => hasAccess(actor, updateEventDefinition.access),
  }),
  viewerCanDelete: t.boolean({
    description: withAccess(
      'Whether the caller can delete the definition, as `Organization.definitionDeletion` says.',
      EVENT_DEFINITIONS,
    ),
    extensions: { ...OWN_STATEMENT, ...needs<EventDefinitionRow>('id') },
    resolve: async ({ id }, _, context, info) =>
      hasAccess(context.actor, deleteEventDefinition.access) &&
      (await resolveBatched({ context, info }, id, deletableOf(context))) === true,
  }),
  deletionPreview: t.field({
    type: DeletionPreviewType,
    description: 'What would be deleted together with the definition.',
    extensions: needs<EventDefinitionRow>('id', 'name'),
    resolve: (definition) => ({ definition }),
  }),
});

export const EventDefinition = entityType<EventDefinitionRow>('EventDefinition', {
  stored: { table: 'event_definition' },
  description:
    'The schema of a custom event. A custom event is something that happened at a certain time, such as adding an item to a cart.',
  read: readEventDefinitionsByIds,
  fields: (t) => ({
    ...nameFields(t),
    ...objectFields(t),
    ...propertyFields(t),
    ...viewerFields(t),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the definition was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description:
        'When the definition or one of its properties last changed. `expectedUpdatedAt` is compared with it.',
    }),
  }),
});

/** The definition with this id. One statement reads the definitions of all rows of a list. */
export async function definitionOf(definitionId: EventDefinitionId, context: GraphQLContext, info: GraphQLResolveInfo) {
  const selected = selectedColumns<EventDefinitionRow>(info, 'EventDefinition');
  const load = eventDefinitionsById(context, selected);
  const definition = await resolveBatched({ context, info }, definitionId, load, selected);
  if (!definition) throw notFound('event definition');
  return definition;
}

builder.objectField(EventProperty, 'eventDefinition', (t) =>
  t.field({
    type: EventDefinition,
    description: 'The definition of the property.',
    extensions: { ...OWN_STATEMENT, ...needs<EventPropertyRow>('definitionId') },
    resolve: ({ definitionId }, _, context, info) => definitionOf(definitionId, context, info),
  }),
);
