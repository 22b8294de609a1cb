// What other nouns, the gateway and the operator use of groups.

export { Group, type GroupTables } from './entity.ts';
export { addToGroup, followGroups, insertGroup, leaveGroups, removeFromGroup } from './operations.ts';
export { isCreatorIn } from './queries.ts';
