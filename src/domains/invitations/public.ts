// What other nouns, the gateway and the operator use of invitations.

export { deleteInvitationsOf, deleteInvitationsTo } from './queries.ts';
