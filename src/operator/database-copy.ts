import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { postgresUrl } from '../core/config.ts';
import { type Database, openDatabase } from '../core/postgres/connections.ts';
import { DatabaseClient } from '../core/postgres/driver/client.ts';
import { copyRows } from '../core/postgres/driver/copy-rows.ts';
import { DatabaseAddress } from '../core/postgres/driver/database-address.ts';
import { migrate } from '../core/postgres/migrations.ts';
import { checkServer } from '../core/postgres/server-check.ts';
import { PROCESS_NAME } from '../core/version.ts';
import type { Dependencies } from '../gateway/dependencies.ts';
import { entities } from '../gateway/modules.ts';
import { databaseFault } from '../gateway/prepare-database.ts';
import { UsageError } from './command-arguments.ts';
import { type ProgressStream, createProgress } from './progress.ts';

/**
 * Copies the data of the gateway to another database, such as those of a trial to the PostgreSQL of a company. The rows are those of one
 * snapshot, and all of them arrive in one transaction: after an interruption the target has none, and the copy begins again.
 */

const SESSION = `set time zone 'UTC'; set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set client_min_messages = warning;
  do $$ begin set client_connection_check_interval = '1s'; exception when others then null; end $$`;

/** Written by the migrations of an empty database. */
const MIGRATED = new Set(['public.mikro_orm_migrations', 'public.finished_version']);
/** A comment of this table says how far a copy has come. */
const MARKED = 'mikro_orm_migrations';
const LOCK = 7_226_043;

const TABLES = `select n.nspname || '.' || c.relname as name, format('%I.%I', n.nspname, c.relname) as quoted,
    (select string_agg(format('%I', a.attname), ', ' order by a.attname) from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relispartition and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'e')
  order by 1`;

const FOREIGN_KEYS = `select c.conrelid::regclass::text as "table", format('%I', c.conname) as name, pg_get_constraintdef(c.oid) as definition
  from pg_constraint c join pg_namespace n on n.oid = c.connamespace
  where c.contype = 'f' and c.conparentid = 0 and n.nspname !~ '^pg_' order by 1, 2`;

const SEQUENCES = `select format('%I.%I', schemaname, sequencename) as name, last_value as "lastValue" from pg_sequences where last_value is not null`;

const CONNECTED = `select application_name as name from pg_stat_activity where datname = current_database()`;
/** Commands connect like gateways, but neither run jobs nor listen. */
const IS_SERVING = /^gateway.* (?:jobs|listener)$/;

const IDENTITY = `select pg_postmaster_start_time() || ' ' || oid as identity from pg_database where datname = current_database()`;

interface Table {
  readonly name: string;
  readonly quoted: string;
  readonly columns: string;
}

interface CountedTable extends Table {
  readonly rows: number;
}

/** @throws UsageError if the target has other data, or is used; ConfigurationError if its server cannot be used. */
export async function copyDatabase(
  { databaseUrl, config }: Pick<Dependencies, 'databaseUrl' | 'config'>,
  to: string,
  { progress }: { readonly progress: ProgressStream },
): Promise<object> {
  const source = await connect(config.DATABASE_DIRECT_URL ?? databaseUrl);
  let target: DatabaseClient | undefined;
  try {
    await prepareTarget(to, { source, progress });
    target = await connect(to);
    if (await isConnected(source, IS_SERVING))
      progress.write(
        'A gateway uses the source. What it writes from now on is not copied; stop it first if that must not be lost.\n',
      );
    await rowsOf(source, 'begin isolation level repeatable read read only');
    const tables = await countedTables(source);
    const total = tables.reduce((sum, { rows }) => sum + rows, 0);
    await rowsOf(target, 'begin');
    await copyAll(source, target, { tables, total, progress });
    await rowsOf(target, 'commit');
    await rowsOf(target, 'analyze');
    return {
      tables: tables.length,
      rows: total,
      next: `start the gateway with DATABASE_URL set to this database, and ENCRYPTION_KEYS to ${
        config.ENCRYPTION_KEYS ? 'its present value' : `the line in ${join(config.DATA_DIR, 'encryption-keys')}`
      }`,
    };
  } finally {
    // What was not committed is rolled back.
    source.cut();
    target?.cut();
  }
}

/** Migrates an empty target. */
async function prepareTarget(
  url: string,
  { source, progress }: { readonly source: DatabaseClient; readonly progress: ProgressStream },
): Promise<void> {
  const database = await openTarget(url);
  try {
    const client = await connect(url);
    try {
      const [[one], [other]] = [await rowsOf<object>(source, IDENTITY), await rowsOf<object>(client, IDENTITY)];
      if (isDeepStrictEqual(one, other)) throw new UsageError('--to: this is the database that the command reads');
      if (await isConnected(client, /^gateway/)) throw new UsageError('--to: a gateway is connected to this database');
      await requireFree(client, progress);
    } finally {
      client.cut();
    }
    await checkServer(database.em.fork(), '--to');
    await migrate(database, { note: (line) => progress.write(`${line}\n`) });
    await database.em.fork().execute(`comment on table "${MARKED}" is 'database copy: begun'`);
  } catch (cause) {
    throw databaseFault(cause, '--to');
  } finally {
    await database.close(true);
  }
}

