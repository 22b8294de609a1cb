import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { databaseTrouble } from './failures.ts';
import { type Run, runOn } from './sql.ts';
import { makePromises } from './client-queries.ts';
import { WIRE_TYPES } from './wire-types.ts';

/**
 * One server of `DATABASE_REPLICA_URLS`. What it is, is found out by asking it, again and again: after a failover a standby is the primary, and the
 * former primary a standby.
 */
export interface Replica {
  /** Host and port. */
  readonly name: string;
  /** Whether it is a standby that was current when it could last be compared with the primary. */
  isUsable(): boolean;
  /** Whether it receives what the primary writes, so that waiting for it makes sense. */
  isStreaming(): boolean;
  /** How far it has replayed the primary's log, when it was last asked. */
  replayed(): number;
  /** Waits a short time until it has replayed the log up to there. */
  reach(position: number): Promise<boolean>;
  /** Asks what the server is and how far it is. With the primary's position, also whether it keeps up with that; without, it stays what it was. */
  probe(position: number | undefined): Promise<void>;
  /** Whether it has replayed all that it has received; asks it. */
  isDrained(): Promise<boolean>;
  run(...given: Parameters<Run>): Promise<object[]>;
  close(): Promise<void>;
}

export interface ReplicaOptions {
  /** Those of the primary's pool: rows come in the same form from everywhere. */
  readonly poolOptions: pg.PoolConfig;
  readonly log: Pick<Logger, 'info'>;
  /** See `runOn`. */
  readonly canPrepare?: boolean;
  /** Sees the pool of each server before its first connection. */
  readonly onPool?: ((pool: pg.Pool) => void) | undefined;
}

interface Answer {
  readonly isStandby: boolean;
  readonly isStreaming: boolean;
  /** Bytes of the log. */
  readonly replay: number | null;
  readonly receive: number | null;
}

const POSITIONS = ['replay', 'receive'].map(
  (what) => `case when pg_is_in_recovery() then (pg_last_wal_${what}_lsn() - '0/0')::float8 end as "${what}"`,
);
const LOOK = `select pg_is_in_recovery() as "isStandby", exists (select from pg_stat_wal_receiver) as "isStreaming", ${POSITIONS.join(', ')}`;

/** A request waits this long for a replica to catch up; one that takes longer is left alone until it keeps up again. */
const PATIENCE_MS = 50;
/** A replica that says nothing for this long is lost. */
const SILENCE_MS = 2_000;
/** Between two looks at a replica that is waited for. */
const PAUSE_MS = 1;
/** A standby without a primary is current for this many looks; after that, its primary is probably another one than ours. */
const LOOKS_WITHOUT_STREAM = 4;

/** What statements fail with that ran on a replica when it was lost, or promoted; SQLSTATE 08006, connection failure. */
class ReplicaLostError extends Error {
  override readonly name = 'ReplicaLostError';
  readonly code = '08006';

  constructor(cause: unknown) {
    super('the replica was lost while it was asked', { cause });
  }
}

type State = 'unknown' | 'usable' | 'behind' | 'lost' | 'primary';

export function createReplica(url: string, options: ReplicaOptions): Replica {
  return new PolledReplica(url, options);
}

class PolledReplica implements Replica {
  readonly name: string;
  readonly #log: ReplicaOptions['log'];
  readonly #pool: pg.Pool;
  /** A connection apart, so that a replica that is busy can still be asked how far it is. */
  readonly #watcher: pg.Pool;
  readonly #run: Run;
  /** How to fail each statement that runs. */
  readonly #running = new Set<(reason: unknown) => void>();
  #replayed = -1;
  #isStreaming = false;
  #isDrained = false;
  #looksWithoutStream = 0;
  #state: State = 'unknown';
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
    // A former primary may be ahead with what nobody else has, until it follows the new one.
    if (keepsUp && (this.#isStreaming || this.#state === 'usable')) this.#become('usable');
    // Without a primary it cannot be ahead of what it has: perhaps ours is lost, too, and that is not known yet.
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
    await Promise.all([this.#pool.end(), this.#watcher.end()]);
  }

  /** Those who wait share each look. */
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
      // What was lost begins anew with what it says now.
      if (this.#state === 'lost' || this.#state === 'primary') this.#state = 'unknown';
      this.#replayed = answer.replay;
      this.#isStreaming = answer.isStreaming;
      this.#isDrained = this.#replayed >= (answer.receive ?? 0);
      this.#looksWithoutStream = this.#isStreaming ? 0 : this.#looksWithoutStream + 1;
    } catch (error) {
      this.#lose('lost', error);
    }
  }

  /** Whether it gets there in time. */
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

  // At `info`: a replica that is lost costs no request its answer, and `gateway_replica_usable` counts it.
  #become(next: State, reason?: unknown): void {
    if (next === this.#state) return;
    const cause = reason instanceof Error ? reason.message : undefined;
    if (next !== 'unknown') this.#log.info({ replica: this.name, cause }, `replica ${next}`);
    this.#state = next;
  }

  /** What it was asked is asked elsewhere, and it may come back as another server. */
  #lose(next: 'lost' | 'primary', reason: unknown): void {
    this.#become(next, reason);
    this.#replayed = -1;
    this.#isStreaming = false;
    for (const giveUp of this.#running) giveUp(new ReplicaLostError(reason));
  }
}

function openPool(url: string, options: pg.PoolConfig): pg.Pool {
  const { host: _host, port: _port, user: _user, password: _password, database: _database, ...shared } = options;
  const pool = new pg.Pool({ ...shared, connectionString: url, types: WIRE_TYPES });
  // A connection that ends while nobody uses it is thrown away; the next look says what is wrong.
  pool.on('error', () => undefined);
  pool.on('connect', makePromises);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
