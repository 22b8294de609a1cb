import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { findOlderProcesses, finishUpgrade } from '../../../src/core/postgres/finished-version.ts';
import { VERSION } from '../../../src/core/version.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';

const gateway = useOwnGateway();

const clients: pg.Client[] = [];
afterEach(() => Promise.all(clients.splice(0).map((client) => client.end())));

async function connectAs(name: string): Promise<void> {
  const client = new pg.Client({ connectionString: gateway.databaseUrl, application_name: name });
  clients.push(client);
  await client.connect();
}

const [major = 0] = VERSION.split('.').map(Number);
const older = (since: string, isPooled = false) =>
  findOlderProcesses(gateway.dependencies.database.em.fork(), { since, isPooled });

test('a process names its version in every connection', async () => {
  const named = `select distinct application_name as name from pg_stat_activity where datname = current_database()`;
  const names = await gateway.dependencies.sql.query<{ name: string }>(named, []);
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter(({ name }) => !name.startsWith(`gateway/${VERSION}`))).toEqual([]);
});

test('connected processes of earlier versions are found, and one without a version is the oldest', async () => {
  const since = `${major}.0.0`;
  await connectAs('psql');
  await connectAs(`gateway/${major + 1}.0.0 jobs`);
  await connectAs(`gateway/${since}`);
  expect(await older(since)).toEqual([]);
  await connectAs('gateway listener');
  await connectAs(`gateway/${major - 1}.10.0-rc.1 jobs`);
  expect((await older(since)).toSorted()).toEqual(['gateway listener', `gateway/${major - 1}.10.0-rc.1 jobs`]);
  // A feature of an earlier version is known to more.
  expect(await older(`${major - 1}.9.0`)).toEqual(['gateway listener']);
  // The build before a release knows what it asks for.
  expect(await older(`${major + 1}.0.0`)).toEqual(expect.not.arrayContaining([`gateway/${VERSION}`]));
});

test('behind a pooler the operator says that none is left', async () => {
  // Of a new database no earlier version has ever been.
  expect(await older(VERSION, true)).toEqual([]);
  await gateway.dependencies.sql.query('delete from finished_version', []);
  expect(await older(VERSION, true)).toEqual([expect.stringContaining('cli migrate --finish')]);
  await finishUpgrade(gateway.dependencies.database.em.fork(), new Date());
  await finishUpgrade(gateway.dependencies.database.em.fork(), new Date());
  expect(await older(VERSION, true)).toEqual([]);
});
