// What other nouns, the gateway and the operator use of audit log.

export { type NewRefusedAttempt, recordRefusedAttempt } from './refused-attempts.ts';
