// What other nouns, the gateway and the operator use of invitations.

export { Invitation } from './entity.ts';
export { deleteExpiredInvitations, deleteInvitationsOf, deleteInvitationsTo } from './queries.ts';