async function openTarget(url: string): Promise<Database> {
  const [fault] = postgresUrl.safeParse(url).error?.issues ?? [];
  if (fault) throw new UsageError(`--to: ${fault.message}`);
  try {
    return await openDatabase({ url, entities });
  } catch (cause) {
    throw new UsageError(`--to: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** @throws UsageError unless the target is empty, or an earlier copy to it was interrupted. */
async function requireFree(target: DatabaseClient, progress: ProgressStream): Promise<void> {
  const [{ mark } = { mark: null }] = await rowsOf<{ mark: string | null }>(
    target,
    `select obj_description(to_regclass('${MARKED}')) as mark`,
  );
  if (mark?.startsWith('database copy: completed'))
    throw new UsageError(`--to: the data were copied to this database before (${mark}); start the gateway with it`);
  if (mark !== null) progress.write('An earlier copy to this database was interrupted. It begins again.\n');
  const tables = await rowsOf<Table>(target, TABLES);
  if (tables.length === 0) return;
  const isOurs = tables.some(({ name }) => name === `public.${MARKED}`);
  for (const { name, quoted } of tables) {
    if (isOurs && (MIGRATED.has(name) || name.startsWith('pgboss.'))) continue;
    const [{ exists } = { exists: true }] = isOurs
      ? await rowsOf<{ exists: boolean }>(target, `select exists(select from ${quoted}) as exists`)
      : [];
    if (exists) throw new UsageError(`--to: the database is not empty: it has the table ${name}; create another one`);
  }
}

const isConnected = async (client: DatabaseClient, pattern: RegExp): Promise<boolean> =>
  (await rowsOf<{ name: string }>(client, CONNECTED)).some(({ name }) => pattern.test(name));

async function countedTables(source: DatabaseClient): Promise<CountedTable[]> {
  const counted: CountedTable[] = [];
  for (const table of await rowsOf<Table>(source, TABLES))
    counted.push({ ...table, rows: await countRows(source, table) });
  return counted;
}

async function countRows(client: DatabaseClient, { quoted }: Table): Promise<number> {
  const [row] = await rowsOf<{ count: string }>(client, `select count(*) from ${quoted}`);
  return Number(row?.count);
}

/** Copies all rows within the transactions of both connections. */
async function copyAll(
  source: DatabaseClient,
  target: DatabaseClient,
  {
    tables,
    total,
    progress,
  }: { readonly tables: readonly CountedTable[]; readonly total: number; readonly progress: ProgressStream },
): Promise<void> {
  const [lock] = await rowsOf<{ isFree: boolean }>(target, `select pg_try_advisory_xact_lock(${LOCK}) as "isFree"`);
  if (!lock?.isFree) throw new UsageError('--to: another copy to this database is running');
  await requireFree(target, { write: () => undefined });
  // Rows can refer to each other in any order.
  const foreignKeys = await rowsOf<{ table: string; name: string; definition: string }>(target, FOREIGN_KEYS);
  for (const { table, name } of foreignKeys) await rowsOf(target, `alter table ${table} drop constraint ${name}`);
  await rowsOf(target, `truncate ${tables.map(({ quoted }) => quoted).join(', ')}`);
  const bar = createProgress(progress, total);
  let done = 0;
  for (const table of tables) {
    const { name, quoted, columns, rows } = table;
    const onRow = () => bar.update((done += 1), name);
    await copyRows(source, target, {
      out: `copy (select ${columns} from ${quoted}) to stdout (format binary)`,
      in: `copy ${quoted} (${columns}) from stdin (format binary)`,
      onRow,
    });
    const arrived = await countRows(target, table);
    if (arrived !== rows) throw new Error(`${name}: ${arrived} of ${rows} rows arrived; nothing was kept`);
  }
  bar.end(done, 'checking');
  for (const { table, name, definition } of foreignKeys)
    await rowsOf(target, `alter table ${table} add constraint ${name} ${definition}`);
  for (const { name, lastValue } of await rowsOf<{ name: string; lastValue: string }>(source, SEQUENCES))
    await rowsOf(target, `select setval('${name}', ${lastValue})`);
  await rowsOf(target, `comment on table "${MARKED}" is 'database copy: completed at ${new Date().toISOString()}'`);
}

async function connect(url: string): Promise<DatabaseClient> {
  const address = new DatabaseAddress(url);
  const client = new DatabaseClient({ address: () => address, application_name: COPYING, session: SESSION });
  await client.connect();
  return client;
}

/** Not the name of a gateway. */
const COPYING = `copy of ${PROCESS_NAME}`;

async function rowsOf<Row>(client: DatabaseClient, text: string): Promise<Row[]> {
  const answer: Promise<{ readonly rows: Row[] }> = client.query(text);
  return (await answer).rows;
}
