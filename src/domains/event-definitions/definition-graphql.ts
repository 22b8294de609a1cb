import { builder } from '../../core/builder.ts';
import { nodeType, uuidsOf } from '../../core/node.ts';
import { requireOrganization } from '../../core/operation.ts';
import { readEventDefinitionsByIds, readPropertiesOf } from './operations.ts';
import { EventProperty } from './property-graphql.ts';
import { type EventDefinitionRow, fullyQualifiedName, objectTypeId } from './rows.ts';

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
      primaryObjectRule: t.field({
        type: MatchingRuleType,
        description: 'The rule.',
        resolve: ({ primaryObjectRule }) => primaryObjectRule,
      }),
    }),
  });

export const EventDefinition = nodeType<EventDefinitionRow>('EventDefinition', {
  description:
    'The schema of a custom event: something that occurred at a moment in time, such as adding an item to a cart.',
  keyOf: ({ id }) => id,
  load: (context, keys) => readEventDefinitionsByIds(context, uuidsOf(keys)),
  fields: (t) => ({
    databaseId: t.field({ type: 'UUID', description: 'The id that REST uses.', resolve: ({ id }) => id }),
    name: t.exposeString('name', { description: 'Internal name, unique in the organization for ever; never changes.' }),
    fullyQualifiedName: t.string({
      description: '`pe<organization number>_<name>`; accepted wherever the name is.',
      resolve: (row, _, { actor }) => fullyQualifiedName(row, requireOrganization(actor)),
    }),
    objectTypeId: t.string({ description: '`6-<number>`, unique over all organizations.', resolve: objectTypeId }),
    label: t.exposeString('label', { description: 'What people read; at most 100 characters.' }),
    description: t.exposeString('description', { nullable: true, description: 'Free text.' }),
    primaryObject: t.exposeString('primaryObject', {
      description: 'The object whose records receive occurrences: a standard one, a custom object, or `NO_OBJECT`.',
    }),
    customMatchingId: t.field({
      type: CustomMatchingIdType,
      nullable: true,
      description: 'How occurrences find their record without an object id.',
      resolve: ({ customMatchingId }) => customMatchingId,
    }),
    includeDefaultProperties: t.exposeBoolean('includeDefaultProperties', {
      description: 'Whether it has the default properties.',
    }),
    properties: t.loadableList({
      type: EventProperty,
      description: 'Default properties first, then at most 50 custom ones in order of creation.',
      load: async (definitions: EventDefinitionRow[], context) => {
        const properties = await readPropertiesOf(context, definitions);
        return definitions.map(({ id }) => properties.get(id) ?? []);
      },
      resolve: (row) => row,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When its label or description was last changed.',
    }),
  }),
});
