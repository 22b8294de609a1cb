/** A time: the Date of an entity, or the ISO 8601 text of a row. */
export type Timestamp = Date | string;

/** ISO 8601 in UTC with milliseconds. */
export const toIsoString = (moment: Timestamp): string => (typeof moment === 'string' ? moment : moment.toISOString());

export const DAY_MS = 86_400_000;

const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Whether ISO 8601 with four digits and PostgreSQL can represent this time, in milliseconds since 1970: the years 1 to 9999. */
export const isRepresentable = (milliseconds: number): boolean => milliseconds >= FIRST_MS && milliseconds <= LAST_MS;
