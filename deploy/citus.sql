-- A written migration, not part of the schema: brings the tables of organizations to the form that Citus asks for, and distributes them.
-- Run it on the coordinator of a migrated database, empty or filled, while no gateway or worker runs:
--   psql --set ON_ERROR_STOP=1 --single-transaction --file citus.sql "$DATABASE_URL"
-- deploy/citus-undo.sql is the way back. What was tried and what was not: docs/storage.md, "Sharding".
--
-- The rules (docs.citusdata.com, "Creating and Modifying Distributed Objects"): the distribution column is part of every primary key and unique
-- constraint of a distributed table; a foreign key between two of them has it on both sides; others lead to reference tables alone.

-- Later steps read what earlier ones wrote, which only one connection to each node can.
set local citus.multi_shard_modify_mode to 'sequential';
set local client_min_messages to 'warning';

create temporary table placement (name text primary key, kind text not null) on commit drop;
insert into placement values
  -- On every node: foreign keys lead to them, and each statement that makes a change checks the rights of the caller (has_authority).
  ('user_account', 'reference'), ('organization', 'reference'), ('api_key', 'reference'), ('membership', 'reference'),
  ('suspended_membership', 'reference'), ('former_membership', 'reference'), ('scim_user', 'reference'),
  -- It is found by the time of its refresh and by its owner, and joined with sessions.
  ('mcp_connection', 'reference'),
  -- Rows of one organization, together on one node.
  ('artifact', 'distributed'), ('counted_message', 'distributed'), ('ensured_session', 'distributed'), ('broadcast', 'distributed'), ('broadcast_channel', 'distributed'), ('event_definition', 'distributed'),
  ('event_occurrence', 'distributed'), ('event_occurrence_uuid', 'distributed'), ('event_property', 'distributed'),
  ('event_violation', 'distributed'), ('feed_entry', 'distributed'), ('feed_stream', 'distributed'),
  ('monthly_occurrence_count', 'distributed'), ('object_identifier', 'distributed'), ('organization_retention', 'distributed'),
  ('person_group', 'distributed'), ('person_group_member', 'distributed'), ('project', 'distributed'), ('tool_approval', 'distributed'), ('pull_request', 'distributed'), ('removed_entry', 'distributed'),
  ('running_export', 'distributed'), ('sent_occurrence_count', 'distributed'), ('session', 'distributed'), ('session_event', 'distributed'), ('session_event_batch', 'distributed'), ('session_entry', 'distributed'), ('session_fold', 'distributed'),
  ('session_search', 'distributed'), ('session_stream', 'distributed'), ('session_text', 'distributed'), ('transcript_file', 'distributed'), ('transcript_line', 'distributed'), ('usage_sum', 'distributed'), ('webhook', 'distributed'),
  ('webhook_delivery', 'distributed');
-- All others stay on the coordinator; docs/storage.md says why.

-- What deploy/citus-undo.sql does after the tables are local again, in this order.
create table before_citus (step integer generated always as identity primary key, statement text not null);

do $$
declare
  found record;
  added text[] := '{}';
  original text[] := '{}';
  statement text;
  definition text;
