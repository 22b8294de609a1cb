import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { Migration20261128021200 } from '../../../migrations/Migration20261128021200.ts';
import { DEFINITIONS_PATH } from '../../support/fixtures/event-definitions.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';

test('definitions and identifiers that were stored with a plural become those of the listed object', async () => {
  const gateway = await startTestGateway();
  onTestFinished(() => gateway.close());
  const { key, organizationId } = await gateway.createKey();
  const { database } = gateway.dependencies;
  // Migrations run on a connection of their own.
  const sql = new pg.Client(gateway.databaseUrl);
  await sql.connect();
  onTestFinished(() => sql.end());
  const stored = { a: 'contacts', b: 'Companies', c: 'DEALS', d: 'p1_boats', e: 'ORDER', f: 'series' };
  for (const [name, object] of Object.entries(stored)) {
    await gateway.rest('POST', DEFINITIONS_PATH, { key, body: { label: name, name } });
    await sql.query('update event_definition set primary_object = $1 where name = $2', [object, name]);
  }
  for (const [type, value] of ['contacts 1', 'Contact 1', 'CONTACT 2', 'contacts 2', 'boats 3'].map((row) =>
    row.split(' '),
  ))
    await sql.query(
      `insert into object_identifier (organization_id, object_type, property_name, value, object_id, created_at, updated_at)
       values ($1, $2, 'serial', $3, $2 || $3, now(), now())`,
      [organizationId, type, value],
    );
  const migration = new Migration20261128021200(database.em.getDriver(), database.config);
  await migration.up();
  for (const statement of migration.getQueries().filter((each) => typeof each === 'string')) await sql.query(statement);

  const { results } = (
    await gateway.rest<{ results: { name: string; primaryObject: string }[] }>('GET', DEFINITIONS_PATH, { key })
  ).body;
  expect(Object.fromEntries(results.map(({ name, primaryObject }) => [name, primaryObject]))).toEqual({
    a: 'CONTACT',
    b: 'COMPANY',
    c: 'DEAL',
    d: 'p1_boats',
    e: 'ORDER',
    f: 'series',
  });
  const { rows } = await sql.query<{ row: string }>(
    `select object_type || ' ' || value || ' ' || object_id as row from object_identifier where organization_id = $1 order by value`,
    [organizationId],
  );
  expect(rows.map(({ row }) => row)).toEqual([
    expect.stringMatching(/^CONTACT 1 contacts?1$/i),
    'CONTACT 2 CONTACT2',
    'boats 3 boats3',
  ]);
});
