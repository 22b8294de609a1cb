import { setImmediate as nextIteration, setTimeout as delay } from 'node:timers/promises';
import pg, { type Pool } from 'pg';
import type { Logger } from 'pino';
import { type ClientOptions, DatabaseClient } from '../driver/client.ts';
import { DatabaseAddress } from '../driver/database-address.ts';
import { onFailure } from '../driver/statement-channels.ts';
import { databaseTrouble } from '../failures.ts';

/** Interval of the liveness check while connections are in use; at most a fifth of the silence that is allowed. */
const CHECK_MS = 1_000;
/** Interval of checks while the database is away. */
const SEARCH_MS = 500;
/** Maximum number of warnings a minute for a database that comes and goes; the others are logged at debug. */
const MAX_LINES = 4;
const MINUTE_MS = 60_000;
/** Number of checks in a row that find requests waiting for a connection, after which that is logged. */
const PATIENT_CHECKS = 3;

/** Thrown instead of waiting for a database that does not answer; SQLSTATE 08006, connection failure. */
class DatabaseSilentError extends Error {
  override readonly name = 'DatabaseSilentError';
  readonly code = '08006';

  constructor() {
    super('the database does not answer');
  }
}

export interface HealthOptions {
  /** Maximum silence of the database. */
  readonly waitMs: number;
  /** The database without the pooler, if there is one. */
  readonly directUrl?: string | undefined;
  readonly log?: Pick<Logger, 'warn' | 'debug'> | undefined;
}

/**
 * Watches the database of a pool.
 *
 * An outage is logged with two lines: one when it begins and one when it ends. An error may concern only its
 * connection, so an outage begins only if a new connection fails too, or if the server accepts no writes.
 *
 * A silent database is paused, or behind a network that drops packets. While connections are in use, a separate
 * connection asks it every second. If neither that one nor a new one is answered, and no data arrives on others, all
 * connections are closed, and new ones are refused until the database answers. Behind a pooler, the pooler is asked for
 * a login and the database directly.
 */
export class DatabaseHealth {
  readonly #waitMs: number;
  readonly #intervalMs: number;
  /** Maximum time for each of the two answers. */
  readonly #answerMs: number;
  readonly #direct: DatabaseAddress | undefined;
  readonly #log: HealthOptions['log'];
  readonly #clients = new Set<DatabaseClient>();
  #pool: Pool | undefined;
  /** The separate connection, while nothing is asked on it. */
  #probe: DatabaseClient | undefined;
  #isAway = false;
  #isSilent = false;
  #isChecking = false;
  #isSearching = false;
  #waitingChecks = 0;
  /** The times of the last warnings. */
  #warnedAt: number[] = [];

  constructor({ waitMs, directUrl, log }: HealthOptions) {
    this.#waitMs = waitMs;
    this.#intervalMs = Math.min(CHECK_MS, waitMs / 5);
    this.#answerMs = (waitMs - this.#intervalMs) / 2;
    this.#direct = directUrl === undefined ? undefined : new DatabaseAddress(directUrl);
    this.#log = log;
  }

  /** Whether the database is away, as far as is known. */
  isAway(): boolean {
    return this.#isAway;
  }

