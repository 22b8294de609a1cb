import type { Logger } from 'pino';
import type { WorkContext } from './operation.ts';
import type { Sql } from './postgres/reading/sql.ts';

/** With a larger difference between the clocks of the process and the database, one of them is wrong. */
const TOLERANCE_MS = 60_000;

/** The time of the database. */
export async function readStoredTime(sql: Sql): Promise<Date> {
  const [row] = await sql.query<{ now: string }>(`select now()::text as now`, []);
  return new Date(row?.now ?? NaN);
}

/** By how many milliseconds the clock of the process is ahead of that of the database. */
export async function clockDifference({ now, storedNow }: Pick<WorkContext, 'now' | 'storedNow'>): Promise<number> {
  const stored = await storedNow();
  return now().getTime() - stored.getTime();
}

/**
 * The time for what is deleted by age: that of the database, which is the same for all processes. Undefined, with a line in the log, while
 * the clock of the process differs by more than a minute, because what is deleted would be gone for good.
 */
export async function timeToDelete(
  context: Pick<WorkContext, 'now' | 'storedNow'> & { readonly log: Pick<Logger, 'warn'> },
): Promise<Date | undefined> {
  const stored = await context.storedNow();
  const aheadMs = context.now().getTime() - stored.getTime();
  if (Math.abs(aheadMs) <= TOLERANCE_MS) return stored;
  context.log.warn(
    { aheadSeconds: Math.round(aheadMs / 1000) },
    'the clocks of this process and of the database differ; nothing is deleted by age until they agree',
  );
  return undefined;
}
