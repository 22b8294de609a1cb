import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { databaseTrouble } from '../failures.ts';
import { type Run, runOn } from '../reading/sql.ts';
import { DatabaseClient } from '../driver/client.ts';
import { DatabaseAddress } from '../driver/database-address.ts';
import { WIRE_TYPES } from '../driver/wire-types.ts';

/**
 * One server of `DATABASE_REPLICA_URLS`. It is asked repeatedly whether it is a standby, because after a failover a standby is the primary,
 * and the former primary a standby.
 */
export interface Replica {
  /** Host and port. */
  readonly name: string;
  /** Whether it is a standby that was current at the last comparison with the primary. */
  isUsable(): boolean;
  /** Whether it receives the log of the primary, so that it makes sense to wait for it. */
  isStreaming(): boolean;
  /** The position up to which it has replayed the log, at the last check. */
  replayed(): number;
  /** Waits shortly until it has replayed the log up to this position. */
  reach(position: number): Promise<boolean>;
  /**
   * Checks whether the server is a standby, and its position. With the position of the primary it also checks whether the standby keeps up;
   * without, that stays unchanged.
   */
  probe(position: number | undefined): Promise<void>;
  /** Checks whether it has replayed everything that it has received. */
  isDrained(): Promise<boolean>;
  run(...given: Parameters<Run>): Promise<object[]>;
  close(): Promise<void>;
}

export interface ReplicaOptions {
  /** The options of the primary's pool, so that rows have the same form. */
  readonly poolOptions: pg.PoolConfig;
  readonly log: Pick<Logger, 'info'>;
  /** See `runOn`. */
  readonly canPrepare?: boolean;
  /** Called with the pool of each server before its first connection. */
  readonly onPool?: ((pool: pg.Pool) => void) | undefined;
}

interface Answer {
  readonly isStandby: boolean;
  readonly isStreaming: boolean;
  /** Position in the log, in bytes. */
  readonly replay: number | null;
  readonly receive: number | null;
}

const POSITIONS = ['replay', 'receive'].map(
  (what) => `case when pg_is_in_recovery() then (pg_last_wal_${what}_lsn() - '0/0')::float8 end as "${what}"`,
);
const LOOK = `select pg_is_in_recovery() as "isStandby", exists (select from pg_stat_wal_receiver) as "isStreaming", ${POSITIONS.join(', ')}`;

/** Maximum time that a request waits for a replica. A slower replica is not used until it keeps up again. */
const PATIENCE_MS = 50;
/** A replica that does not answer for this long is lost. */
const SILENCE_MS = 2_000;
/** Pause between two checks of a replica that requests wait for. */
const PAUSE_MS = 1;
/** A state is logged when it has lasted this long: under load, standbys are often behind for a moment. */
const LOG_AFTER_MS = 5_000;
/** Number of checks for which a standby without a primary counts as current; after that, it probably follows another primary than ours. */
const LOOKS_WITHOUT_STREAM = 4;

/** The error of statements on a replica that was lost or promoted; SQLSTATE 08006, connection failure. */
class ReplicaLostError extends Error {
  override readonly name = 'ReplicaLostError';
  readonly code = '08006';

  constructor(cause: unknown) {
    super('the replica was lost while it was asked', { cause });
  }
}

type State = 'unknown' | 'usable' | 'behind' | 'lost' | 'primary';

export const createReplica = (url: string, options: ReplicaOptions): Replica => new PolledReplica(url, options);

class PolledReplica implements Replica {
  readonly name: string;
  readonly #log: ReplicaOptions['log'];
  readonly #pool: pg.Pool;
  /** A separate connection for checks of a busy replica. */
  readonly #watcher: pg.Pool;
  readonly #run: Run;
  /** Functions that fail the running statements. */
  readonly #running = new Set<(reason: unknown) => void>();
  #replayed = -1;
  #isStreaming = false;
  #isDrained = false;
  #looksWithoutStream = 0;
  #state: State = 'unknown';
  #loggedState: State = 'unknown';
  #logTimer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(url: string, { poolOptions, log, canPrepare, onPool }: ReplicaOptions) {
    this.name = new URL(url).host;
    this.#log = log;
    const options = { ...poolOptions, connectionTimeoutMillis: SILENCE_MS };
    this.#pool = openPool(url, options);
    onPool?.(this.#pool);
    this.#watcher = openPool(url, { ...options, max: 1, query_timeout: SILENCE_MS });
    this.#run = runOn(this.#pool, { canPrepare });
  }

