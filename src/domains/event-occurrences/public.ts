// What other nouns, the gateway and the operator use of event occurrences.

export type { EventOccurrenceTables } from './entity.ts';
export { type SendEventOccurrenceInput, sendEventOccurrencesInput } from './input.ts';
export { sendEventOccurrences } from './operations.ts';
export { maxTextLength } from './property-values.ts';
