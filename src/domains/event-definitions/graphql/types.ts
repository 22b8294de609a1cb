import { resolveBatched } from '../../../core/graphql/batches.ts';
import type { GraphQLResolveInfo } from 'graphql';
import { type GraphQLContext, OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { type FieldsOf, nodeType, uuidsOf } from '../../../core/graphql/nodes.ts';
import { notFound } from '../../../core/errors.ts';
import { hasAccess, requireOrganization } from '../../../core/operation.ts';
import { describeAccess } from '../../../core/graphql/refusable.ts';
import { EVENT_DEFINITIONS } from '../policy.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import {
  type PrimaryObjectKind,
  defaultPropertiesOf,
  fullyQualifiedName,
  objectTypeId,
  primaryObjectKind,
} from '../computed-fields.ts';
import { countCustomProperties, customPropertiesOf } from '../operations.ts';
import { eventDefinitionsById, readEventDefinitionsByIds } from '../read-operations.ts';
import { EventProperty } from './property-types.ts';
import type { EventPropertyRow } from '../property-queries.ts';
import { type EventDefinitionRow, propertiesWith } from '../queries.ts';

/** Description of every argument and input field that names a definition. */
export const EVENT_NAME = 'Name, fully qualified name, or id of the definition.';

const MatchingRuleType = builder
  .objectRef<{ targetObjectPropertyName: string; eventPropertyName: string }>('PrimaryObjectRule')
  .implement({
    description: 'How the value of a property finds the record of an occurrence.',
    fields: (t) => ({
      targetObjectPropertyName: t.exposeString('targetObjectPropertyName', {
        description: 'A unique property of the target object.',
      }),
      eventPropertyName: t.exposeString('eventPropertyName', {
        description: 'The property of this definition with the same value.',
      }),
    }),
  });

const CustomMatchingIdType = builder
  .objectRef<NonNullable<EventDefinitionRow['customMatchingId']>>('CustomMatchingId')
  .implement({
    description: 'Links occurrences to records by the value of a property, so that no object id has to be sent.',
    fields: (t) => ({
      primaryObjectRule: t.expose('primaryObjectRule', { type: MatchingRuleType, description: 'The rule.' }),
    }),
  });

export const DeletionPreviewType = builder
  .objectRef<{ readonly definition: EventDefinitionRow }>('EventDefinitionDeletionPreview')
  .implement({
    description: 'What deleting an event definition would delete with it, at present.',
    fields: (t) => ({
      customPropertyCount: t.int({
        description: 'Number of custom properties that would be deleted.',
        extensions: OWN_STATEMENT,
        resolve: async ({ definition: { id } }, _, context, info) =>
          (await resolveBatched({ context, info }, id, countCustomProperties(context))) ?? 0,
      }),
      reservedName: t.string({
        description: 'The name, which cannot be used again after the deletion.',
        resolve: ({ definition }) => definition.name,
      }),
    }),
  });

export const PrimaryObject = builder.enumType('PrimaryObject', {
  description: 'The kind of object whose records receive the occurrences of an event.',
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
    NO_OBJECT: { description: 'No records: occurrences are counted and not stored.' },
    CUSTOM_OBJECT: { description: 'A custom object; `customObjectName` names it.' },
  } satisfies Record<PrimaryObjectKind, { description: string }>,
});

type Fields = FieldsOf<EventDefinitionRow>;

/** What the definition is called. */
function nameFields(t: Fields) {
  return {
    name: t.exposeString('name', {
      description: 'Internal name, unique in the organization, deleted definitions included; never changes.',
    }),
    fullyQualifiedName: t.string({
      description: '`pe<organization number>_<name>`; accepted wherever the name is.',
      extensions: needs<EventDefinitionRow>('name'),
      resolve: (row, _, { actor }) => fullyQualifiedName(row, requireOrganization(actor)),
    }),
    objectTypeId: t.string({
      description: '`6-<number>`, unique over all organizations.',
      extensions: needs<EventDefinitionRow>('number'),
      resolve: objectTypeId,
    }),
    label: t.exposeString('label', { description: 'Name to display; at most 100 characters.' }),
    description: t.exposeString('description', { nullable: true, description: 'Free text; null when there is none.' }),
  };
}