  isUsable(): boolean {
    return this.#state === 'usable';
  }

  isStreaming(): boolean {
    return this.#isStreaming;
  }

  replayed(): number {
    return this.#replayed;
  }

  async reach(position: number): Promise<boolean> {
    const isThere = await this.#catchUp(position);
    if (!isThere && this.#isStreaming && this.#state === 'usable') this.#become('behind');
    return isThere;
  }

  async probe(position: number | undefined): Promise<void> {
    await this.#look();
    if (this.#replayed < 0 || position === undefined) return;
    const keepsUp = await this.#catchUp(position);
    if (this.#replayed < 0) return;
    // A former primary may have writes that no other server has, until it follows the new one.
    if (keepsUp && (this.#isStreaming || this.#state === 'usable')) this.#become('usable');
    // Without a primary it cannot be ahead. Perhaps our primary is lost too, and we do not know it yet.
    else if (!keepsUp && (this.#isStreaming || this.#looksWithoutStream > LOOKS_WITHOUT_STREAM)) this.#become('behind');
  }

  async isDrained(): Promise<boolean> {
    await this.#look();
    return this.#state === 'usable' && this.#isDrained;
  }

  run(...given: Parameters<Run>): Promise<object[]> {
    return new Promise((resolve, reject) => {
      this.#running.add(reject);
      this.#run(...given)
        .then(resolve, (error: unknown) => {
          if (databaseTrouble(error) === 'away') this.#lose('lost', error);
          reject(error);
        })
        .finally(() => this.#running.delete(reject));
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#logTimer);
    await Promise.all([this.#pool.end(), this.#watcher.end()]);
  }

  /** Waiting requests share each check. */
  #look(): Promise<void> {
    return (this.#looking ??= this.#ask().finally(() => (this.#looking = undefined)));
  }

  async #ask(): Promise<void> {
    try {
      const { rows } = await this.#watcher.query<Answer>(LOOK);
      const [answer] = rows;
      if (!answer?.isStandby || answer.replay === null) {
        this.#lose('primary', new Error('the server is no standby'));
        return;
      }
      // A lost replica starts again with its current state.
      if (this.#state === 'lost' || this.#state === 'primary') this.#state = 'unknown';
      this.#replayed = answer.replay;
      this.#isStreaming = answer.isStreaming;
      this.#isDrained = this.#replayed >= (answer.receive ?? 0);
      this.#looksWithoutStream = this.#isStreaming ? 0 : this.#looksWithoutStream + 1;
    } catch (error) {
      this.#lose('lost', error);
    }
  }

  /** Whether it catches up in time. */
  async #catchUp(position: number): Promise<boolean> {
    const deadline = performance.now() + PATIENCE_MS;
    while (this.#replayed < position) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0 || this.#replayed < 0) return false;
      await Promise.race([this.#look(), delay(leftMs, undefined, { ref: false })]);
      if (this.#replayed < position) await delay(PAUSE_MS);
    }
    return true;
  }

  // At `info`, because a lost replica fails no request, and `gateway_replica_usable` counts it.
  #become(next: State, reason?: unknown): void {
    if (next === this.#state) return;
    this.#state = next;
    clearTimeout(this.#logTimer);
    if (next === this.#loggedState) return;
    this.#logTimer = setTimeout(() => {
      this.#loggedState = next;
      const cause = reason instanceof Error ? reason.message : undefined;
      this.#log.info({ replica: this.name, cause }, `replica ${next}`);
    }, LOG_AFTER_MS).unref();
  }

  /** Its running statements are retried elsewhere. It may come back as another server. */
  #lose(next: 'lost' | 'primary', reason: unknown): void {
    this.#become(next, reason);
    this.#replayed = -1;
    this.#isStreaming = false;
    for (const giveUp of this.#running) giveUp(new ReplicaLostError(reason));
  }
}

function openPool(url: string, options: pg.PoolConfig): pg.Pool {
  const { host: _host, port: _port, user: _user, password: _password, database: _database, ...shared } = options;
  // The primary may be silent while the replica answers.
  const address = new DatabaseAddress(url);
  const own = { address: () => address, types: WIRE_TYPES, Client: DatabaseClient, refusal: undefined };
  const pool = new pg.Pool({ ...shared, ...own });
  // An idle connection that ends is discarded; the next check finds the reason.
  pool.on('error', () => undefined);
  return pool;
}
