import { Migration } from '@mikro-orm/migrations';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../../src/core/postgres/connections.ts';
import { type Locks, MigrationError, applyMigration, migrate } from '../../../src/core/postgres/migrations.ts';
import { StepMigration } from '../../../src/core/postgres/step-migration.ts';
import { emptyDatabase, endProcesses } from '../../support/processes/process.ts';

/** Two tables, and migrations of them. Not of the gateway, whose statements name an organization. */
const TABLES = `create table "first_table" (id int primary key, note text); create table "second_table" (id int primary key, note text);
  insert into "first_table" select generate_series(1, 2500); insert into "second_table" select generate_series(1, 10)`;

class AddColumn extends Migration {
  override name = 'Migration29990101000000';
  override up(): void {
    this.addSql('alter table "second_table" add "added" text null');
    this.addSql('alter table "first_table" add "added" text null');
  }
}
const BOTH: Locks = { first_table: 'ACCESS EXCLUSIVE', second_table: 'ACCESS EXCLUSIVE' };

let database: Database;
let url: string;
const clients: pg.Client[] = [];
beforeEach(async () => {
  url = (await emptyDatabase()).DATABASE_URL;
  database = await openDatabase({ url, entities: [] });
  await query(TABLES);
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
  await database.close(true);
  await endProcesses();
});

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'a report' });
  await client.connect();
  clients.push(client);
  return client;
}
const query = (text: string) => database.em.fork().execute<Record<string, unknown>[]>(text);
const hasColumn = async (table: string) =>
  (await query(`select 1 from information_schema.columns where table_name = '${table}' and column_name = 'added'`))
    .length > 0;

/** Applies a migration without pauses. `waits` resolves with the line that says that it waits. */
function apply(migration: Migration, locks?: Locks) {
  const { promise: waits, resolve: note } = Promise.withResolvers<string>();
  return { done: applyMigration(database, migration, { locks, repetition: { note, pauseMs: 1 } }), waits };
}
const create = (Class: new (...parts: ConstructorParameters<typeof Migration>) => Migration) =>
  new Class(database.driver, database.config);

test('an open reader delays a migration, and the migration no request', async () => {
  const [reader, request] = [await connect(), await connect()];
  await reader.query('begin');
  await reader.query('select from first_table limit 1');
  const { done, waits } = apply(create(AddColumn), BOTH);
  expect(await waits).toMatch(
    /^Migration29990101000000 waits for a lock; the oldest transaction is that of process \d+ \(a report\), which began \d+ s ago; it is tried again$/,
  );
  // It would wait for the reader if the migration waited on.
  await request.query(`update first_table set note = 'written' where id = 1`);
  expect(await hasColumn('second_table')).toBe(false);
  await reader.query('commit');
  await done;
  expect([await hasColumn('first_table'), await hasColumn('second_table')]).toEqual([true, true]);
});

test('of a migration and a request that wait for each other, the migration gives way', async () => {
  const request = await connect();
  await request.query('begin');
  await request.query('select from second_table limit 1');
  const { done, waits } = apply(create(AddColumn), BOTH);
  const isLocked = () =>
    query(
      `select 1 from pg_locks where relation = 'first_table'::regclass and mode = 'AccessExclusiveLock' and granted`,
    );
  await expect.poll(isLocked, { interval: 1 }).toHaveLength(1);
  // PostgreSQL would end this statement with "deadlock detected".
  expect((await request.query('select count(*)::int as count from first_table')).rows).toEqual([{ count: 2500 }]);
  await waits;
  await request.query('commit');
  await done;
  expect(await hasColumn('first_table')).toBe(true);
});

test('one that fails changes nothing, and its error names it', async () => {
  class Failing extends AddColumn {
    override up(): void {
      super.up();
      this.addSql('select 1 / 0');
    }
  }
  const error = await apply(create(Failing), BOTH).done.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(MigrationError);
  expect(String(error)).toMatch(/^MigrationError: Migration29990101000000 failed: .*division by zero$/);
  expect(await hasColumn('second_table')).toBe(false);
});

test('each migration of the gateway is a transaction of its own, with the jobs at the end', async () => {
  await query('drop table "first_table", "second_table"');
  await migrate(database);
  const done = await query(
    'select count(*) = count(distinct xmin::text) as apart, count(*) > 50 as all from mikro_orm_migrations',
  );
  expect(done).toEqual([{ apart: true, all: true }]);
  expect(await query('select count(*)::int as unfinished from pgboss.bam')).toEqual([{ unfinished: 0 }]);
});

describe('a migration in steps', () => {
  /** The example of CONTRIBUTING.md. */
  class FillNotes extends StepMigration {
    override name = 'Migration29990101000001';
    override readonly locks = { first_table: 'SHARE UPDATE EXCLUSIVE' };
    override async up(): Promise<void> {
      await this.createIndex('first_note_index', 'on "first_table" ("note")');
      await this.fill();
    }
    protected async fill(): Promise<void> {
      await this.changeRows(`update "first_table" set "note" = 'none' where "id" in
        (select "id" from "first_table" where "note" is null order by "id" limit 1000 for update) returning 1`);
    }
  }
  const indexes = () =>
    query(`select indisvalid as valid from pg_index where indexrelid = 'first_note_index'::regclass`);

  test('changes rows in batches, each in its own transaction', async () => {
    await apply(create(FillNotes)).done;
    const batches = await query('select count(*)::int as rows from first_table group by xmin order by 1');
    expect(batches).toEqual([{ rows: 500 }, { rows: 1000 }, { rows: 1000 }]);
    expect(await query(`select name from mikro_orm_migrations`)).toEqual([{ name: 'Migration29990101000001' }]);
  });

  test('builds an index beside writers and an open reader, also after an interrupted attempt', async () => {
    const [reader, request] = [await connect(), await connect()];
    await reader.query('begin isolation level repeatable read');
    await reader.query('select from second_table');
    const interrupted = await connect();
    const attempt = interrupted.query('create index concurrently first_note_index on first_table (note)').catch(String);
    const building = `select pid from pg_stat_activity where query like 'create index conc%' and wait_event_type = 'Lock' and datname = current_database()`;
    await expect.poll(() => query(building), { interval: 10 }).toHaveLength(1);
    await query(`select pg_cancel_backend(pid) from (${building}) as found`);
    expect([await attempt, await indexes()]).toEqual([
      expect.stringContaining('canceling statement'),
      [{ valid: false }],
    ]);

    const { done } = apply(create(FillNotes));
    const dropping = building.replace('create index', 'drop index');
    await expect
      .poll(async () => [...(await query(building)), ...(await query(dropping))], { interval: 10 })
      .toHaveLength(1);
    await request.query(`update first_table set note = 'written' where id = 1`);
    await reader.query('commit');
    await done;
    expect(await indexes()).toEqual([{ valid: true }]);
    expect(await query('select note from first_table where id in (1, 2) order by id')).toEqual([
      { note: 'written' },
      { note: 'none' },
    ]);
  });

  test('runs again from its beginning when a row is locked for too long', async () => {
    const request = await connect();
    await request.query('begin');
    await request.query(`update first_table set note = 'locked' where id = 1500`);
    class OnlyRows extends FillNotes {
      override up = () => this.fill();
    }
    const { done, waits } = apply(create(OnlyRows));
    await waits;
    await request.query('commit');
    await done;
    expect(await query(`select note, count(*)::int from first_table group by 1 order by 1`)).toEqual([
      { note: 'locked', count: 1 },
      { note: 'none', count: 2499 },
    ]);
  });
});
