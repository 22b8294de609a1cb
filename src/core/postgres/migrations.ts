import { readdir } from 'node:fs/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import { migrateJobs } from '../jobs.ts';
import { type Database, MIGRATIONS } from './connections.ts';

/** Any constant that all gateways share: gateways that start together migrate one after another. */
const MIGRATION_LOCK = 4_021_956_313;

export interface SchemaDifference {
  /** Migrations of this version that have not run on the database. */
  readonly pending: readonly string[];
  /** Migrations that have run on the database and are unknown to this version: the schema is newer. */
  readonly unknown: readonly string[];
}

/** Compares the schema of the database with the one that this version needs. */
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

/** Migrates the schema and the job queues. If nothing is to do, it costs a few small statements. Safe to run in many processes at once. */
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
