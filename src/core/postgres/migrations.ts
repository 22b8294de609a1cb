import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Migration } from '@mikro-orm/migrations';
import type { Pool } from 'pg';
import { areJobsPending, migrateJobs } from '../job-migrations.ts';
import { type Database, MIGRATIONS, openDatabase } from './connections.ts';
import { finishUpgrade } from './finished-version.ts';
import { type Repetition, LOCK_TIMEOUT_MS, repeatWhenLocked, takeTurn } from './migration-locks.ts';
import { StepMigration } from './step-migration.ts';

export interface SchemaDifference {
  /** Migrations of this version that have not run on the database. */
  readonly pending: readonly string[];
  /** Migrations that have run on the database and are unknown to this version: the schema is newer. */
  readonly unknown: readonly string[];
  /** Whether no migration has ever run. */
  readonly isNew: boolean;
}

/** Compares the schema of the database with the one that this version needs. */
export async function compareSchema(em: EntityManager): Promise<SchemaDifference> {
  const files = (await readdir(MIGRATIONS))
    .filter((file) => /^Migration\d+.*\.ts$/.test(file))
    .map((file) => file.replace(/\.ts$/, ''))
    .toSorted();
  const [{ exists } = { exists: false }] = await em.execute<{ exists: boolean }[]>(
    `select to_regclass('mikro_orm_migrations') is not null as exists`,
  );
  if (!exists) return { pending: files, unknown: [], isNew: true };
  const done = await em.execute<{ name: string }[]>('select name from mikro_orm_migrations order by name');
  const names = new Set(done.map(({ name }) => name.replace(/\.ts$/, '')));
  return {
    pending: files.filter((file) => !names.has(file)),
    unknown: [...names].filter((name) => !files.includes(name)),
    isNew: names.size === 0,
  };
}

/** The tables that a migration locks, by name, each with the strongest mode. Tables that it creates are not among them. */
export type Locks = Readonly<Record<string, string>>;

/** Locks of the migrations in one transaction, as they are measured: `test/gateway/migration-locks.test.ts` writes the file. */
const measuredLocks = async (): Promise<Readonly<Record<string, Locks>>> =>
  JSON.parse(await readFile(join(MIGRATIONS, 'locks.json'), 'utf8')) as Record<string, Locks>;

export interface PlannedLock {
  readonly migration: string;
  /** Null if the migration locks no table that exists. */
  readonly table: string | null;
  readonly lock: string | null;
}

/** What {@link migrate} would do: each pending migration with its tables and the mode of their locks. Changes nothing. */
export async function planMigrations(database: Database): Promise<readonly PlannedLock[]> {
  const { pending } = await compareSchema(database.em.fork());
  const measured = await measuredLocks();
  const planned: PlannedLock[] = [];
  for (const name of pending) {
    const locks = Object.entries(locksOf(await loadMigration(database, name), measured[name]));
    if (locks.length === 0) planned.push({ migration: name, table: null, lock: null });
    for (const [table, lock] of locks) planned.push({ migration: name, table, lock });
  }
  if (await areJobsPending(await poolOf(database)))
    planned.push({ migration: 'pg-boss', table: 'pgboss.*', lock: 'ACCESS EXCLUSIVE' });
  return planned;
}

/**
 * Migrates the schema and the job queues, while gateways of this and of the previous version serve requests. If nothing is to do, it costs
 * a few small statements. Safe to run in many processes at once, and to kill at any time.
 */
export async function migrate(database: Database, repetition: Repetition = {}): Promise<void> {
  const isDone = async () =>
    (await compareSchema(database.em.fork())).pending.length === 0 && !(await areJobsPending(await poolOf(database)));
  if (await isDone()) return;
  const { clientUrl: url = '' } = database.config.getAll();
  const migrator = await openDatabase({ url, entities: [], session: SESSION });
  const pool = await poolOf(migrator);
  try {
    const turn = await takeTurn(pool, repetition);
    try {
      const measured = await measuredLocks();
      const { pending, isNew } = await compareSchema(migrator.em.fork());
      for (const name of pending)
        await applyMigration(migrator, await loadMigration(migrator, name), { locks: measured[name], repetition });
      // No earlier version has ever used the database.
      if (isNew) await finishUpgrade(migrator.em.fork(), new Date());
      if (await areJobsPending(pool)) await migrateJobs(pool, repetition);
    } finally {
      turn.end();
    }
  } finally {
    await migrator.close(true);
  }
}

/** A statement of a migration may take as long as it needs. When the migrator is killed, the server ends its statement and releases its locks. */
const SESSION = `set statement_timeout = 0; set idle_in_transaction_session_timeout = 0;
  do $$ begin set client_connection_check_interval = '1s'; exception when others then null; end $$`;

interface Application {
  readonly locks?: Locks | undefined;
  readonly repetition: Repetition;
}

/** Applies one migration, again and again while others hold its locks. */
export async function applyMigration(
  migrator: Database,
  migration: Migration,
  { locks, repetition }: Application,
): Promise<void> {
  const { name = migration.constructor.name } = migration;
  const attempt = migration.isTransactional()
    ? () =>
        migrator.em.fork().transactional(async (em) => {
          await lockTables(em, locksOf(migration, locks));
          await runMigration(migrator, migration, em);
        })
    : () => runMigration(migrator, migration, migrator.em.fork());
  try {
    await repeatWhenLocked(await poolOf(migrator), name, attempt, repetition);
  } catch (cause) {
    throw new MigrationError(name, { cause });
  }
}

/** A migration has failed for another reason than a lock. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
  readonly migration: string;

  constructor(migration: string, { cause }: { readonly cause: unknown }) {
    super(`${migration} failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.migration = migration;
  }
}

/** Runs the statements of a migration, and notes that it has run. */
export async function runMigration(migrator: Database, migration: Migration, em: EntityManager): Promise<void> {
  const name = migration.name ?? migration.constructor.name;
  migration.reset();
  const transaction = em.getTransactionContext();
  if (transaction) migration.setTransactionContext(transaction);
  await migration.up();
  for (const query of migration.getQueries()) await em.execute(query);
  await migrator.migrator.getStorage().logMigration({ name }, transaction);
}

/**
 * Who waits for this transaction waits for at most this time until it has all locks or gives up. Less than `deadlock_timeout`, so that of two
 * transactions that wait for each other PostgreSQL never ends the one of a request.
 */
const ALL_LOCKS_MS = 900;

/** Takes the locks of a migration in the order of the tables' names, before its first statement. */
async function lockTables(em: EntityManager, locks: Locks): Promise<void> {
  const end = performance.now() + ALL_LOCKS_MS;
  for (const [table, mode] of Object.entries(locks).toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    await em.execute(`set local lock_timeout = ${Math.max(1, Math.floor(end - performance.now()))}`);
    await em.execute(`lock table "${table}" in ${mode} mode`);
  }
  await em.execute(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
}

const locksOf = (migration: Migration, measured: Locks = {}): Locks =>
  migration instanceof StepMigration ? migration.locks : measured;

export async function loadMigration({ driver, config }: Database, name: string): Promise<Migration> {
  const module: Record<string, new (...parts: [typeof driver, typeof config]) => Migration> = await import(
    pathToFileURL(join(MIGRATIONS, `${name}.ts`)).href
  );
  const [Class] = Object.values(module);
  if (!Class) throw new Error(`${name} exports no migration`);
  const migration = new Class(driver, config);
  migration.name ??= name;
  return migration;
}

const poolOf = ({ driver }: Database): Promise<Pool> => driver.getConnection().getNativeClient();
