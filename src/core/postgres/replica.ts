import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { isDatabaseAway } from './failures.ts';
import { type Run, runOn } from './sql.ts';
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
  readonly run: Run;
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

type State = 'unknown' | 'usable' | 'behind' | 'lost' | 'primary';

export function createReplica(url: string, { poolOptions, log, canPrepare, onPool }: ReplicaOptions): Replica {
  const { host } = new URL(url);
  const pool = openPool(url, { ...poolOptions, connectionTimeoutMillis: SILENCE_MS });
  onPool?.(pool);
  // A connection apart, so that a replica that is busy can still be asked how far it is.
  const watcher = openPool(url, {
    ...poolOptions,
    max: 1,
    connectionTimeoutMillis: SILENCE_MS,
    query_timeout: SILENCE_MS,
  });
  const run = runOn(pool, { canPrepare });
  const running = new Set<(reason: unknown) => void>();
  let replayed = -1;
  let isStreaming = false;
  let isDrained = false;
  let looksWithoutStream = 0;
  let state: State = 'unknown';
  let looking: Promise<void> | undefined;

  // At `info`: a replica that is lost costs no request its answer, and `gateway_replica_usable` counts it.
  function become(next: State, reason?: unknown): void {
    if (next === state) return;
    const cause = reason instanceof Error ? reason.message : undefined;
    if (next !== 'unknown') log.info({ replica: host, cause }, `replica ${next}`);
    state = next;
  }

  /** What it was asked is asked elsewhere, and it may come back as another server. */
  function lose(next: 'lost' | 'primary', reason: unknown): void {
    become(next, reason);
    replayed = -1;
    isStreaming = false;
    for (const giveUp of running) giveUp(reason);
  }

  async function ask(): Promise<void> {
    try {
      const { rows } = await watcher.query<Answer>(LOOK);
      const [answer] = rows;
      if (!answer?.isStandby || answer.replay === null) {
        lose('primary', new Error('the server is no standby'));
        return;
      }
      // What was lost begins anew with what it says now.
      if (state === 'lost' || state === 'primary') state = 'unknown';
      ({ replay: replayed, isStreaming } = { ...answer, replay: answer.replay });
      isDrained = replayed >= (answer.receive ?? 0);
      looksWithoutStream = isStreaming ? 0 : looksWithoutStream + 1;
    } catch (error) {
      lose('lost', error);
    }
  }

  /** Those who wait share each look. */
  const look = () => (looking ??= ask().finally(() => (looking = undefined)));

  /** Whether it gets there in time. */
  async function catchUp(position: number): Promise<boolean> {
    const deadline = performance.now() + PATIENCE_MS;
    while (replayed < position) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0 || replayed < 0) return false;
      await Promise.race([look(), delay(leftMs, undefined, { ref: false })]);
      if (replayed < position) await delay(PAUSE_MS);
    }
    return true;
  }

  async function probe(position: number | undefined): Promise<void> {
    await look();
    if (replayed < 0 || position === undefined) return;
    const keepsUp = await catchUp(position);
    if (replayed < 0) return;
    // A former primary may be ahead with what nobody else has, until it follows the new one.
    if (keepsUp && (isStreaming || state === 'usable')) become('usable');
    // Without a primary it cannot be ahead of what it has: perhaps ours is lost, too, and that is not known yet.
    else if (!keepsUp && (isStreaming || looksWithoutStream > LOOKS_WITHOUT_STREAM)) become('behind');
  }

  return {
    name: host,
    isUsable: () => state === 'usable',
    isStreaming: () => isStreaming,
    replayed: () => replayed,
    async reach(position) {
      const isThere = await catchUp(position);
      if (!isThere && isStreaming && state === 'usable') become('behind');
      return isThere;
    },
    probe,
    async isDrained() {
      await look();
      return state === 'usable' && isDrained;
    },
    run: (...given) =>
      new Promise((resolve, reject) => {
        running.add(reject);
        run(...given)
          .then(resolve, (error: unknown) => {
            if (isDatabaseAway(error)) lose('lost', error);
            reject(error);
          })
          .finally(() => running.delete(reject));
      }),
    async close() {
      await Promise.all([pool.end(), watcher.end()]);
    },
  };
}

function openPool(url: string, options: pg.PoolConfig): pg.Pool {
  const { host: _host, port: _port, user: _user, password: _password, database: _database, ...shared } = options;
  const pool = new pg.Pool({ ...shared, connectionString: url, types: WIRE_TYPES });
  // A connection that ends while nobody uses it is thrown away; the next look says what is wrong.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
