// What the gateway uses of SCIM.

export { requireScim } from './changes.ts';
export { ScimError } from './errors.ts';
export {
  GROUP_FILTERS,
  changeScimGroup,
  createScimGroup,
  deleteScimGroup,
  listScimGroups,
  readScimGroup,
} from './group-operations.ts';
export { filterIn } from './filter.ts';
export { type StoredGroup, type StoredUser, USER_FILTERS } from './people.ts';
export { LIST_SCHEMA, type Resource, groupResource, userResource, versionOf } from './resources.ts';
export { changeScimUser, createScimUser, deleteScimUser, listScimUsers, readScimUser } from './user-operations.ts';
