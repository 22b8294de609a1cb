import type { Pool } from 'pg';
import type { Database } from './database.ts';

/**
 * The read path of lists and pages: prepared statements that go from rows to the wire without entities. Entities are for changing things.
 * Timestamps come as PostgreSQL writes them; `toIsoString` gives their wire form.
 */
export interface Sql {
  /** `text` must be one of a bounded number of texts, because each is prepared once per connection. Values go apart from the text. */
  query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]>;
}

/** A moment: a Date of an entity, or a `timestamptz` as text of a row (the session's time zone is UTC). */
export type Timestamp = Date | string;

export async function createSql(database: Database, onQuery?: (text: string) => void): Promise<Sql> {
  const pool: Pool = await database.driver.getConnection().getNativeClient();
  const names = new Map<string, string>();
  return {
    async query<Row extends object>(text: string, values: readonly unknown[]) {
      onQuery?.(text);
      let name = names.get(text);
      if (name === undefined) names.set(text, (name = `r${names.size}`));
      const { rows } = await pool.query<Row>({ name, text, values: [...values] });
      return rows;
    },
  };
}

/** ISO 8601 in UTC with milliseconds. */
export function toIsoString(moment: Timestamp): string {
  if (typeof moment !== 'string') return moment.toISOString();
  // `2026-03-01 10:20:30.5+00`: the date and time as they stand, the fraction padded or cut to three digits.
  return `${moment.slice(0, 10)}T${moment.slice(11, 19)}.${/\.(\d{1,3})/.exec(moment)?.[1]?.padEnd(3, '0') ?? '000'}Z`;
}
