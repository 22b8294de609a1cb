// What other nouns, the gateway and the operator use of organizations.

export { SLUG_CONFLICTS, insertOrganization, requireRoomToOwn } from './creation.ts';
export { organizationDocument, toOrganization } from './documents.ts';
export { MEMBER_ORIGINS, Membership, Organization, type OrganizationTables } from './entity.ts';
export { type CreateOrganizationInput, createOrganizationInput, createOrganizationWithKeyInput } from './input.ts';
export {
  deleteOrganizationRow,
  emptyOrganization,
  handOverOrganizations,
  leaveOrganizations,
  lockOrganizationsOf,
  organizationsAdministeredBy,
  organizationsOnlyOf,
} from './leaving.ts';
export { lockActing, lockOrganization } from './lock.ts';
export {
  findOrCreateOrganization,
  listOrganizations,
  readActingOrganization,
  readOrganizations,
} from './operations.ts';
export { setSubscription } from './operator-operations.ts';
export {
  ADMINISTER_ORGANIZATION,
  CREATE_ORGANIZATIONS,
  KNOWS_VIEWERS,
  actingOrganization,
  mayAdminister,
  requireKnownRole,
} from './policy.ts';
export { type OrganizationRow, memberCountsOf, organizationRow } from './queries.ts';
