import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { useOwnGateway } from '../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, readAll } from '../support/fixtures/sessions.ts';
import { DISTRIBUTE, UNDO } from '../support/processes/citus.ts';
import { query as queryAt } from '../support/processes/embedded-postgres.ts';

/**
 * What deploy/citus.sql and the way back do to keys and constraints, on PostgreSQL, where each table stays as it is. What Citus accepts,
 * test/citus and `npm run test:citus` show on a cluster.
 */

const NOTES = `
  create table pg_dist_partition (logicalrelid regclass primary key, partmethod text not null);
  create function create_reference_table(name text) returns void language sql as $$ insert into pg_dist_partition values (name::regclass, 'n') $$;
  create function create_distributed_table(name text, distribution_column text) returns void language sql
    as $$ insert into pg_dist_partition values (name::regclass, 'h') $$;
  create function undistribute_table(name regclass) returns void language sql as $$ delete from pg_dist_partition where logicalrelid = name $$;
  create function create_distributed_function(name text) returns void language sql as $$ $$;`;

/** The violations of Citus's rules, each with the constraint or table that causes it. */
const FAULTS = `
  select 'unique without organization_id' as fault, i.indexrelid::regclass::text as at
  from pg_index i join pg_dist_partition p on p.logicalrelid = i.indrelid and p.partmethod = 'h'
  where i.indisunique and not exists (select from pg_attribute a
    where a.attrelid = i.indrelid and a.attname = 'organization_id' and a.attnum = any(i.indkey))
  union all
  select 'foreign key to a table of another kind', c.conname
  from pg_constraint c join pg_dist_partition p on p.logicalrelid = c.conrelid
  left join pg_dist_partition t on t.logicalrelid = c.confrelid
  where c.contype = 'f' and c.conparentid = 0 and (t.partmethod is null or (p.partmethod = 'n' and t.partmethod = 'h'))
  union all
  select 'foreign key without organization_id', c.conname
  from pg_constraint c join pg_dist_partition p on p.logicalrelid = c.conrelid and p.partmethod = 'h'
  join pg_dist_partition t on t.logicalrelid = c.confrelid and t.partmethod = 'h'
  where c.contype = 'f' and c.conparentid = 0 and not exists (select from pg_attribute a, pg_attribute b
    where a.attrelid = c.conrelid and a.attname = 'organization_id' and b.attrelid = c.confrelid and b.attname = 'organization_id'
      and array_position(c.conkey, a.attnum) = array_position(c.confkey, b.attnum))
  union all
  select 'organization_id that may be null', p.logicalrelid::text
  from pg_dist_partition p join pg_attribute a on a.attrelid = p.logicalrelid and a.attname = 'organization_id'
  where p.partmethod = 'h' and not a.attnotnull
  union all
  select 'trigger', t.tgname from pg_trigger t join pg_dist_partition p on p.logicalrelid = t.tgrelid where not t.tgisinternal
  order by 1, 2`;

/** Tables with an organization that stay on the coordinator, each with the reason. */
const LOCAL: Readonly<Record<string, string>> = {
  audit_entry: 'some entries have no organization',
  audit_stream: 'is read with the entries',
  deleted_session: 'belongs to a job',
  deletion_job: 'is found by its state, and may have no organization',
  idempotency_key: 'is found by its user, and may have no organization',
  invitation: 'is found by the hash of its code and by an address',
  mcp_authorization: 'is found by the hash of its state',
  mcp_token_revocation: 'is found by its age',
  mcp_tool_definitions: 'belongs to a connection, and is read with it',
  mcp_used_handle: 'is found by its age',
  operation_manifest: 'is found by client and version',
  published_document: 'is found by its id',
  secret: 'is found by its owner, and by its encryption key',
};

const OF_ORGANIZATIONS = `
  select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id'
  where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
    and c.oid not in (select logicalrelid from pg_dist_partition) order by 1`;

const SCHEMA = `
  select c.conrelid::regclass::text as owner, c.conname as name, pg_get_constraintdef(c.oid) as definition from pg_constraint c
  where c.connamespace = 'public'::regnamespace
  union all
  select i.indrelid::regclass::text, i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) from pg_index i
  join pg_class c on c.oid = i.indrelid and c.relnamespace = 'public'::regnamespace
  union all
  select a.attrelid::regclass::text, a.attname, a.attidentity::text || coalesce(pg_get_expr(d.adbin, d.adrelid), '') from pg_attribute a
  join pg_class c on c.oid = a.attrelid and c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum where a.attnum > 0
  union all
  select 'function', proname, prosrc from pg_proc where proname in ('has_authority', 'wait_for_changes_of')
  order by 1, 2, 3`;

/** Only a superuser may set what Citus would know. */
const SETTING = /do \$\$ begin execute format\('alter database.*\n/;

const gateway = useOwnGateway();
const query = (text: string) => queryAt(gateway.databaseUrl, text);
const run = async (file: string) => query(`begin; ${(await readFile(file, 'utf8')).replace(SETTING, '')}; commit`);
let before: unknown[];
beforeAll(async () => {
  await query(NOTES);
  before = await query(SCHEMA);
  await run(DISTRIBUTE);
});

test('deploy/citus.sql: every key, unique constraint and foreign key of a distributed table contains organization_id, as Citus requires', async () => {
  expect(await query(FAULTS)).toEqual([]);
  expect((await query(OF_ORGANIZATIONS)).map((row) => (row as { name: string }).name)).toEqual(Object.keys(LOCAL));
});

test('sessions, events and definitions work with the keys that deploy/citus.sql extends, and after the way back, which restores the schema', async () => {
  const { key } = await gateway.createKey();
  const createDefinition = (name: string) =>
    gateway.rest('POST', '/events/2026-03/event-definitions', {
      key,
      body: { name, label: name, primaryObject: 'CONTACT' },
    });
  const works = async (name: string) => {
    const id = await createSession(gateway, key);
    await append(gateway, key, id, eventsOf(10), 'batch');
    expect(await append(gateway, key, id, eventsOf(10), 'batch')).toMatchObject({ isReplayed: true });
    expect(await readAll(gateway, key, id)).toHaveLength(10);
    expect([(await createDefinition(name)).status, (await createDefinition(name)).status]).toEqual([201, 409]);
  };
  await works('paid');
  await run(UNDO);
  expect(await query(SCHEMA)).toEqual(before);
  await works('sold');
});
