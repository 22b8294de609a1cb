// What other nouns, the gateway and the operator use of audit log.

export { forgetInvited } from './queries.ts';
export { type NewRefusedAttempt, recordRefusedAttempt } from './refused-attempts.ts';
export { deleteAuditEntries } from './queries.ts';
