import { fileURLToPath } from 'node:url';
import { type EntityClass, MikroORM, UnderscoreNamingStrategy } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import type { Pool, PoolClient } from 'pg';
import { followQueries, makePromises } from './driver/client-queries.ts';
import { cut, watchLiveness } from './health/liveness-check.ts';
import { RowClient } from './driver/row-client.ts';
import { WIRE_TYPES } from './driver/wire-types.ts';

export type Database = MikroORM;

/** The folder of the migrations. */
export const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url));

const MIGRATION_OPTIONS = {
  path: MIGRATIONS,
  snapshotName: '.snapshot',
  // Only `npm run migration:create` writes the snapshot; a gateway does not change its files.
  snapshotOnMigrate: false,
  emit: 'ts',
  disableForeignKeys: false,
  silent: true,
} as const;

/** Maximum time a request waits for a database connection, or for a database that does not answer, before it gets a 503. */
export const CONNECTION_WAIT_MS = 5_000;

export interface DatabaseOptions {
  readonly url: string;
  readonly entities: EntityClass<object>[];
  /** Whether `url` is a pooler that uses another server connection for each transaction, so that nothing may depend on a session. */
  readonly isPooled?: boolean;
  /** The database without the pooler. */
  readonly directUrl?: string | undefined;
  readonly poolMax?: number;
  readonly waitMs?: number | undefined;
  /** Called with every pool before its first connection. */
  readonly onPool?: ((pool: Pool) => void) | undefined;
}

/** Connects lazily, with the first statement, and only to the given URL. */
export async function openDatabase({
  url,
  entities,
  isPooled = false,
  directUrl,
  poolMax = 20,
  waitMs = CONNECTION_WAIT_MS,
  onPool,
}: DatabaseOptions): Promise<Database> {
  const database = await MikroORM.init({
    clientUrl: url,
    entities,
    extensions: [Migrator],
    namingStrategy: UnderscoreNamingStrategy,
    // The operator creates the database. This also avoids a connection that only checks whether it exists.
    ensureDatabase: false,
    // Every request uses its own fork; the global manager is only for start and stop.
    allowGlobalContext: false,
    forceUtcTimezone: true,
    pool: { min: 0, max: poolMax, idleTimeoutMillis: 30_000 },
    driverOptions: {
      // Including its parameters, such as `sslmode`.
      connectionString: url,
      connectionTimeoutMillis: waitMs,
      application_name: 'gateway',
      types: WIRE_TYPES,
      Client: RowClient,
      // Closing a connection also frees its prepared statements, including those that are no longer used.
      maxLifetimeSeconds: 600,
      ...(!isPooled && { onConnect: (client: PoolClient) => setUpSession(client, waitMs) }),
      onPoolCreated: (pool: Pool) => {
        setUpPool(pool, isPooled);
        watchLiveness(pool, waitMs, isPooled ? directUrl : undefined);
        onPool?.(pool);
      },
    },
    migrations: MIGRATION_OPTIONS,
  });
  Object.assign(database.em.getPlatform(), { marshallArray });
  return database;
}

function setUpPool(pool: Pool, isPooled: boolean): void {
  pool.on('connect', makePromises);
  if (isPooled) pool.on('connect', boundStatements);
  pool.on('connect', refuseUnconfirmed);
  pool.on('connect', giveBackAlways);
}

const STATEMENT_MS = 30_000;

/**
 * Session settings. Times in UTC are parsed fastest. With another isolation level, a change would not see that its caller lost a right while it
 * waited. The timeouts end waiting statements and idle transactions, which would otherwise keep the locks of a dead client.
 */
const SESSION = `set time zone 'UTC'; set default_transaction_isolation = 'read committed'; set statement_timeout = ${STATEMENT_MS};
  set idle_in_transaction_session_timeout = ${STATEMENT_MS}`;

/** Sends the settings as the first statement: some proxies and poolers refuse them as startup parameters. */
async function setUpSession(client: PoolClient, waitMs: number): Promise<void> {
  const timer = setTimeout(() => cut(client), waitMs);
  await client.query(SESSION).finally(() => clearTimeout(timer));
}

/**
 * Behind a pooler a session cannot have a timeout. The client therefore closes the connection of a statement that takes too long; the pooler
 * then closes its server connection, which rolls back.
 */
function boundStatements(client: PoolClient): void {
  followQueries(client, (result) => {
    const timer = setTimeout(() => cut(client), STATEMENT_MS);
    return result.finally(() => clearTimeout(timer));
  });
}

/** A transaction that no standby has confirmed; SQLSTATE 08007, transaction resolution unknown. */
class UnconfirmedCommitError extends Error {
  override readonly name = 'UnconfirmedCommitError';
  readonly code = '08007';

  constructor() {
    super('the wait for a synchronous standby was canceled; the transaction may be lost with the primary');
  }
}

/**
 * Under synchronous replication a commit waits for a standby. If a timeout ends that wait, PostgreSQL reports success with a warning, which
 * the driver ignores. Such a commit must not be acknowledged.
 */
function refuseUnconfirmed(client: PoolClient): void {
  let isUnconfirmed = false;
  client.on('notice', ({ routine }) => {
    if (routine === 'SyncRepWaitForLSN') isUnconfirmed = true;
  });
  const confirmed = <Result>(result: Result): Result => {
    if (!isUnconfirmed) return result;
    isUnconfirmed = false;
    throw new UnconfirmedCommitError();
  };
  followQueries(client, (result) => result.then(confirmed));
}

/**
 * Serializes a list as an array literal with quoted elements. The mapper leaves most of them unquoted: PostgreSQL then trims text, reads NULL
 * as null, and refuses blank text.
 */
function marshallArray(values: readonly unknown[]): string {
  return `{${values.map((value) => `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

/**
 * The query builder never releases a connection whose `begin` or `rollback` has failed, which would shrink the pool. This releases it if
 * `begin` fails, and lets `rollback` always succeed: a lost connection has been rolled back, and the pool discards it.
 */
function giveBackAlways(client: PoolClient): void {
  const endQuietly = async () => {
    client.end().catch(() => undefined);
    return { command: 'ROLLBACK', rowCount: null, rows: [] };
  };
  const giveBack = (error: unknown) => {
    client.release(error instanceof Error ? error : true);
    throw error;
  };
  followQueries(client, (result, query) => {
    if (query === 'rollback') return result.catch(endQuietly);
    return typeof query === 'string' && /^(?:begin|start transaction)\b/.test(query) ? result.catch(giveBack) : result;
  });
}
