// What other nouns, the gateway and the operator use of invitations.

export type { InvitationTables } from './entity.ts';
export { listOwnInvitations } from './operations.ts';
export { type InvitationRow, deleteInvitationsOf, deleteInvitationsTo } from './queries.ts';
