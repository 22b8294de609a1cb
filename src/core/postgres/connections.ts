import { fileURLToPath } from 'node:url';
import { type EntityClass, MikroORM, UnderscoreNamingStrategy } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import type { Pool, PoolClient } from 'pg';
import { followQueries, makePromises } from './client-queries.ts';
import { cut, watchLiveness } from './liveness-check.ts';
import { WIRE_TYPES } from './wire-types.ts';

export type Database = MikroORM;

/** The folder of the migrations. */
export const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url));

const MIGRATION_OPTIONS = {
  path: MIGRATIONS,
  snapshotName: '.snapshot',
  // Only `npm run migration:create` writes the snapshot: a gateway that migrates leaves its own checkout alone.
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
  /** Whether `url` leads to a pooler that gives each transaction another connection: then nothing may depend on a session. */
  readonly isPooled?: boolean;
  /** The database without that pooler. */
  readonly directUrl?: string | undefined;
  readonly poolMax?: number;
  readonly waitMs?: number | undefined;
  /** Sees every pool before its first connection. */
  readonly onPool?: ((pool: Pool) => void) | undefined;
}

/** Connects lazily: no statement is sent before the first one is asked for. Nothing but the given URL is dialled. */
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
    // A database that is missing is the operator's to make; and nothing is dialled only to look for it.
    ensureDatabase: false,
    // Every request works on its own fork; the global manager is for start and stop alone.
    allowGlobalContext: false,
    forceUtcTimezone: true,
    pool: { min: 0, max: poolMax, idleTimeoutMillis: 30_000 },
    driverOptions: {
      // With its parameters, such as `sslmode`.
      connectionString: url,
      connectionTimeoutMillis: waitMs,
      application_name: 'gateway',
      types: WIRE_TYPES,
      // With a connection end the statements prepared on it, among them those of texts that do not come any more.
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
 * Settings of a session. Times are read fastest in UTC; and a waiting statement or a forgotten transaction must end by itself, or the locks of a
 * dead client would stay.
 */
const SESSION = `set time zone 'UTC'; set statement_timeout = ${STATEMENT_MS}; set idle_in_transaction_session_timeout = ${STATEMENT_MS}`;

/** Makes the settings by a statement ahead of all others: as startup parameters, some proxies and poolers would refuse them. */
async function setUpSession(client: PoolClient, waitMs: number): Promise<void> {
  const timer = setTimeout(() => cut(client), waitMs);
  await client.query(SESSION).finally(() => clearTimeout(timer));
}

/**
 * Behind a pooler there is no session to set a timeout for, so the client gives a statement up: it closes the connection, and the pooler
 * then closes its own, which rolls back.
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
 * Under synchronous replication a commit waits for a standby. When a timeout ends that wait, PostgreSQL answers with success and a warning,
 * which the driver does not look at; but what no standby has is not to be acknowledged.
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
