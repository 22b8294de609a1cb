/** A time: the Date of an entity, or the ISO 8601 text of a row. */
export type Timestamp = Date | string;

/** ISO 8601 in UTC with milliseconds. */
export function toIsoString(moment: Timestamp): string {
  return typeof moment === 'string' ? moment : moment.toISOString();
}