begin
  -- Identity columns cannot be moved. A default of the same sequence type can.
  for found in
    select c.oid::regclass as owner, c.relname, a.attname, pg_get_serial_sequence(c.oid::regclass::text, a.attname) as sequence
    from pg_attribute a join pg_class c on c.oid = a.attrelid join placement p on p.name = c.oid::regclass::text where a.attidentity <> ''
  loop
    execute format('select last_value + case when is_called then 1 else 0 end from %s', found.sequence) into definition;
    execute format('alter table %s alter column %I drop identity', found.owner, found.attname);
    execute format('create sequence %I as integer start with %s owned by %s.%I', found.relname || '_' || found.attname || '_seq',
      definition, found.owner, found.attname);
    execute format('alter table %s alter column %I set default nextval(%L)', found.owner, found.attname, found.relname || '_' || found.attname || '_seq');
    insert into before_citus (statement) values
      (format('alter table %s alter column %I drop default', found.owner, found.attname)),
      (format('drop sequence %I', found.relname || '_' || found.attname || '_seq')),
      (format('alter table %s alter column %I add generated always as identity', found.owner, found.attname)),
      (format('select setval(pg_get_serial_sequence(%L, %L), coalesce(max(%I), 0) + 1, false) from %s', found.owner, found.attname, found.attname, found.owner));
  end loop;

  -- No foreign key may lead to a table while it is distributed. They come back afterwards, between distributed tables with the column.
  for found in
    select c.conname, c.conrelid::regclass as owner, c.confrelid::regclass as target, here.kind, there.kind as target_kind,
      pg_get_constraintdef(c.oid) as definition
    from pg_constraint c
    left join placement here on here.name = c.conrelid::regclass::text
    left join placement there on there.name = c.confrelid::regclass::text
    where c.contype = 'f' and c.conparentid = 0 and (here.name is not null or there.name is not null) order by 2, 1
  loop
    if found.target_kind is null or (found.target_kind = 'distributed' and found.kind is distinct from 'distributed') then
      raise exception '% leads from a table that is % to one that is %', found.conname, coalesce(found.kind, 'local'), coalesce(found.target_kind, 'local');
    end if;
    definition := found.definition;
    if found.target_kind = 'distributed' and definition !~ '\morganization_id\M' then
      if definition !~ 'ON DELETE CASCADE' then raise exception 'how is % deleted with another column?', found.conname; end if;
      -- Ids do not change.
      original := original || format('alter table %s add constraint %I %s', found.owner, found.conname, definition);
      definition := replace(regexp_replace(definition, '\(([^()]*)\)', '(organization_id, \1)', 'g'), ' ON UPDATE CASCADE', '');
    end if;
    execute format('alter table %s drop constraint %I', found.owner, found.conname);
    added := added || format('alter table %s add constraint %I %s', found.owner, found.conname, definition);
  end loop;

  -- Primary keys and unique constraints and indexes that lack the column get it as their last one, so that they serve the same statements.
  for found in
    select i.indexrelid::regclass as index, i.indrelid::regclass as owner, i.indisprimary, c.conname, pg_get_constraintdef(c.oid) as constraint,
      pg_get_indexdef(i.indexrelid) as definition
    from pg_index i
    join placement p on p.name = i.indrelid::regclass::text and p.kind = 'distributed'
    left join pg_constraint c on c.conindid = i.indexrelid and c.contype in ('p', 'u')
    where i.indisunique and not exists (
      select from pg_attribute a where a.attrelid = i.indrelid and a.attname = 'organization_id' and a.attnum = any(i.indkey))
    order by 2, 1
  loop
    if found.conname is null then raise exception 'index % is unique, but not by a constraint', found.index; end if;
    execute format('alter table %s drop constraint %I', found.owner, found.conname);
    execute format('alter table %s add constraint %I %s', found.owner, found.conname,
      regexp_replace(found.constraint, '\)$', ', organization_id)'));
    insert into before_citus (statement) values (format('alter table %s drop constraint %I', found.owner, found.conname)),
      (format('alter table %s add constraint %I %s', found.owner, found.conname, found.constraint));
  end loop;

  perform create_reference_table(name) from placement where kind = 'reference' order by name;
  perform create_distributed_table(name, 'organization_id') from placement where kind = 'distributed' order by name;
  foreach statement in array added loop execute statement; end loop;
  insert into before_citus (statement) select unnest(original);
  insert into before_citus (statement) select pg_get_functiondef('wait_for_changes_of'::regproc);
end $$;

-- Conditions of statements call it on the node of their rows.
do $$ begin perform create_distributed_function('has_authority(uuid, uuid, uuid, text, timestamptz)'); end $$;

-- So changes may hold its lock on any node. The lock of this node is the last: nothing is held while others are waited for.
create or replace function wait_for_changes_of(caller uuid) returns void language plpgsql as $$
begin
  if exists (select from run_command_on_workers(format('select pg_advisory_xact_lock(1, %s)', hashtext(caller::text))) where not success) then
    raise exception 'a node does not answer' using errcode = 'connection_failure';
  end if;
  perform pg_advisory_xact_lock(1, hashtext(caller::text));
end $$;

-- Otherwise each change of a table that is on every node locks all of it, and those of a key and of its user wait for each other. Rows are locked
-- on all nodes all the same.
do $$ begin execute format('alter database %I set citus.all_modifications_commutative to on', current_database()); end $$;
