import { fileURLToPath } from 'node:url';
import { type EntityClass, MikroORM, UnderscoreNamingStrategy } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import type { Pool } from 'pg';
import { PROCESS_NAME } from '../version.ts';
import { type ClientOptions, DatabaseClient } from './driver/client.ts';
import { DatabaseAddress } from './driver/database-address.ts';
import { WIRE_TYPES } from './driver/wire-types.ts';
import { DatabaseHealth } from './health/database-health.ts';

export type Database = MikroORM;

export const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url));

const MIGRATION_OPTIONS = {
  path: MIGRATIONS,
  snapshotName: '.snapshot',
  // Only `npm run migration:create` writes the snapshot; a gateway does not change its files.
  snapshotOnMigrate: false,
  emit: 'ts',
  disableForeignKeys: false,
  // Each in a transaction, or in none (step-migration.ts).
  allOrNothing: false,
  silent: true,
} as const;

/** Maximum time a request waits for a database connection, or for a database that does not answer, before it gets a 503. */
export const CONNECTION_WAIT_MS = 5_000;

export interface DatabaseOptions {
  readonly url: string;
  readonly entities: EntityClass<object>[];
  /** Whether `url` is a pooler that uses another server connection for each transaction, so that nothing may depend on a session. */
  readonly isPooled?: boolean;
  readonly poolMax?: number | undefined;
  readonly waitMs?: number | undefined;
  /** Settings of each connection, in SQL; not behind a pooler. */
  readonly session?: string;
  readonly health?: DatabaseHealth;
}

/** Connects lazily, with the first statement, and only to the given URL. */
export async function openDatabase({
  url,
  entities,
  isPooled = false,
  poolMax = 20,
  waitMs = CONNECTION_WAIT_MS,
  session = '',
  health = new DatabaseHealth({ waitMs }),
}: DatabaseOptions): Promise<Database> {
  const address = new DatabaseAddress(url);
  const client: ClientOptions = {
    // Including the parameters of the URL, such as `sslmode`.
    address: () => address,
    refusal: health.refusal,
    // Behind a pooler, a session cannot have settings.
    ...(isPooled ? { statementMs: STATEMENT_MS } : { session: `${SESSION}; ${session}` }),
  };
  const database = await MikroORM.init({
    clientUrl: url,
    entities,
    // The migrator needs none.
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    namingStrategy: UnderscoreNamingStrategy,
    // The operator creates the database. This also avoids a connection that only checks whether it exists.
    ensureDatabase: false,
    // Every request uses its own fork; the global manager is only for start and stop.
    allowGlobalContext: false,
    forceUtcTimezone: true,
    pool: { min: 0, max: poolMax, idleTimeoutMillis: 30_000 },
    driverOptions: {
      connectionTimeoutMillis: waitMs,
      application_name: PROCESS_NAME,
      types: WIRE_TYPES,
      Client: DatabaseClient,
      ...client,
      // Closing a connection also frees its prepared statements, including those that are no longer used.
      maxLifetimeSeconds: 600,
      onPoolCreated: (pool: Pool) => health.watch(pool),
    },
    migrations: MIGRATION_OPTIONS,
  });
  Object.assign(database.em.getPlatform(), { marshallArray });
  return database;
}

const STATEMENT_MS = 30_000;

/**
 * Session settings. Times in UTC are parsed fastest; the driver reads them in ISO, and writes texts with backslashes as they are. With another isolation level, a change would not see that its
 * caller lost a right while it waited. The timeouts end waiting statements and idle transactions, which would otherwise
 * keep the locks of a dead client.
 */
const SESSION = `set time zone 'UTC'; set datestyle = 'ISO, MDY'; set standard_conforming_strings = on; set default_transaction_isolation = 'read committed'; set statement_timeout = ${STATEMENT_MS};
  set idle_in_transaction_session_timeout = ${STATEMENT_MS}`;

/**
 * Serializes a list as an array literal with quoted elements. The mapper leaves most of them unquoted: PostgreSQL then
 * trims text, reads NULL as null, and refuses blank text.
 */
const marshallArray = (values: readonly unknown[]): string =>
  `{${values.map((value) => `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
