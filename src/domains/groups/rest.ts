import { exampleOf } from '../../core/documents.ts';
import { routesOf } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { groupDocument, toGroup } from './documents.ts';
import { listGroupsInput } from './input.ts';
import { createGroup, deleteGroup, listGroups, updateGroup } from './operations.ts';

const route = routesOf('Groups');

const { name, externalName, memberIds } = exampleOf(groupDocument);

export const groupRoutes = [
  route('GET /v1/groups', listGroups, {
    summary: 'Lists groups, oldest first.',
    input: listGroupsInput,
    output: listDocument(groupDocument),
    run: (context, page) => readList(page, (given) => listGroups(context, { filter: {}, page: given }), toGroup),
  }),
  route('POST /v1/groups', createGroup, {
    output: groupDocument,
    examples: { input: { name, externalName, memberIds } },
    toDocument: toGroup,
  }),
  route('PATCH /v1/groups/:groupId', updateGroup, {
    optionalBody: false,
    output: groupDocument,
    examples: { input: { name: 'Platform' }, output: { ...exampleOf(groupDocument), name: 'Platform' } },
    toDocument: toGroup,
  }),
  route('DELETE /v1/groups/:groupId', deleteGroup),
];
