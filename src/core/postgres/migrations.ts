import { readdir } from 'node:fs/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import { migrateJobs } from '../jobs.ts';
import { type Database, MIGRATIONS } from './connections.ts';

/** Any constant will do, as long as every gateway takes the same: gateways that start together migrate one after the other. */
const MIGRATION_LOCK = 4_021_956_313;

export interface SchemaDifference {
  /** Migrations that this version has and the database has not run. */
  readonly pending: readonly string[];
  /** Migrations that the database has run and this version does not have: its schema is that of a newer version. */
  readonly unknown: readonly string[];
}

/** How the database's schema differs from the one that this version needs. */
export async function compareSchema(em: EntityManager): Promise<SchemaDifference> {
  const files = (await readdir(MIGRATIONS))
    .filter((file) => /^Migration\d+.*\.ts$/.test(file))
    .map((file) => file.replace(/\.ts$/, ''));
  const [{ exists } = { exists: false }] = await em.execute<{ exists: boolean }[]>(
    `select to_regclass('mikro_orm_migrations') is not null as exists`,
  );
  if (!exists) return { pending: files, unknown: [] };
  const done = await em.execute<{ name: string }[]>('select name from mikro_orm_migrations order by name');
  const names = new Set(done.map(({ name }) => name.replace(/\.ts$/, '')));
  return {
    pending: files.filter((file) => !names.has(file)),
    unknown: [...names].filter((name) => !files.includes(name)),
  };
}

/** Brings the schema up to this code, and that of the job queues. An up-to-date database costs some small statements. Safe to run in many processes at once. */
export async function migrate(database: Database): Promise<void> {
  if ((await compareSchema(database.em.fork())).pending.length > 0) await migrateTables(database);
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
