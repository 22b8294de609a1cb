import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, QueryConfig } from 'pg';
import type { Logger } from 'pino';
import { followQueries } from '../driver/client-queries.ts';
import { databaseTrouble } from '../failures.ts';
import { createProbe } from './liveness-check.ts';

/** Logs an outage of the database with two lines: one when it begins and one when it ends. */
export interface Outages {
  /** Called with any error. If it may mean an outage, the database is checked. */
  readonly note: (error: unknown) => void;
  /** Whether the database is away, as far as is known. */
  isAway(): boolean;
}

export interface OutageOptions {
  readonly log: Pick<Logger, 'warn' | 'debug'>;
  readonly searchMs?: number;
}

/** Interval of checks while the database is away. */
const SEARCH_MS = 500;
/** Maximum number of warnings a minute for a database that comes and goes; the others are logged at debug. */
const MAX_LINES = 4;
const MINUTE_MS = 60_000;

/**
 * Watches a pool. An error may concern only its connection, so an outage is logged only if a new connection fails too, or the server accepts
 * no writes.
 */
export function watchOutages(pool: Pool, { log, searchMs = SEARCH_MS }: OutageOptions): Outages {
  const lines = limitLines(log);
  let isSearching = false;
  let isAway = false;

  async function search(): Promise<void> {
    const began = performance.now();
    while (!pool.ending) {
      const cause = await ask(pool);
      if (cause === undefined) break;
      if (!isAway) lines.warn({ cause }, 'database away');
      isAway = true;
      await delay(searchMs, undefined, { ref: false });
    }
    if (isAway) lines.warn({ seconds: Math.round(performance.now() - began) / 1000 }, 'database back');
    isAway = false;
  }

  const note = (error: unknown) => {
    if (isSearching || databaseTrouble(error) !== 'away') return;
    isSearching = true;
    void search().finally(() => (isSearching = false));
  };

  onFailure(pool, note);
  return { note, isAway: () => isAway };
}

/** Reports every failure of the connections of a pool. */
function onFailure(pool: Pool, note: Outages['note']): void {
  pool.on('connect', (client) => {
    client.on('error', note);
    followQueries(client, (result) => {
      result.catch(note);
      return result;
    });
  });
  const connect: (...given: unknown[]) => unknown = pool.connect.bind(pool);
  Object.assign(pool, {
    connect(given?: (error: unknown, ...rest: unknown[]) => void) {
      if (given) {
        return connect((error: unknown, ...rest: unknown[]) => {
          note(error);
          given(error, ...rest);
        });
      }
      const connected = connect();
      if (connected instanceof Promise) connected.catch(note);
      return connected;
    },
  });
}

/** Checks with a new connection. @returns why the database cannot serve. */
async function ask(pool: Pool): Promise<string | undefined> {
  const client = createProbe(pool);
  try {
    await client.connect();
    // The types of the driver lack the timeout.
    const probe: QueryConfig & { readonly query_timeout: number | undefined } = {
      text: `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only')::boolean as "isReadOnly"`,
      query_timeout: pool.options.connectionTimeoutMillis,
    };
    const { rows } = await client.query<{ isStandby: boolean; isReadOnly: boolean }>(probe);
    if (rows[0]?.isStandby === true) return 'the server is a standby';
    return rows[0]?.isReadOnly === true ? 'the database accepts no writes (default_transaction_read_only)' : undefined;
  } catch (error) {
    // A database that refuses a connection with a message, for example because it has too many, is not away.
    return databaseTrouble(error) === 'busy' ? undefined : sentenceOf(error);
  } finally {
    client.end().catch(() => undefined);
  }
}

function sentenceOf(error: unknown): string {
  // For a host with several addresses the error has no message, but one error for each address.
  const causes = error instanceof AggregateError ? error.errors : [error];
  return causes.map((cause: unknown) => (cause instanceof Error ? cause.message : String(cause))).join('; ');
}

/** A log that warns only a few times a minute; a warning states how many lines before it were only logged at debug. */
export function limitLines(log: Pick<Logger, 'warn' | 'debug'>, max = MAX_LINES): Pick<Logger, 'warn'> {
  let times: number[] = [];
  let withheld = 0;
  return {
    warn(fields: object, message?: string) {
      const now = performance.now();
      times = times.filter((time) => now - time < MINUTE_MS);
      if (times.length >= max) {
        withheld += 1;
        log.debug(fields, message);
        return;
      }
      times.push(now);
      log.warn(withheld > 0 ? { ...fields, withheld } : fields, message);
      withheld = 0;
    },
  };
}
