import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, readAll } from '../support/fixtures/sessions.ts';
import { query as queryAt } from '../support/processes/embedded-postgres.ts';
import { checkout } from '../support/processes/programs.ts';

/**
 * deploy/citus.sql on PostgreSQL. Citus cannot be installed here, so its two functions only record their arguments, and its documented rules are
 * checked in the catalog.
 */

const NOTES = `
  create table placed (name text primary key, kind text not null, distribution_column text);
  create function create_reference_table(name text) returns void language sql as $$ insert into placed values (name, 'reference', null) $$;
  create function create_distributed_table(name text, distribution_column text) returns void language sql
    as $$ insert into placed values (name, 'distributed', distribution_column) $$;`;

/** The violations of Citus's rules, each with the constraint or table that causes it. */
const FAULTS = `
  select 'unique without the distribution column' as fault, i.indexrelid::regclass::text as at
  from pg_index i join placed p on p.name = i.indrelid::regclass::text and p.kind = 'distributed'
  where i.indisunique and not exists (select from pg_attribute a
    where a.attrelid = i.indrelid and a.attname = p.distribution_column and a.attnum = any(i.indkey))
  union all
  select 'foreign key to a table of another kind', c.conname
  from pg_constraint c join placed p on p.name = c.conrelid::regclass::text
  left join placed t on t.name = c.confrelid::regclass::text
  where c.contype = 'f' and c.conparentid = 0 and (t.kind is null or (p.kind = 'reference' and t.kind = 'distributed'))
  union all
  select 'foreign key of a local table to a distributed one', c.conname
  from pg_constraint c join placed t on t.name = c.confrelid::regclass::text and t.kind = 'distributed'
  where c.contype = 'f' and c.conparentid = 0 and not exists (select from placed p where p.name = c.conrelid::regclass::text)
    and not exists (select from pg_inherits h where h.inhrelid = c.conrelid)
  union all
  select 'foreign key without the distribution column', c.conname
  from pg_constraint c join placed p on p.name = c.conrelid::regclass::text and p.kind = 'distributed'
  join placed t on t.name = c.confrelid::regclass::text and t.kind = 'distributed'
  where c.contype = 'f' and c.conparentid = 0 and not exists (select from pg_attribute a, pg_attribute b
    where a.attrelid = c.conrelid and a.attname = p.distribution_column and b.attrelid = c.confrelid and b.attname = t.distribution_column
      and array_position(c.conkey, a.attnum) = array_position(c.confkey, b.attnum))
  union all
  select 'distribution column that may be null', p.name
  from placed p join pg_attribute a on a.attrelid = p.name::regclass and a.attname = p.distribution_column where not a.attnotnull
  union all
  select 'trigger on a distributed table', t.tgname
  from pg_trigger t join placed p on p.name = t.tgrelid::regclass::text and p.kind = 'distributed' where not t.tgisinternal
  order by 1, 2`;

/** Tables with an organization that stay on the coordinator: their organization may be null, or they belong to a job, which is stored there. */
const LOCAL = ['audit_entry', 'deleted_session', 'deletion_job', 'idempotency_key'];

const OF_ORGANIZATIONS = `
  select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id'
  where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
    and c.relname not in (select name from placed) order by 1`;

let gateway: TestGateway;
const query = (text: string) => queryAt(gateway.databaseUrl, text);
beforeAll(async () => {
  gateway = await startTestGateway();
  await query(NOTES);
});
afterAll(() => gateway.close());

test('deploy/citus.sql: every key, unique constraint and foreign key of a distributed table contains organization_id, as Citus requires', async () => {
  const script = await readFile(join(checkout, 'deploy/citus.sql'), 'utf8');
  await query(`begin; ${script}; commit`);
  expect(await query(FAULTS)).toEqual([]);
  expect((await query(OF_ORGANIZATIONS)).map((row) => (row as { name: string }).name)).toEqual(LOCAL);
});

test('sessions, events and definitions work with the keys that deploy/citus.sql extends', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(10), 'batch');
  expect(await append(gateway, key, id, eventsOf(10), 'batch')).toMatchObject({ isReplayed: true });
  expect(await readAll(gateway, key, id)).toHaveLength(10);
  const definition = { name: 'paid', label: 'Paid', primaryObject: 'CONTACT' };
  const create = () => gateway.rest('POST', '/events/2026-03/event-definitions', { key, body: definition });
  expect([(await create()).status, (await create()).status]).toEqual([201, 409]);
});
