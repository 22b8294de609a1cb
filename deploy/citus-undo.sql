-- The way back from deploy/citus.sql: all tables on the coordinator again, as the migrations make them.
-- Run it on the coordinator while no gateway or worker runs:
--   psql --set ON_ERROR_STOP=1 --single-transaction --file citus-undo.sql "$DATABASE_URL"
-- Afterwards the nodes can be removed (`citus_remove_node`) and the extension dropped.

set local citus.multi_shard_modify_mode to 'sequential';
set local client_min_messages to 'warning';

do $$
declare
  found record;
  added text[] := '{}';
  statement text;
begin
  -- Foreign keys between tables of organizations were the only ones that got the column.
  for found in
    select c.conname, c.conrelid::regclass::text as owner, pg_get_constraintdef(c.oid) as definition
    from pg_constraint c join pg_dist_partition p on p.logicalrelid = c.confrelid
    where c.contype = 'f' and c.conparentid = 0 order by 2, 1
  loop
    execute format('alter table %s drop constraint %I', found.owner, found.conname);
    if not exists (select from before_citus b where b.statement like format('alter table %s add constraint %I %%', found.owner, found.conname)) then
      added := added || format('alter table %s add constraint %I %s', found.owner, found.conname, found.definition);
    end if;
  end loop;
  for found in
    select p.logicalrelid::regclass as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid where not c.relispartition order by 1
  loop
    perform undistribute_table(found.name);
  end loop;
  for found in select b.statement from before_citus b order by b.step loop execute found.statement; end loop;
  foreach statement in array added loop execute statement; end loop;
end $$;

drop table before_citus;
do $$ begin execute format('alter database %I reset citus.all_modifications_commutative', current_database()); end $$;
