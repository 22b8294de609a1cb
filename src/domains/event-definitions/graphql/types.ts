import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { nodeType, uuidsOf } from '../../../core/graphql/nodes.ts';
import { hasAccess, requireOrganization } from '../../../core/operation.ts';
import { describeAccess } from '../../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { defaultPropertiesOf, fullyQualifiedName, objectTypeId } from '../computed-fields.ts';
import { customPropertiesOf, readEventDefinitionsByIds } from '../operations.ts';
import { EVENT_DEFINITIONS } from '../policy.ts';
import { EventProperty } from './property-types.ts';
import type { EventPropertyRow } from '../property-queries.ts';
import { type EventDefinitionRow, propertiesWith } from '../queries.ts';

/** What every argument and input field takes that names a definition. */
export const EVENT_NAME = 'Name, fully qualified name, or id of the definition.';

const MatchingRuleType = builder
  .objectRef<{ targetObjectPropertyName: string; eventPropertyName: string }>('PrimaryObjectRule')
  .implement({
    description: 'Which value of an occurrence finds which record.',
    fields: (t) => ({
      targetObjectPropertyName: t.exposeString('targetObjectPropertyName', {
        description: 'A unique property of the target object.',
      }),
      eventPropertyName: t.exposeString('eventPropertyName', {
        description: 'The property of this definition that holds the same value.',
      }),
    }),
  });

const CustomMatchingIdType = builder
  .objectRef<NonNullable<EventDefinitionRow['customMatchingId']>>('CustomMatchingId')
  .implement({
    description: 'Links occurrences to records by a property value, so that they need not carry an object id.',
    fields: (t) => ({
      primaryObjectRule: t.expose('primaryObjectRule', { type: MatchingRuleType, description: 'The rule.' }),
    }),
  });

export const EventDefinition = nodeType<EventDefinitionRow>('EventDefinition', {
  description:
    'The schema of a custom event: something that occurred at a moment in time, such as adding an item to a cart.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readEventDefinitionsByIds(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    name: t.exposeString('name', {
      description: 'Internal name, unique in the organization for ever; never changes.',
    }),
    fullyQualifiedName: t.string({
      description: '`pe<organization number>_<name>`; accepted wherever the name is.',
      extensions: needs<EventDefinitionRow>('name'),
      resolve: (row, _, { actor }) => fullyQualifiedName(row, requireOrganization(actor)),
    }),
    viewerCanUpdate: t.boolean({
      description: `Whether the caller may change it and its properties. ${describeAccess(EVENT_DEFINITIONS)}`,
      extensions: needs<EventDefinitionRow>(),
      resolve: (_, __, { actor }) => hasAccess(actor, EVENT_DEFINITIONS),
    }),
    viewerCanDelete: t.boolean({
      description: `Whether the caller may delete it. ${describeAccess(EVENT_DEFINITIONS)}`,
      extensions: needs<EventDefinitionRow>(),
      resolve: (_, __, { actor }) => hasAccess(actor, EVENT_DEFINITIONS),
    }),
    objectTypeId: t.string({
      description: '`6-<number>`, unique over all organizations.',
      extensions: needs<EventDefinitionRow>('number'),
      resolve: objectTypeId,
    }),
    label: t.exposeString('label', { description: 'What people read; at most 100 characters.' }),
    description: t.exposeString('description', { nullable: true, description: 'Free text.' }),
    primaryObject: t.exposeString('primaryObject', {
      description: 'The object whose records receive occurrences: a standard one, a custom object, or `NO_OBJECT`.',
    }),
    customMatchingId: t.expose('customMatchingId', {
      type: CustomMatchingIdType,
      nullable: true,
      description: 'How occurrences find their record without an object id.',
    }),
    includeDefaultProperties: t.exposeBoolean('includeDefaultProperties', {
      description: 'Whether it has the default properties.',
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
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When its label or description was last changed.',
    }),
  }),
});
