import { builder } from '../../../core/graphql/builder.ts';
import { connectionType } from '../../../core/graphql/connections.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { acceptingIds, toGlobalId, uuidsOf } from '../../../core/graphql/global-ids.ts';
import { nodeType } from '../../../core/graphql/nodes.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import { organizationList } from '../../organizations/graphql/organization-list.ts';
import {
  objectIdentifierFilter,
  registerObjectIdentifiersInput,
  removeObjectIdentifiersInput,
} from '../identifier-input.ts';
import {
  listObjectIdentifiers,
  readObjectIdentifiers,
  registerObjectIdentifiers,
  removeObjectIdentifiers,
} from '../identifier-operations.ts';
import type { ObjectIdentifierOrderField, ObjectIdentifierRow } from '../identifier-queries.ts';
import { READ_IDENTIFIERS } from '../policy.ts';

const ObjectIdentifierType = nodeType<ObjectIdentifierRow>('ObjectIdentifier', {
  description:
    'A value of a unique property, and the record that has it. Custom matching uses it to link occurrences to records.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readObjectIdentifiers(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', {
      type: 'UUID',
      description: 'The id that identifies the registered value in the database.',
    }),
    objectType: t.exposeString('objectType', {
      description: 'The type of the record: a standard object, or the name of a custom object.',
    }),
    propertyName: t.exposeString('propertyName', { description: 'The unique property of the record.' }),
    value: t.exposeString('value', { description: 'The value of the property.' }),
    objectId: t.exposeString('objectId', { description: 'The id of the record.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the value was first registered.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the value was last registered.' }),
  }),
});

const ObjectIdentifierConnection = connectionType(ObjectIdentifierType, { of: 'registered object identifiers' });

const FilterInput = builder.inputType('ObjectIdentifierFilter', {
  description:
    'Conditions on registered identifiers. An identifier is listed when it meets all of them. A condition with an empty list matches nothing.',
  validate: objectIdentifierFilter,
  fields: (t) => ({
    objectTypes: t.stringList({ description: 'Identifiers of records of any of these types, at most 100.' }),
    propertyNames: t.stringList({ description: 'Identifiers of any of these properties, at most 100.' }),
    values: t.stringList({ description: 'Identifiers with any of these values, at most 100.' }),
    objectIds: t.stringList({ description: 'Identifiers of any of these records, at most 100.' }),
    createdFrom: t.field({ type: 'DateTime', description: 'Identifiers first registered at this time or later.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Identifiers first registered before this time.' }),
  }),
});

const OBJECT_IDENTIFIER_ORDER = orderType<ObjectIdentifierOrderField>('ObjectIdentifier', {
  of: 'identifiers',
  fields: {
    CREATED_AT: 'When the value was first registered.',
    VALUE: 'Type of the record, then property, then value.',
  },
  otherwise: { field: 'VALUE', direction: 'ASC' },
});

organizationList('objectIdentifiers', {
  type: ObjectIdentifierType,
  connection: ObjectIdentifierConnection,
  description:
    'Identifiers that were registered with `registerObjectIdentifiers`, by type, property and value by default.',
  access: READ_IDENTIFIERS,
  filter: { type: FilterInput, description: 'Conditions on the identifiers. When absent, all identifiers are listed.' },
  order: OBJECT_IDENTIFIER_ORDER,
  list: (context, { organizationId, ...asked }, columns) =>
    listObjectIdentifiers(context, organizationId, { ...asked, columns }),
});

const IdentifierInput = builder.inputType('ObjectIdentifierInput', {
  description: 'A value of the unique property, and the record that has it.',
  fields: (t) => ({
    value: t.string({ required: true, description: 'Value of the unique property; 1 to 500 characters.' }),
    objectId: t.string({ required: true, description: 'Id of the record; 1 to 255 characters.' }),
  }),
});

mutation('registerObjectIdentifiers', {
  access: registerObjectIdentifiers.access,
  description:
    'Registers which record has which value of a unique property. From then on custom matching uses the values to link new occurrences to records.',
  schema: registerObjectIdentifiersInput,
  input: (t) => ({
    objectType: t.string({
      required: true,
      description: 'The type of the records: the `primaryObject` of the event definitions; 1 to 100 characters.',
    }),
    propertyName: t.string({ required: true, description: 'Their `targetObjectPropertyName`.' }),
    identifiers: t.field({
      type: [IdentifierInput],
      required: true,
      description:
        '1 to 1,000 values with their records. A value that is already registered moves to the given record.',
    }),
  }),
  run: registerObjectIdentifiers,
  payload: (t) => ({
    registeredCount: t.exposeInt('registeredCount', { description: 'The number of registered values.' }),
  }),
});

mutation('removeObjectIdentifiers', {
  access: removeObjectIdentifiers.access,
  description: 'Removes registered identifiers. Stored occurrences stay linked to their records.',
  schema: acceptingIds(removeObjectIdentifiersInput, { ids: 'ObjectIdentifier' }),
  input: (t) => ({
    ids: t.idList({
      required: true,
      description: '1 to 1,000 ids of identifiers. Ids that the organization does not have are ignored.',
    }),
  }),
  run: removeObjectIdentifiers,
  payload: (t) => ({
    removedIds: t.idList({
      description: 'Global ids of the removed identifiers, at most 1,000.',
      resolve: ({ removedIds }) => removedIds.map((id) => toGlobalId('ObjectIdentifier', id)),
    }),
  }),
});
