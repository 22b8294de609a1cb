-- A written migration, not part of the schema: brings the tables of organizations to the form that Citus asks for, and distributes them.
-- Run it on the coordinator of an empty, migrated database: psql --set ON_ERROR_STOP=1 --single-transaction --file citus.sql "$DATABASE_URL"
-- What was tried and what was not: docs/storage.md, "Sharding".
--
-- The rules (docs.citusdata.com, "Creating and Modifying Distributed Objects"): the distribution column is part of every primary key and unique
-- constraint of a distributed table; a foreign key between two of them has it on both sides; others lead to reference tables alone.

create temporary table placement (name text primary key, kind text not null);
insert into placement values
  -- On every node: small, and referred to by everything.
  ('user_account', 'reference'), ('organization', 'reference'), ('api_key', 'reference'), ('invitation', 'reference'),
  -- Rows of one organization, together on one node.
  ('artifact', 'distributed'), ('broadcast', 'distributed'), ('broadcast_channel', 'distributed'), ('event_definition', 'distributed'),
  ('event_occurrence', 'distributed'), ('event_occurrence_uuid', 'distributed'), ('event_property', 'distributed'),
  ('mcp_authorization', 'distributed'), ('mcp_connection', 'distributed'), ('mcp_token_revocation', 'distributed'),
  ('feed_entry', 'distributed'), ('feed_stream', 'distributed'), ('webhook', 'distributed'), ('webhook_delivery', 'distributed'),
  ('membership', 'distributed'), ('monthly_occurrence_count', 'distributed'), ('object_identifier', 'distributed'),
  ('project', 'distributed'), ('pull_request', 'distributed'), ('secret', 'distributed'), ('sent_occurrence_count', 'distributed'),
  ('session', 'distributed'), ('session_search', 'distributed'), ('session_text', 'distributed'), ('event_violation', 'distributed'),
  ('session_event', 'distributed'), ('session_event_batch', 'distributed'), ('session_stream', 'distributed');

do $$
declare
  step record;
  added text[] := '{}';
  statement text;
begin
  -- Foreign keys between distributed tables that lack the column: they come back with it.
  for step in
    select c.conname, c.conrelid::regclass as owner, c.confrelid::regclass as target, c.confdeltype,
      (select string_agg(quote_ident(a.attname), ', ' order by k.position) from unnest(c.conkey) with ordinality k (number, position)
        join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.number) as columns,
      (select string_agg(quote_ident(a.attname), ', ' order by k.position) from unnest(c.confkey) with ordinality k (number, position)
        join pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.number) as target_columns
    from pg_constraint c
    join placement here on here.name = c.conrelid::regclass::text and here.kind = 'distributed'
    join placement there on there.name = c.confrelid::regclass::text and there.kind = 'distributed'
    where c.contype = 'f' and c.conparentid = 0
  loop
    continue when step.columns ~ '\morganization_id\M';
    if step.confdeltype <> 'c' then raise exception 'how is % deleted with another column?', step.conname; end if;
    execute format('alter table %s drop constraint %I', step.owner, step.conname);
    added := added || format('alter table %s add constraint %I foreign key (organization_id, %s) references %s (organization_id, %s) on delete cascade',
      step.owner, step.conname, step.columns, step.target, step.target_columns);
  end loop;

  -- Primary keys and unique constraints and indexes that lack the column get it as their last one, so that they serve the same statements.
  for step in
    select i.indexrelid::regclass as index, i.indrelid::regclass as owner, i.indisprimary, c.conname,
      pg_get_indexdef(i.indexrelid) as definition
    from pg_index i
    join placement p on p.name = i.indrelid::regclass::text and p.kind = 'distributed'
    left join pg_constraint c on c.conindid = i.indexrelid and c.contype in ('p', 'u')
    where i.indisunique and not exists (
      select from pg_attribute a where a.attrelid = i.indrelid and a.attname = 'organization_id' and a.attnum = any(i.indkey))
  loop
    statement := case
      when step.conname is null then regexp_replace(step.definition, '\(([^()]*(?:\([^()]*\)[^()]*)*)\)', '(\1, organization_id)')
      else format('alter table %s add constraint %I %s (%s, organization_id)', step.owner, step.conname,
        case when step.indisprimary then 'primary key' else 'unique' end, substring(step.definition from 'USING btree \((.*)\)')) end;
    execute case when step.conname is null then format('drop index %s', step.index)
      else format('alter table %s drop constraint %I', step.owner, step.conname) end;
    execute statement;
  end loop;

  foreach statement in array added loop execute statement; end loop;
end $$;

select create_reference_table(name) from placement where kind = 'reference' order by name = 'user_account' desc, name = 'organization' desc, name;
-- What others refer to comes first.
select create_distributed_table(name, 'organization_id')
from placement where kind = 'distributed'
order by name in ('session', 'mcp_connection', 'event_definition', 'broadcast_channel', 'artifact') desc, name = 'artifact', name;
drop table placement;
