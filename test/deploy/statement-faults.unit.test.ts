import { expect, test } from 'vitest';
import { faultsOf, optionalConditionsOf } from '../support/statement-faults.ts';

/** The check of test/support/checked-statements.ts, with right and wrong statements. */

const TABLES = new Set(['session', 'session_event', 'session_stream', 'pull_request']);
const faults = (statement: string) => faultsOf(statement, TABLES);

test.each([
  'select 1',
  'select * from session where id = $1',
  'select "s"."id" from "session" as "s" inner join "session_stream" as "h" on "h"."session_id" = "s"."id" and "h"."organization_id" = "s"."organization_id"',
  'select (select count(*) from session_event as e where e.session_id = s.id and e.organization_id = $2) from session as s where s.organization_id = $2',
  'with head as (update session_stream set last_id = last_id + 1 where session_id = $1 and organization_id = $2 returning last_id) insert into session_event (session_id, organization_id, id) select $1, $2, last_id from head',
  'update session set creator_id = null where (organization_id, id) in (select organization_id, id from session where creator_id = $1 limit 5)',
  'insert into session_stream (session_id, organization_id) values ($1, $2) on conflict (session_id, organization_id) do nothing',
  'insert into session_stream (session_id, organization_id) values ($1, $2) on conflict on constraint session_stream_pkey do nothing',
  'select * from api_key as k join membership as m on m.user_id = k.user_id',
])('has no fault: %s', (statement) => {
  expect(faults(statement)).toEqual([]);
});

test.each<[statement: string, ...found: string[]]>([
  [
    'select "s"."id" from "session" as "s" inner join "session_stream" as "h" on "h"."session_id" = "s"."id" where "s"."organization_id" = $1',
    'session_stream: without organization_id',
  ],
  [
    // Selected, but not compared.
    'select e.organization_id from session_event e, session s where s.id = e.session_id and s.organization_id = $1',
    'session_event: without organization_id',
  ],
  [
    'select (select count(*) from session_event as e where e.session_id = s.id) from session as s where s.organization_id = $1',
    'session_event: without organization_id',
  ],
  [
    'update session set creator_id = null where id in (select id from session where creator_id = $1 limit 5)',
    'session: without organization_id',
  ],
  [
    'insert into session_stream (session_id, organization_id) values ($1, $2) on conflict (session_id) do nothing',
    'session_stream: on conflict without organization_id',
  ],
  [
    'delete from session_event where organization_id = $1 and ctid = any(array(select ctid from session_event where session_id = $2 limit 5))',
    'session_event: without organization_id',
    'session_event: ctid without organization_id',
  ],
])('has faults: %s', (statement, ...found) => {
  expect(faults(statement).toSorted()).toEqual(found.toSorted());
});

test.each([
  [`created_at >= coalesce($1::timestamptz, '-infinity')`, 1],
  [`created_at <\n coalesce( $1, now())`, 1],
  ['($2::text is null or title = $2)', 1],
  ['(title = $2 or $2 is null)', 1],
  ['($2::uuid[] is not null and id = any($2))', 1],
  [`id = case when $1 is null then id else $1 end`, 1],
  ['(expires_at is null or expires_at > $1)', 0],
  ['select coalesce($1::uuid, organization_id)', 0],
  ['set event_types = case when $1::text[] <@ event_types then event_types end', 0],
])('optional conditions of %j: %i', (condition, count) => {
  expect(optionalConditionsOf(condition)).toHaveLength(count);
});
