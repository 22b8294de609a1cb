// What other nouns, the gateway and the operator use of memberships.

export { FormerMembership, ScimUser, SuspendedMembership, type SuspensionTables } from './entity.ts';
export { endMembership, ensureMember } from './operations.ts';
export { READ_MEMBERS, refuseLastAdmin } from './policy.ts';
export { FORMER_MEMBERS, MEMBERS, type MemberRow, SUSPENDED_MEMBERS } from './queries.ts';
export { reactivateMember, refuseSuspended, suspendMember } from './suspension.ts';