  /** The error for new connections while the database is silent. */
  readonly refusal = (): Error | undefined => (this.#isSilent ? new DatabaseSilentError() : undefined);

  /** Notes any error. If it may mean an outage, the database is asked. */
  readonly note = (error: unknown): void => {
    if (!this.#pool || this.#isSearching || databaseTrouble(error) !== 'away') return;
    this.#isSearching = true;
    void this.#search(this.#pool).finally(() => (this.#isSearching = false));
  };

  /** Watches the database of a pool until the pool ends. */
  watch(pool: Pool): void {
    this.#pool = pool;
    pool.on('connect', (client) => {
      this.#clients.add(DatabaseClient.of(client));
      // The new connection is an answer of the database, unless a pooler has accepted it.
      if (this.#direct === undefined) this.#isSilent = false;
    });
    pool.on('remove', (client) => this.#clients.delete(DatabaseClient.of(client)));
    onFailure(pool, ({ error }) => this.note(error));
    const timer = setInterval(() => {
      this.#waitingChecks = pool.waitingCount > 0 ? this.#waitingChecks + 1 : 0;
      if (this.#waitingChecks === PATIENT_CHECKS) void this.#reportWaiting(pool);
      if (pool.ending) {
        clearInterval(timer);
        this.#probe?.end().catch(() => undefined);
      } else if (!this.#isChecking && !this.#isSilent && (pool.totalCount > pool.idleCount || pool.waitingCount > 0)) {
        this.#isChecking = true;
        void this.#check(pool).finally(() => (this.#isChecking = false));
      }
    }, this.#intervalMs).unref();
  }

  /** Logs that all connections are in use, with the lock that most statements wait for. */
  async #reportWaiting(pool: Pool): Promise<void> {
    const { waitingCount: waiting, totalCount: connections } = pool;
    const client = newProbe(pool);
    const lock = await inTime(client.connect().then(findLock), this.#answerMs).catch(() => undefined);
    client.cut();
    // During an outage, which is logged, they wait for it.
    if (!this.#isAway && !this.#isSilent)
      this.#warn({ waiting, connections, ...lock }, 'all database connections are in use');
  }

  /** Finds out whether the database is silent, and closes its connections then. */
  async #check(pool: Pool): Promise<void> {
    if (await this.#isAnswering(pool)) return;
    // A single connection may be lost, so a new one is tried, and traffic on the others is observed.
    const received = new Map(Array.from(this.#clients, (client) => [client, client.bytesRead]));
    if (await (this.#direct === undefined ? this.#isAnswering(pool) : this.#isReachable(pool, this.#direct))) return;
    if (Array.from(this.#clients).some((client) => client.bytesRead > (received.get(client) ?? 0))) return;
    this.#isSilent = true;
    for (const client of this.#clients) client.cut();
    this.note(new DatabaseSilentError());
  }

  /** Finds out whether the database is away, and waits until it is back. */
  async #search(pool: Pool): Promise<void> {
    const began = performance.now();
    while (!pool.ending) {
      const cause = await this.#outageOf(pool);
      if (cause === undefined) break;
      if (!this.#isAway) this.#warn({ cause }, 'database away');
      this.#isAway = true;
      await delay(SEARCH_MS, undefined, { ref: false });
    }
    if (this.#isAway) this.#warn({ seconds: Math.round(performance.now() - began) / 1000 }, 'database back');
    this.#isAway = false;
  }

  #warn(fields: object, message: string): void {
    const now = performance.now();
    this.#warnedAt = this.#warnedAt.filter((time) => now - time < MINUTE_MS);
    if (this.#warnedAt.length >= MAX_LINES) {
      this.#log?.debug(fields, message);
    } else {
      this.#warnedAt.push(now);
      this.#log?.warn(fields, message);
    }
  }

  /** Asks on a new connection why the database cannot serve. */
  async #outageOf(pool: Pool): Promise<string | undefined> {
    const client = newProbe(pool);
    try {
      const state = await inTime(client.connect().then(ask), this.#isSilent ? this.#answerMs : this.#waitMs);
      this.#isSilent = false;
      client.end().catch(() => undefined);
      if (state?.isStandby) return 'the server is a standby';
      return state?.isReadOnly ? 'the database accepts no writes (default_transaction_read_only)' : undefined;
    } catch (error) {
      client.cut();
      if (isAnswer(error)) this.#isSilent = false;
      // A database that refuses a connection with a message, for example because it has too many, is not away.
      return databaseTrouble(error) === 'busy' ? undefined : sentenceOf(error);
    }
  }

  /** Asks on the separate connection, which is opened if there is none. */
  async #isAnswering(pool: Pool): Promise<boolean> {
    const known = this.#probe;
    const client = known ?? newProbe(pool);
    this.#probe = undefined;
    try {
      await inTime(known ? ask(known) : client.connect().then(ask), this.#answerMs);
      // Nobody looks again after a pool that has ended meanwhile.
      if (pool.ending) client.end().catch(() => undefined);
      else this.#probe = client;
      return true;
    } catch (error) {
      client.cut();
      return isAnswer(error);
    }
  }

  /** Whether the pooler accepts a login and the database behind it answers. */
  async #isReachable(pool: Pool, address: DatabaseAddress): Promise<boolean> {
    const answers = [newProbe(pool), newProbe(pool, { address: () => address })].map((client) =>
      inTime(client.connect(), this.#answerMs)
        .then(() => true, isAnswer)
        .finally(() => client.cut()),
    );
    return (await Promise.all(answers)).every(Boolean);
  }
}

/** A connection with the options of the pool that is not part of it. It does not keep the process alive. */
function newProbe({ options }: Pool, changes: ClientOptions = {}): DatabaseClient {
  const client = new DatabaseClient({ ...options, refusal: undefined, session: undefined, ...changes });
  client.detach();
  return client;
}

interface State {
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
}

async function ask(client: pg.Client): Promise<State | undefined> {
  const { rows } = await client.query<State>(
    `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only')::boolean as "isReadOnly"`,
  );
  return rows[0];
}

interface AwaitedLock {
  readonly lock: string;
  readonly statements: number;
  /** The process of the server that has the lock, or waits for it in front of the others. */
  readonly blockedBy: number | null;
  readonly blockerState: string | null;
  readonly blockerSeconds: number | null;
}

async function findLock(client: pg.Client): Promise<AwaitedLock | undefined> {
  const { rows } = await client.query<AwaitedLock>(
    `select w.lock, count(*)::int as statements, w.pid as "blockedBy", b.state as "blockerState",
       extract(epoch from now() - b.xact_start)::int as "blockerSeconds"
     from (
       select l.mode || ' on ' || coalesce(l.relation::regclass::text, l.locktype) as lock, (pg_blocking_pids(l.pid))[1] as pid
       from pg_locks l join pg_stat_activity a on a.pid = l.pid
       where not l.granted and a.datname = current_database()
     ) w left join pg_stat_activity b on b.pid = w.pid
     group by w.lock, w.pid, b.state, b.xact_start order by count(*) desc limit 1`,
  );
  return rows[0];
}

/** @throws DatabaseSilentError if there is no answer in time */
async function inTime<Answer>(answer: Promise<Answer>, answerMs: number): Promise<Answer> {
  const silence = delay(answerMs, undefined, { ref: false }).then(async () => {
    // If this process itself was blocked, the time is over although the answer has arrived but is unread.
    await nextIteration();
    await nextIteration();
    throw new DatabaseSilentError();
  });
  return Promise.race([answer, silence]);
}

/** Whether an error is an answer of the server, such as too many connections, and does not say that it is shutting down or starting. */
const isAnswer = (error: unknown): boolean => error instanceof pg.DatabaseError && !error.code?.startsWith('57P');

function sentenceOf(error: unknown): string {
  // For a host with several addresses the error has no message, but one error for each address.
  const causes = error instanceof AggregateError ? error.errors : [error];
  return causes.map((cause: unknown) => (cause instanceof Error ? cause.message : String(cause))).join('; ');
}
