import { filterType, inputType } from '../../../core/graphql/derived-inputs.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { toGlobalId } from '../../../core/graphql/global-ids.ts';
import { entityType } from '../../../core/graphql/nodes.ts';
import { listType } from '../../../core/graphql/lists.ts';
import { organizationList } from '../../organizations/graphql/organization-list.ts';
import { objectIdentifier, objectIdentifierFilter } from '../identifier-input.ts';
import {
  listObjectIdentifiers,
  readObjectIdentifiers,
  registerObjectIdentifiers,
  removeObjectIdentifiers,
} from '../identifier-operations.ts';
import type { ObjectIdentifierRow } from '../identifier-queries.ts';

export const ObjectIdentifierType = entityType<ObjectIdentifierRow>('ObjectIdentifier', {
  stored: { table: 'object_identifier' },
  description:
    'A value of a unique property, and the record that has it. Custom matching uses it to link occurrences to records.',
  read: readObjectIdentifiers,
  databaseId: 'The id that identifies the registered value in the database.',
  fields: (t) => ({
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

const OBJECT_IDENTIFIER_LIST = listType(ObjectIdentifierType, {
  of: 'identifiers',
  page: 'registered object identifiers',
  filter: filterType('ObjectIdentifierFilter', objectIdentifierFilter),
  conditions: 'Conditions on the identifiers. When absent, all identifiers are listed.',
  fields: {
    CREATED_AT: 'When the value was first registered.',
    VALUE: 'Type of the record, then property, then value.',
  },
  otherwise: { field: 'VALUE', direction: 'ASC' },
});
organizationList('objectIdentifiers', OBJECT_IDENTIFIER_LIST, listObjectIdentifiers);

inputType('ObjectIdentifierInput', objectIdentifier);

mutation(registerObjectIdentifiers, {
  payload: (t) => ({
    registeredCount: t.exposeInt('registeredCount', { description: 'The number of registered values.' }),
  }),
});

mutation(removeObjectIdentifiers, {
  ids: { ids: 'ObjectIdentifier' },
  payload: (t) => ({
    removedIds: t.idList({
      description: 'Global ids of the removed identifiers, at most 1,000.',
      resolve: ({ removedIds }) => removedIds.map((id) => toGlobalId('ObjectIdentifier', id)),
    }),
  }),
});
