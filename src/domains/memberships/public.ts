// What other nouns, the gateway and the operator use of memberships.

export { ensureMember } from './operations.ts';
export { READ_MEMBERS } from './policy.ts';
