// What other nouns, the gateway and the operator use of users.

export { User, type UserTables } from './entity.ts';
export { isAddress, personName } from './input.ts';
export {
  changeAddress,
  deleteServiceAccountRows,
  deleteUserRow,
  endServiceAccounts,
  findOrCreateUser,
  forgetPerson,
  lockUser,
  readActors,
  readServiceAccounts,
  readUsers,
  readVisibleActors,
} from './operations.ts';
export { serviceAccountDocument, toServiceAccount } from './documents.ts';
export { READ_PEOPLE } from './policy.ts';
export { type ActorRow, type ServiceAccountRow, type UserRow, isServiceAccount } from './queries.ts';
