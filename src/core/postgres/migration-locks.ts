import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { causesOf } from '../errors.ts';
import { codeOf } from './failures.ts';

/** Maximum time that a statement of a migration waits for a lock, and others therefore for it. */
export const LOCK_TIMEOUT_MS = 1_000;

/** How a migration waits for others. */
export interface Repetition {
  /** Called with a line for the operator while a migration waits: at first, and once a minute. */
  readonly note?: ((line: string) => void) | undefined;
  /** The first pause after a refused lock; later ones are up to four times as long. */
  readonly pauseMs?: number;
}

const PAUSE_MS = 5_000;
const LONGEST_PAUSES = 4;
const NOTE_MS = 60_000;

/** Whether a statement was not given a lock in time, or was ended to resolve a deadlock. */
const isLocked = (error: unknown) => causesOf(error).some((cause) => ['55P03', '40P01'].includes(codeOf(cause) ?? ''));

/** Repeats work, with pauses in which it waits for no lock, as long as locks of others are the reason why it fails. */
export async function repeatWhenLocked(
  pool: Pool,
  name: string,
  work: () => Promise<void>,
  { note, pauseMs = PAUSE_MS }: Repetition,
): Promise<void> {
  const noteAtTimes = atMostOncePer(NOTE_MS, note);
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isLocked(error)) throw error;
      await noteAtTimes(async () => `${name} waits for a lock${await oldestTransaction(pool)}; it is tried again`);
    }
    await delay(pauseMs * Math.min(attempt, LONGEST_PAUSES));
  }
}

const OLDEST = `select pid, application_name as name, extract(epoch from clock_timestamp() - xact_start)::int as seconds
  from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid() order by xact_start limit 1`;

/** What probably holds it, for the operator. */
async function oldestTransaction(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ pid: number; name: string; seconds: number }>(OLDEST);
  const [oldest] = rows;
  if (!oldest) return '';
  return `; the oldest transaction is that of process ${oldest.pid} (${oldest.name}), which began ${oldest.seconds} s ago`;
}

/** Any constant that all gateways share. Version 1.0 waits for the same lock. */
const MIGRATION_LOCK = 4_021_956_313;
const TURN_MS = 500;

/**
 * Waits until no other process migrates the database. It asks again and again: a waiting statement would have a snapshot, for which
 * `create index concurrently` of the other process would wait.
 */
export async function takeTurn(pool: Pool, { note }: Repetition): Promise<{ end(): void }> {
  const client: PoolClient = await pool.connect();
  // Closing the connection releases the lock.
  const end = () => client.release(true);
  const noteAtTimes = atMostOncePer(NOTE_MS, note);
  try {
    for (;;) {
      const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
        MIGRATION_LOCK,
      ]);
      if (rows[0]?.taken) return { end };
      await noteAtTimes(async () => 'another process migrates the database; this one waits until it has ended');
      await delay(TURN_MS);
    }
  } catch (error) {
    end();
    throw error;
  }
}

function atMostOncePer(intervalMs: number, note: (line: string) => void = () => undefined) {
  let notedAt = -Infinity;
  return async (line: () => Promise<string>): Promise<void> => {
    if (performance.now() - notedAt < intervalMs) return;
    notedAt = performance.now();
    note(await line());
  };
}
