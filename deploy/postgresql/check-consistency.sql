-- Faults that no constraint rules out, one row for each kind and thing at fault: none in a sound database.
-- psql --no-psqlrc --set ON_ERROR_STOP=1 --tuples-only --file check-consistency.sql "$DATABASE_URL"
-- Reads every event once; run it on a restored copy, or at a quiet time.
with events as (
  select session_id, min(id) as first, max(id) as last, count(*) as count
  from session_event
  group by session_id
)
select 'events with gaps in their ids' as fault, session_id::text as id from events where last - first + 1 <> count
union all
select 'events behind the last id of their session', e.session_id::text
from events e join session_stream s using (session_id) where e.last > s.last_id
union all
select 'events missing at the end of their session', s.session_id::text
from session_stream s join events e using (session_id) where e.last < s.last_id
union all
select 'events of no session, which no deletion removes', e.session_id::text
from events e
where not exists (select from session s where s.id = e.session_id)
  and not exists (select from deleted_session d where d.session_id = e.session_id)
union all
select 'events in another organization than their session', s.id::text
from session s
where exists (select from session_event e where e.session_id = s.id and e.organization_id <> s.organization_id)
union all
select 'session without a stream', s.id::text
from session s where not exists (select from session_stream t where t.session_id = s.id)
union all
select 'batch beyond the last id of its session', b.session_id::text
from session_event_batch b join session_stream s using (session_id) where b.last_id > s.last_id
union all
select 'occurrences of no definition', o.definition_id::text
from (select distinct definition_id from event_occurrence) o
where not exists (select from event_definition d where d.id = o.definition_id)
union all
select 'organization without an administrator', o.id::text
from organization o
where exists (select from membership m where m.organization_id = o.id)
  and not exists (select from membership m where m.organization_id = o.id and m.role = 'admin')
union all
select 'secret without its row', format('%s %s %s', s.owner_table, s.owner_id, s.field)
from secret s
where not exists (select from mcp_connection c where s.owner_table = 'mcp_connection' and c.id::text = s.owner_id::text)
  and not exists (select from mcp_authorization a where s.owner_table = 'mcp_authorization' and a.id::text = s.owner_id::text)
  and not exists (select from mcp_token_revocation r where s.owner_table = 'mcp_token_revocation' and r.id::text = s.owner_id::text)
  and not exists (select from webhook w where s.owner_table = 'webhook' and w.id::text = s.owner_id::text)
order by 1, 2;
