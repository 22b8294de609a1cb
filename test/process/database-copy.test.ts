import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { readConfig } from '../../src/core/config.ts';
import { enqueueJob } from '../../src/core/jobs.ts';
import { openDatabase } from '../../src/core/postgres/connections.ts';
import { assemble } from '../../src/gateway/assemble.ts';
import { entities } from '../../src/gateway/modules.ts';
import { prepareDatabase } from '../../src/gateway/prepare-database.ts';
import { createLog } from '../../src/gateway/telemetry/logging.ts';
import { type ReleaseData, DATA_FILE, dumpTables, loadRelease } from '../support/fixtures/release-data.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import {
  call,
  cli,
  emptyDatabase,
  endProcesses,
  freshDatabase,
  issueKey,
  start,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import { GATEWAY } from '../support/processes/programs.ts';
import { readReleased, releasesWith } from '../tools/released.ts';

afterEach(endProcesses);

const copy = (to: string, env: Record<string, string>) => cli(['database', 'copy', '--to', to], env);
const JOBS = `select name, data, state from pgboss.job where name = 'maintenance' and id = `;

/** A folder whose embedded database has the data of a release, of every kind, and a job that waits. */
async function tried(): Promise<{ DATA_DIR: string; data: ReleaseData; jobId: string; tables: object }> {
  const data = readReleased(releasesWith(DATA_FILE).at(-1) ?? '', DATA_FILE) as ReleaseData;
  const DATA_DIR = await temporaryDirectory();
  await writeFile(join(DATA_DIR, 'encryption-keys'), `${data.encryptionKeys}\n`, { mode: 0o600 });
  const assembly = await assemble(readConfig({ DATA_DIR }), createLog('silent'));
  const { dependencies } = assembly;
  try {
    await loadRelease(dependencies.database, data);
    await prepareDatabase(dependencies);
    const jobId = randomUUID();
    await dependencies.database.em
      .fork()
      .transactional((em) => enqueueJob(em, 'maintenance', { id: jobId, data: { of: 'a test' }, delaySeconds: 600 }));
    return { DATA_DIR, data, jobId, tables: await dumpTables(dependencies.database) };
  } finally {
    await assembly.close();
  }
}

async function tablesOf(url: string): Promise<object> {
  const database = await openDatabase({ url, entities });
  try {
    return await dumpTables(database);
  } finally {
    await database.close(true);
  }
}

test('everything of an embedded database goes along to an empty one, with its jobs, and can be read with its keys; a second copy is refused', async () => {
  const { DATA_DIR, data, jobId, tables } = await tried();
  const { DATABASE_URL } = await emptyDatabase();
  const copied = await copy(DATABASE_URL, { DATA_DIR });
  expect(copied).toMatchObject({ code: 0 });
  expect(JSON.parse(copied.stdout)).toEqual({
    tables: expect.any(Number),
    rows: expect.any(Number),
    next: `start the gateway with DATABASE_URL set to this database, and ENCRYPTION_KEYS to the line in ${join(DATA_DIR, 'encryption-keys')}`,
  });
  expect(await tablesOf(DATABASE_URL)).toEqual(tables);
  expect(await query(DATABASE_URL, `${JOBS} '${jobId}'`)).toEqual([
    { name: 'maintenance', data: { of: 'a test' }, state: 'created' },
  ]);
  const again = await copy(DATABASE_URL, { DATA_DIR });
  expect([again.code, again.stderr]).toEqual([
    1,
    expect.stringMatching(/^--to: the data were copied to this database before \(.*completed at 20/),
  ]);
  const env = { DATABASE_URL, ENCRYPTION_KEYS: data.encryptionKeys, RATE_LIMIT_PER_MINUTE: '0' };
  // Decrypts every secret.
  expect(await cli(['secrets', 'rotate'], env)).toMatchObject({ code: 0, stderr: '' });
  const gateway = await startGateway(env);
  // Its number continues those of the source.
  const created = await call(gateway.url, data.key, 'POST', '/v1/organizations', { name: 'After the move' });
  expect(created.status).toBe(201);
  const used = await copy(DATABASE_URL, { DATA_DIR });
  expect([used.code, used.stderr]).toEqual([1, '--to: a gateway is connected to this database\n']);
});

test('a copy that was killed leaves no row, and the next one copies all', async () => {
  const source = await freshDatabase();
  await issueKey(source);
  const target = await freshDatabase();
  const holder = new pg.Client(target.DATABASE_URL);
  await holder.connect();
  try {
    await holder.query('begin; lock table "session" in access share mode');
    const { child, exited } = start([GATEWAY, 'cli', 'database', 'copy', '--to', target.DATABASE_URL], source);
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and application_name like 'copy of %' and wait_event_type = 'Lock'`;
    await expect.poll(() => query(target.DATABASE_URL, waiting)).toHaveLength(1);
    child.kill('SIGKILL');
    await exited;
  } finally {
    await holder.end();
  }
  const left = `select 1 from pg_stat_activity where datname = current_database() and application_name like 'copy of %'`;
  await expect.poll(() => query(target.DATABASE_URL, left)).toEqual([]);
  expect(await query(target.DATABASE_URL, 'select 1 from user_account')).toEqual([]);
  const copied = await copy(target.DATABASE_URL, source);
  expect(copied).toMatchObject({ code: 0, stderr: expect.stringContaining('was interrupted') });
  expect(await tablesOf(target.DATABASE_URL)).toEqual(await tablesOf(source.DATABASE_URL));
  const constraints = `select conrelid::regclass::text, conname, pg_get_constraintdef(oid) as definition from pg_constraint order by 1, 2`;
  expect(await query(target.DATABASE_URL, constraints)).toEqual(await query(source.DATABASE_URL, constraints));
});

test('a database with other data is refused, and stays as it is', async () => {
  const source = await freshDatabase();
  const foreign = await emptyDatabase();
  await query(foreign.DATABASE_URL, 'create table "Invoices" (id int)');
  const used = await freshDatabase();
  await issueKey(used);
  const before = await tablesOf(used.DATABASE_URL);
  const refused = await Promise.all(
    [foreign, used, source, { DATABASE_URL: 'db.example/gateway' }].map(({ DATABASE_URL }) =>
      copy(DATABASE_URL, source),
    ),
  );
  expect(refused.map(({ code, stderr }) => [code, stderr])).toEqual([
    [1, '--to: the database is not empty: it has the table public.Invoices; create another one\n'],
    [1, '--to: the database is not empty: it has the table public.api_key; create another one\n'],
    [1, '--to: this is the database that the command reads\n'],
    [1, '--to: must be a postgresql:// URL\n'],
  ]);
  expect(await tablesOf(used.DATABASE_URL)).toEqual(before);
  expect(await query(foreign.DATABASE_URL, `select to_regclass('session') as found`)).toEqual([{ found: null }]);
});
