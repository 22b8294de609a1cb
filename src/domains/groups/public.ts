// What other nouns, the gateway and the operator use of groups.

export { Group, GroupMember, type GroupTables } from './entity.ts';
export {
  addToGroup,
  connectionsWith,
  followGroups,
  insertGroup,
  removeFromGroups,
  requireGroups,
} from './operations.ts';
export { isCreatorIn } from './queries.ts';
