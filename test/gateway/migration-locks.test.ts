import { afterEach, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/core/postgres/connections.ts';
import { type Locks, compareSchema, loadMigration, runMigration } from '../../src/core/postgres/migrations.ts';
import { emptyDatabase, endProcesses } from '../support/processes/process.ts';

afterEach(endProcesses);

/** From the weakest to the strongest (PostgreSQL, "Table-Level Locks"). */
const MODES = [
  'AccessShare',
  'RowShare',
  'RowExclusive',
  'ShareUpdateExclusive',
  'Share',
  'ShareRowExclusive',
  'Exclusive',
  'AccessExclusive',
];

/** A partition counts as its table. */
const TABLES = `select oid::int, coalesce(pg_partition_root(oid), oid)::regclass::text as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname <> 'mikro_orm_migrations'`;
const LOCKED = `select relation::int as oid, mode from pg_locks where pid = pg_backend_pid() and locktype = 'relation'`;

/** Runs a migration and returns the strongest lock that it took on each table that was there before. */
function measure(database: Database, name: string): Promise<Locks> {
  return database.em.fork().transactional(async (em) => {
    const tables = await em.execute<{ oid: number; name: string }[]>(TABLES);
    const nameOf = new Map(tables.map((table) => [table.oid, table.name]));
    await runMigration(database, await loadMigration(database, name), em);
    const strongest: Record<string, number> = {};
    for (const { oid, mode } of await em.execute<{ oid: number; mode: string }[]>(LOCKED)) {
      const table = nameOf.get(oid);
      if (table) strongest[table] = Math.max(strongest[table] ?? 0, MODES.indexOf(mode.replace(/Lock$/, '')));
    }
    const byName = Object.entries(strongest).toSorted(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(byName.map(([table, mode]) => [table, lockOf(mode)]));
  });
}

/** The mode for `lock table`. Rows are changed while nobody else changes or locks some, since two that do can wait for each other. */
function lockOf(mode: number): string {
  const name = MODES[mode] === 'RowExclusive' ? 'Exclusive' : MODES[mode];
  return (name ?? '').replaceAll(/(?<=[a-z])[A-Z]/g, ' $&').toUpperCase();
}

test('migrations/locks.json has the locks of each migration; if not, run: npx vitest run test/gateway/migration-locks.test.ts -u', async () => {
  const database = await openDatabase({ url: (await emptyDatabase()).DATABASE_URL, entities: [] });
  try {
    const locks: Record<string, Locks> = {};
    for (const name of (await compareSchema(database.em.fork())).pending) {
      if ((await loadMigration(database, name)).isTransactional()) locks[name] = await measure(database, name);
      else await runMigration(database, await loadMigration(database, name), database.em.fork());
    }
    // Formatted like all files.
    await expect(`${JSON.stringify(locks, null, 2)}\n`).toMatchFileSnapshot('../../migrations/locks.json');
  } finally {
    await database.close(true);
  }
});
