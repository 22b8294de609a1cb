import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type EntityClass, type EntityManager, MikroORM, UnderscoreNamingStrategy } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import type { Pool, PoolClient } from 'pg';
import { migrateJobs } from '../jobs.ts';
import { WIRE_TYPES } from './wire-types.ts';
import { watchPulse } from './liveness-check.ts';

export type Database = MikroORM;

const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url));
/** Any constant will do, as long as every gateway takes the same: gateways that start together migrate one after the other. */
const MIGRATION_LOCK = 4_021_956_313;
/** So long a request waits for one of the pool's connections, or for a new one, or for a database that is silent, before it is answered 503. */
export const CONNECTION_WAIT_MS = 5_000;

export interface DatabaseOptions {
  readonly url: string;
  readonly entities: EntityClass<object>[];
  readonly poolMax?: number;
  readonly waitMs?: number | undefined;
  /** Sees every pool before its first connection. */
  readonly onPool?: ((pool: Pool) => void) | undefined;
}

/** Connects lazily: no statement is sent before the first one is asked for. Nothing but the given URL is dialled. */
export async function openDatabase({
  url,
  entities,
  poolMax = 20,
  waitMs = CONNECTION_WAIT_MS,
  onPool,
}: DatabaseOptions): Promise<Database> {
  const database = await MikroORM.init({
    clientUrl: url,
    entities,
    extensions: [Migrator],
    namingStrategy: UnderscoreNamingStrategy,
    // A database that is missing is the operator's to make; and nothing is dialled only to look for it.
    ensureDatabase: false,
    // Every request works on its own fork; the global manager is for start and stop alone.
    allowGlobalContext: false,
    forceUtcTimezone: true,
    // A waiting statement or a forgotten transaction must end by itself, or a dead peer would hold its locks for ever.
    pool: { min: 0, max: poolMax, idleTimeoutMillis: 30_000 },
    driverOptions: {
      // With its parameters, such as `sslmode`.
      connectionString: url,
      // Rows go out with the times as PostgreSQL writes them.
      options: '-c TimeZone=UTC',
      connectionTimeoutMillis: waitMs,
      statement_timeout: 30_000,
      idle_in_transaction_session_timeout: 30_000,
      application_name: 'gateway',
      types: WIRE_TYPES,
      // With a connection end the statements prepared on it, among them those of texts that do not come any more.
      maxLifetimeSeconds: 600,
      onPoolCreated: (pool: Pool) => {
        pool.on('connect', giveBackAlways);
        watchPulse(pool, waitMs);
        onPool?.(pool);
      },
    },
    // Only `npm run migration:create` writes the snapshot: a gateway that migrates leaves its own checkout alone.
    migrations: {
      path: MIGRATIONS,
      snapshotName: '.snapshot',
      snapshotOnMigrate: false,
      emit: 'ts',
      disableForeignKeys: false,
      silent: true,
    },
  });
  Object.assign(database.em.getPlatform(), { marshallArray });
  return database;
}

/**
 * A list as an array literal, every element in quotation marks. The mapper's own leaves most of them bare, where PostgreSQL drops spaces
 * around text, takes NULL for null, and refuses text of nothing but spaces.
 */
function marshallArray(values: readonly unknown[]): string {
  return `{${values.map((value) => `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

/**
 * The query builder never gives a connection back whose `begin` or `rollback` has failed, and each such loss would leave the pool one smaller.
 * So one that could not begin is given back here. And a rollback always succeeds: a connection that is lost has rolled back, and the pool
 * throws the ended connection away.
 */
function giveBackAlways(client: PoolClient): void {
  const query: (...given: unknown[]) => unknown = client.query.bind(client);
  const endQuietly = async () => {
    client.end().catch(() => undefined);
    return { command: 'ROLLBACK', rowCount: null, rows: [] };
  };
  const giveBack = (error: unknown) => {
    client.release(error instanceof Error ? error : true);
    throw error;
  };
  Object.assign(client, {
    query: (...given: unknown[]) => {
      const result = query(...given);
      if (!(result instanceof Promise) || typeof given[0] !== 'string') return result;
      if (given[0] === 'rollback') return result.catch(endQuietly);
      return /^(?:begin|start transaction)\b/.test(given[0]) ? result.catch(giveBack) : result;
    },
  });
}

/** Names of migrations that this code brings and the database lacks. */
export async function pendingMigrations(em: EntityManager): Promise<string[]> {
  const files = (await readdir(MIGRATIONS))
    .filter((file) => /^Migration\d+.*\.ts$/.test(file))
    .map((file) => file.replace(/\.ts$/, ''));
  const [{ exists } = { exists: false }] = await em.execute<{ exists: boolean }[]>(
    `select to_regclass('mikro_orm_migrations') is not null as exists`,
  );
  if (!exists) return files;
  const done = await em.execute<{ name: string }[]>('select name from mikro_orm_migrations');
  const names = new Set(done.map(({ name }) => name.replace(/\.ts$/, '')));
  return files.filter((file) => !names.has(file));
}

/** Brings the schema up to this code, and that of the job queues. An up-to-date database costs some small statements. Safe to run in many processes at once. */
export async function migrate(database: Database): Promise<void> {
  if ((await pendingMigrations(database.em.fork())).length > 0) await migrateTables(database);
  await migrateJobs(await database.driver.getConnection().getNativeClient());
}

async function migrateTables(database: Database): Promise<void> {
  await database.em.fork().transactional(async (lock) => {
    await lock.execute(`set local idle_in_transaction_session_timeout = 0`);
    await lock.execute(`set local statement_timeout = 0`);
    await lock.execute('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
    await database.migrator.up();
  });
}
