import { builder } from '../../../core/graphql/builder.ts';
import { connectionType, toConnection } from '../../../core/graphql/connections.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { keyFromId, nodeType, toGlobalId, uuidsOf } from '../../../core/graphql/nodes.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { OrganizationType } from '../../organizations/graphql/types.ts';
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
import { z } from 'zod';

const ObjectIdentifierType = nodeType<ObjectIdentifierRow>('ObjectIdentifier', {
  description:
    'A registered value of a unique property, and the record that has it. Custom matching links occurrences by it.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readObjectIdentifiers(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'Its id in the database.' }),
    objectType: t.exposeString('objectType', {
      description: 'The kind of the record, or the name of a custom object.',
    }),
    propertyName: t.exposeString('propertyName', { description: 'The unique property of the record.' }),
    value: t.exposeString('value', { description: 'The value of the property.' }),
    objectId: t.exposeString('objectId', { description: 'The id of the record.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the value was first registered.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last registered.' }),
  }),
});

const ObjectIdentifierConnection = connectionType(ObjectIdentifierType, { of: 'registered object identifiers' });

const FilterInput = builder.inputType('ObjectIdentifierFilter', {
  description: 'Which identifiers to list. All given conditions must be met; an empty list matches nothing.',
  validate: objectIdentifierFilter,
  fields: (t) => ({
    objectTypes: t.stringList({ description: 'Of records of one of these kinds, at most 100.' }),
    propertyNames: t.stringList({ description: 'Of one of these properties, at most 100.' }),
    values: t.stringList({ description: 'With one of these values, at most 100.' }),
    objectIds: t.stringList({ description: 'Of one of these records, at most 100.' }),
    createdFrom: t.field({ type: 'DateTime', description: 'First registered at this moment or after it.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'First registered before this moment.' }),
  }),
});

const OBJECT_IDENTIFIER_ORDER = orderType<ObjectIdentifierOrderField>('ObjectIdentifier', {
  of: 'identifiers',
  fields: {
    CREATED_AT: 'When the value was first registered.',
    VALUE: 'The kind of the record, then the property, then the value.',
  },
  otherwise: { field: 'VALUE', direction: 'ASC' },
});

builder.objectField(OrganizationType, 'objectIdentifiers', (t) =>
  t.connection(
    {
      type: ObjectIdentifierType,
      description: 'The identifiers that `registerObjectIdentifiers` has registered.',
      extensions: {
        ...refusable(READ_IDENTIFIERS, { actingOrganization: true }),
        ...needs<{ id: string }>('id'),
      },
      args: {
        filter: t.arg({ type: FilterInput, description: 'Which identifiers to list; all when absent.' }),
        orderBy: t.arg(OBJECT_IDENTIFIER_ORDER.argument),
      },
      resolve: async ({ id }, { filter, orderBy, ...page }, context, info) => {
        const columns = selectedColumns<ObjectIdentifierRow>(info, 'ObjectIdentifier');
        const order = OBJECT_IDENTIFIER_ORDER.orderOf(orderBy);
        return toConnection(await listObjectIdentifiers(context, id, { filter: filter ?? {}, order, page, columns }));
      },
    },
    ObjectIdentifierConnection,
  ),
);

const IdentifierInput = builder.inputType('ObjectIdentifierInput', {
  description: 'A value and the record that has it.',
  fields: (t) => ({
    value: t.string({ required: true, description: 'Value of the unique property; 1 to 500 characters.' }),
    objectId: t.string({ required: true, description: 'Id of the record; 1 to 255 characters.' }),
  }),
});

mutation('registerObjectIdentifiers', {
  access: registerObjectIdentifiers.access,
  description:
    'Registers which records have which values of a unique property. Custom matching links occurrences by them that are sent from then on.',
  schema: registerObjectIdentifiersInput,
  input: (t) => ({
    objectType: t.string({ required: true, description: 'The primary object of the definitions that match by it.' }),
    propertyName: t.string({ required: true, description: 'Their `targetObjectPropertyName`.' }),
    identifiers: t.field({
      type: [IdentifierInput],
      required: true,
      description: '1 to 1,000. A value that is registered already moves to the given record.',
    }),
  }),
  run: registerObjectIdentifiers,
  payload: (t) => ({
    registeredCount: t.exposeInt('registeredCount', { description: 'How many were registered.' }),
  }),
});

const withPlainIds = z.preprocess((value) => {
  const { ids, ...given } = value as Readonly<Record<string, unknown>>;
  return { ...given, ids: Array.isArray(ids) ? ids.map((id) => keyFromId('ObjectIdentifier', id)) : ids };
}, removeObjectIdentifiersInput);

mutation('removeObjectIdentifiers', {
  access: removeObjectIdentifiers.access,
  description: 'Removes registered identifiers. Occurrences that are stored keep their records.',
  schema: withPlainIds,
  input: (t) => ({
    ids: t.idList({
      required: true,
      description: 'Ids of 1 to 1,000 identifiers. Those that the organization does not have are ignored.',
    }),
  }),
  run: removeObjectIdentifiers,
  payload: (t) => ({
    removedIds: t.idList({
      description: 'Global ids of the identifiers that were removed.',
      resolve: ({ removedIds }) => removedIds.map((id) => toGlobalId('ObjectIdentifier', id)),
    }),
  }),
});
