import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/core/postgres/connections.ts';
import { migrateJobs } from '../../src/core/job-migrations.ts';
import { compareSchema, migrate } from '../../src/core/postgres/migrations.ts';
import { entities } from '../../src/gateway/modules.ts';
import { type ReleaseData, DATA_FILE, loadRelease } from '../support/fixtures/release-data.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import { emptyDatabase, endProcesses } from '../support/processes/process.ts';
import {
  type Contract,
  type RecordedStatement,
  CONTRACT_FILE,
  STATEMENTS_FILE,
  readReleased,
  releasesWith,
} from '../tools/released.ts';

/** The statements of a release are sent again and again while its database is migrated to this version, beside a transaction that reads all tables. */

afterEach(endProcesses);

/** The rows that a statement was recorded with are those of another database: then a constraint refuses it. */
const OF_CONSTRAINTS = /^23/;
const SENDERS = 3;

/** Sends each statement in a transaction that is rolled back. @returns the errors that no constraint explains, with their statements. */
async function sendAll(client: pg.Client, statements: readonly RecordedStatement[]): Promise<Map<string, string>> {
  const errors = new Map<string, string>();
  for (const [place, { text, values }] of statements.entries()) {
    await client.query('begin');
    try {
      // Like the gateway: those with values are prepared once for each connection.
      const name = values.length > 0 ? `statement_${place}` : undefined;
      await client.query({ ...(name && { name }), text, values: values.map(valueOf) });
    } catch (error) {
      const { code = '', message } = error as { code?: string; message: string };
      if (!OF_CONSTRAINTS.test(code)) errors.set(text, `${code} ${message}`);
    }
    await client.query('rollback');
  }
  return errors;
}

/** A buffer as JSON has it. */
function valueOf(value: unknown): unknown {
  const { type, data } = (value ?? {}) as { readonly type?: unknown; readonly data?: unknown };
  return type === 'Buffer' && Array.isArray(data) ? Buffer.from(data as number[]) : value;
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, options: '-c statement_timeout=30s' });
  await client.connect();
  return client;
}

/** A database of the release with its data. */
async function startRelease(version: string): Promise<{ url: string; database: Database }> {
  const { DATABASE_URL: url } = await emptyDatabase();
  const database = await openDatabase({ url, entities });
  await loadRelease(database, readReleased(version, DATA_FILE) as ReleaseData);
  const { migrations } = readReleased(version, CONTRACT_FILE) as Contract;
  const last = Object.keys(migrations).toSorted().at(-1)?.replace('.ts', '') ?? '';
  await database.migrator.up({ to: last });
  await migrateJobs(await database.driver.getConnection().getNativeClient(), {});
  return { url, database };
}

const LOCK_ALL = `select string_agg(format('%I.%I', n.nspname, c.relname), ', ') as tables from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition`;

test.for(releasesWith(STATEMENTS_FILE))(
  'the statements of %s have no error during and after the migrations, beside an open reader',
  async (version) => {
    const { url, database } = await startRelease(version);
    const recorded = readReleased(version, STATEMENTS_FILE) as RecordedStatement[];
    const clients = await Promise.all(Array.from({ length: SENDERS + 1 }, () => connect(url)));
    try {
      const [reader, ...senders] = clients;
      if (!reader || !senders[0]) throw new Error('clients');
      const refused = await sendAll(senders[0], recorded);
      // A few need what only their test had.
      expect([...refused.values()].slice(0, recorded.length / 10)).toHaveLength(refused.size);
      const statements = recorded.filter(({ text }) => !refused.has(text));
      const [{ tables } = { tables: '' }] = (await query(url, LOCK_ALL)) as { tables: string }[];
      await reader.query(`begin; lock table ${tables} in access share mode`);
      const state = { isMigrated: false, isReading: true };
      const migrated = migrate(database, { pauseMs: 100 }).finally(() => (state.isMigrated = true));
      const errors: [string, string][] = [];
      const send = async (client: pg.Client) => {
        // Once more after the last migration.
        for (let isLast = false; !isLast;) {
          isLast = state.isMigrated;
          errors.push(...(await sendAll(client, statements)));
          if (state.isReading) await reader.query('rollback');
          state.isReading = false;
        }
      };
      await Promise.all([migrated, ...senders.map(send)]);
      expect(errors).toEqual([]);
      expect(await compareSchema(database.em.fork())).toMatchObject({ pending: [], unknown: [] });
    } finally {
      await Promise.all(clients.map((client) => client.end()));
      await database.close(true);
    }
  },
);