/** The object that its occurrences belong to. */
function objectFields(t: Fields) {
  return {
    primaryObject: t.field({
      type: PrimaryObject,
      description: 'The object whose records receive occurrences; never changes.',
      extensions: needs<EventDefinitionRow>('primaryObject'),
      resolve: primaryObjectKind,
    }),
    customObjectName: t.string({
      nullable: true,
      description: 'The name of the custom object; null unless `primaryObject` is `CUSTOM_OBJECT`.',
      extensions: needs<EventDefinitionRow>('primaryObject'),
      resolve: (row) => (primaryObjectKind(row) === 'CUSTOM_OBJECT' ? row.primaryObject : null),
    }),
    customMatchingId: t.expose('customMatchingId', {
      type: CustomMatchingIdType,
      nullable: true,
      description: 'How occurrences find their record without an object id; null when an object id must be sent.',
    }),
  };
}

/** What its occurrences can carry. */
function propertyFields(t: Fields) {
  return {
    includeDefaultProperties: t.exposeBoolean('includeDefaultProperties', {
      description: 'Whether the definition has the default properties.',
    }),
    properties: t.field({
      type: [EventProperty],
      description: 'Default properties first, then at most 50 custom ones in order of creation.',
      extensions: {
        ...OWN_STATEMENT,
        ...needs<EventDefinitionRow>('id', 'includeDefaultProperties', 'createdAt'),
      },
      resolve: async (definition, _, context, info) => {
        const selected = selectedColumns<EventPropertyRow>(info, 'EventProperty');
        const load = customPropertiesOf(context, selected);
        const custom =
          propertiesWith(definition) ?? (await resolveBatched({ context, info }, definition.id, load, selected)) ?? [];
        return definition.includeDefaultProperties ? [...defaultPropertiesOf(definition, selected), ...custom] : custom;
      },
    }),
  };
}

/** What the caller may do with it, and with what effect. */
function viewerFields(t: Fields) {
  return {
    viewerCanUpdate: t.boolean({
      description: `Whether the caller may change the definition and its properties. ${describeAccess(EVENT_DEFINITIONS)}`,
      extensions: needs<EventDefinitionRow>(),
      resolve: (_, __, { actor }) => hasAccess(actor, EVENT_DEFINITIONS),
    }),
    viewerCanDelete: t.boolean({
      description: `Whether the caller may delete the definition. ${describeAccess(EVENT_DEFINITIONS)}`,
      extensions: needs<EventDefinitionRow>(),
      resolve: (_, __, { actor }) => hasAccess(actor, EVENT_DEFINITIONS),
    }),
    deletionPreview: t.field({
      type: DeletionPreviewType,
      description: 'What deleting the definition would delete with it.',
      extensions: needs<EventDefinitionRow>('id', 'name'),
      resolve: (definition) => ({ definition }),
    }),
  };
}

export const EventDefinition = nodeType<EventDefinitionRow>('EventDefinition', {
  description:
    'The schema of a custom event: something that occurred at a moment in time, such as adding an item to a cart.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readEventDefinitionsByIds(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    ...nameFields(t),
    ...objectFields(t),
    ...propertyFields(t),
    ...viewerFields(t),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the definition was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When its label or description last changed; `expectedUpdatedAt` is compared with it.',
    }),
  }),
});

/** The definition with this id, read together with those of other rows. */
export async function definitionOf(definitionId: string, context: GraphQLContext, info: GraphQLResolveInfo) {
  const selected = selectedColumns<EventDefinitionRow>(info, 'EventDefinition');
  const load = eventDefinitionsById(context, selected);
  const definition = await resolveBatched({ context, info }, definitionId, load, selected);
  return definition ?? Promise.reject(notFound('event definition'));
}

builder.objectField(EventProperty, 'eventDefinition', (t) =>
  t.field({
    type: EventDefinition,
    description: 'The definition that the property belongs to.',
    extensions: { ...OWN_STATEMENT, ...needs<EventPropertyRow>('definitionId') },
    resolve: ({ definitionId }, _, context, info) => definitionOf(definitionId, context, info),
  }),
);
