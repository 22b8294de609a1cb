// What other nouns, the gateway and the operator use of audit log.

export { RefusedAttempt } from './entity.ts';
export { deleteAuditEntries, deleteEntriesOf, forgetUserInEntries } from './queries.ts';
export { type NewRefusedAttempt, recordRefusedAttempt } from './refused-attempts.ts';
