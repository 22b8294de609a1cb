// What other nouns, the gateway and the operator use of event occurrences.

export { EventOccurrence, EventOccurrenceUuid, MonthlyOccurrenceCount, ObjectIdentifier } from './entity.ts';
export { type SendEventOccurrenceInput, sendEventOccurrencesInput } from './input.ts';
export { sendEventOccurrences } from './operations.ts';
export { deleteIdentifiersOf } from './organization-deletion.ts';
export { eventPurgeJob, purgeOccurrences } from './purge.ts';
export { deleteExpiredUuids } from './send-queries.ts';
