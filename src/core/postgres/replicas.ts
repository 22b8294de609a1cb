import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { isDatabaseAway } from './failures.ts';
import { DomainError } from '../errors.ts';
import { type Run, runOn } from './sql.ts';
import { WIRE_TYPES } from './wire-types.ts';

/**
 * Read replicas of the primary. A request that only reads is served by one that has replayed all that was acknowledged before the request
 * came in, so that a writer, and everybody else, reads what was written, whichever process wrote it. Where none has, the primary serves it.
 */
export interface Replicas {
  /** Statements of one request, all on one server. `position` is where the primary's log ended after the request had come in. */
  reader(position: number | undefined): Run;
  states(): { readonly replica: string; readonly isUsable: boolean }[];
  close(): Promise<void>;
}

export interface ReplicasOptions {
  readonly urls: readonly string[];
  readonly primary: Run;
  /** Those of the primary's pool: rows come in the same form from everywhere. */
  readonly poolOptions: pg.PoolConfig;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Of connections to standbys: see `runOn`. */
  readonly canPrepare?: boolean;
  /** Sees the pool of each before its first connection. */
  readonly onPool?: ((pool: pg.Pool) => void) | undefined;
}

/**
 * Where the primary's log ends, as a number of bytes, for the select list of a statement. Whatever was acknowledged is behind it: flushed, or
 * where commits are acknowledged before that, written.
 */
export const POSITION = `((case current_setting('synchronous_commit') when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end) - '0/0')::float8`;

// Null on a server that is no standby.
const REPLAYED = `select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::float8 end as position`;

/** A request waits this long for a replica to catch up; one that takes longer is left alone until it keeps up again. */
const PATIENCE_MS = 50;
const LOOK_EVERY_MS = 500;
/** A replica that says nothing for this long is lost. */
const SILENCE_MS = 2_000;
/** Between two looks at a replica that is waited for. */
const PAUSE_MS = 1;

/** Dials nothing before the first reader. */
export function createReplicas({ urls, ...options }: ReplicasOptions): Replicas {
  const { primary } = options;
  const replicas = urls.map((url) => createReplica(url, options));
  let turn = 0;
  let latest = 0;
  let timer: NodeJS.Timeout | undefined;

  const watch = () => void Promise.all(replicas.map((replica) => replica.probe(latest)));

  /** One that is there already, else the next in turn, if it gets there. */
  async function choose(position: number): Promise<Replica | undefined> {
    const usable = replicas.filter((replica) => replica.isUsable());
    turn += 1;
    const inTurn = usable.map((_, index) => usable[(turn + index) % usable.length]);
    const chosen = inTurn.find((replica) => replica?.hasReached(position)) ?? inTurn[0];
    return (await chosen?.reach(position)) ? chosen : undefined;
  }

  return {
    reader(position) {
      if (position === undefined) return primary;
      latest = position;
      if (!timer) {
        timer = setInterval(watch, LOOK_EVERY_MS).unref();
        watch();
      }
      let chosen: Promise<Replica | undefined> | undefined;
      return async (statement, budget) => {
        const replica = await (chosen ??= choose(position));
        if (!replica) return primary(statement, budget);
        try {
          return await replica.run(statement, budget);
        } catch (error) {
          if (isCancelled(error) || error instanceof DomainError) throw error;
          // Lost, in conflict with its recovery, or a statement that is none for replicas: the primary can, or says what is wrong.
          chosen = Promise.resolve(undefined);
          return primary(statement, budget);
        }
      };
    },
    states: () => replicas.map(({ name, isUsable }) => ({ replica: name, isUsable: isUsable() })),
    async close() {
      clearInterval(timer);
      await Promise.all(replicas.map((replica) => replica.close()));
    },
  };
}

type Replica = ReturnType<typeof createReplica>;

function createReplica(
  url: string,
  { poolOptions, log, canPrepare, onPool }: Omit<ReplicasOptions, 'urls' | 'primary'>,
) {
  const { host } = new URL(url);
  const pool = openPool(url, { ...poolOptions, connectionTimeoutMillis: SILENCE_MS });
  onPool?.(pool);
  // Of its own, so that a replica that is busy can still be asked how far it is.
  const watcher = openPool(url, {
    ...poolOptions,
    max: 1,
    connectionTimeoutMillis: SILENCE_MS,
    query_timeout: SILENCE_MS,
  });
  const run = runOn(pool, { canPrepare });
  const running = new Set<(reason: unknown) => void>();
  let replayed = -1;
  let state: 'unknown' | 'usable' | 'behind' | 'lost' = 'unknown';
  let looking: Promise<void> | undefined;

  function become(next: typeof state, reason?: unknown): void {
    if (next !== state && next !== 'usable') log.warn({ replica: host, err: reason }, `replica ${next}`);
    if (next !== state && next === 'usable') log.info({ replica: host }, 'replica usable');
    state = next;
  }

  const isLost = () => state === 'lost';

  /** What it was asked is asked elsewhere, and it may come back as another server. */
  function lose(reason: unknown): void {
    become('lost', reason);
    replayed = -1;
    for (const giveUp of running) giveUp(reason);
  }

  async function look(): Promise<void> {
    try {
      const { rows } = await watcher.query<{ position: number | null }>(REPLAYED);
      const position = rows[0]?.position ?? null;
      if (position === null) throw new Error('the server is not a standby');
      replayed = position;
    } catch (error) {
      lose(error);
    }
  }

  /** Whether it gets there in time. Those who wait share each look. */
  async function catchUp(position: number): Promise<boolean> {
    const deadline = performance.now() + PATIENCE_MS;
    while (replayed < position) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return false;
      looking ??= look().finally(() => (looking = undefined));
      await Promise.race([looking, delay(leftMs, undefined, { ref: false })]);
      if (isLost()) return false;
      if (replayed < position) await delay(PAUSE_MS);
    }
    return true;
  }

  return {
    name: host,
    isUsable: () => state === 'usable',
    hasReached: (position: number) => replayed >= position,
    async reach(position: number): Promise<boolean> {
      const isThere = await catchUp(position);
      if (!isThere && state === 'usable') become('behind');
      return isThere;
    },
    /** Whether it can be used, or used again; asks it in any case, so that one that has died is known to have. */
    async probe(position: number): Promise<void> {
      await (looking ??= look().finally(() => (looking = undefined)));
      // What was lost begins anew with what it says now.
      if (replayed < 0) return;
      if (isLost()) state = 'unknown';
      if (await catchUp(position)) become('usable');
      else if (!isLost()) become('behind');
    },
    run(...given: Parameters<Run>): ReturnType<Run> {
      return new Promise((resolve, reject) => {
        running.add(reject);
        run(...given)
          .then(resolve, (error: unknown) => {
            if (isDatabaseAway(error)) lose(error);
            reject(error);
          })
          .finally(() => running.delete(reject));
      });
    },
    async close(): Promise<void> {
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

/** PostgreSQL's query_canceled: it has taken too long, and would take as long on the primary. */
function isCancelled(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '57014';
}
