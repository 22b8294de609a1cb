// What other nouns, the gateway and the operator use of users.

export { User, type UserTables } from './entity.ts';
export { deleteUserRow, findOrCreateUser, forgetPerson, lockUser, readUsers, readVisibleUsers } from './operations.ts';
export { READ_PEOPLE } from './policy.ts';
export type { UserRow } from './queries.ts';
