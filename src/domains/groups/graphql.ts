import { shown } from '../../core/graphql/derived-fields.ts';
import { filterType } from '../../core/graphql/derived-inputs.ts';
import { listBelow, listType } from '../../core/graphql/lists.ts';
import { deleted, mutation, one } from '../../core/graphql/mutations.ts';
import { entityType } from '../../core/graphql/nodes.ts';
import { needs } from '../../core/graphql/selection.ts';
import { ActorType } from '../organizations/graphql/actors.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { groupDocument, isManagedBySCIM } from './documents.ts';
import { groupFilter, groupMemberFilter } from './input.ts';
import { createGroup, deleteGroup, listGroups, readGroups, updateGroup } from './operations.ts';
import { GROUP_MEMBERS, type GroupRow } from './queries.ts';

const ACTOR_LIST = listType(ActorType, {
  of: 'people and service accounts',
  filter: filterType('ActorFilter', groupMemberFilter),
  conditions: 'Conditions on the members. When absent, all members are listed.',
  fields: { CREATED_AT: 'Time when the account was created.', NAME: 'Name of the person or service account.' },
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
});

const GroupType = entityType<GroupRow>('Group', {
  stored: { table: 'person_group' },
  description: 'People and service accounts of an organization. Only administrators of the organization can see it.',
  read: readGroups,
  fields: (t) => ({
    ...shown(t, groupDocument, ['name', 'externalName', 'createdAt', 'updatedAt']),
    isManagedBySCIM: t.boolean({
      description: groupDocument.shape.isManagedBySCIM.description,
      extensions: needs<GroupRow>('scimName'),
      resolve: isManagedBySCIM,
    }),
    members: listBelow(t, ACTOR_LIST, {
      description: 'The people and service accounts in the group.',
      rows: {
        // All columns, because the selected ones depend on which of both types a row has.
        pagesBelow: (context, asked) => GROUP_MEMBERS.pagesBelow(context, asked),
        countsBelow: (context, filter) => GROUP_MEMBERS.countsBelow(context, filter),
      },
    }),
  }),
});

const GROUP_LIST = listType(GroupType, {
  of: 'groups',
  filter: filterType('GroupFilter', groupFilter),
  conditions: 'Conditions on the groups. When absent, all groups are listed.',
  fields: { CREATED_AT: 'Time of creation.', NAME: 'Name of the group.' },
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
});
organizationList('groups', GROUP_LIST, listGroups);

const ids = { groupId: 'Group', memberIds: 'Actor' };

mutation(createGroup, { ids: { memberIds: 'Actor' }, payload: one('group', GroupType, 'The new group.') });
mutation(updateGroup, { ids, payload: one('group', GroupType, 'The updated group.') });
mutation(deleteGroup, { ids: { groupId: 'Group' }, payload: deleted('Group', 'deleted group') });
