import { beforeAll, expect, test } from 'vitest';
import { createDemoWorkspace } from '../../src/operator/demo-workspace.ts';
import { useOwnGateway } from '../support/fixtures/gateway.ts';

/** The demo workspace has what people look for in the console. */

const gateway = useOwnGateway();
const DAY_MS = 86_400_000;
/** The first day of a month. */
const now = new Date('2026-06-01T15:00:00Z');
let key: string;
beforeAll(async () => {
  gateway.setClock(now);
  key = (await createDemoWorkspace(gateway.dependencies))?.key ?? '';
});

const query = async <Row extends object>(text: string) => {
  const { sql } = gateway.dependencies;
  const [organization] = await sql.query<{ id: string }>('select id from organization', []);
  return sql.query<Row>(text, [organization?.id]);
};

test('two months of sessions of five agents in three projects, some of which run, wait or have failed', async () => {
  const [found] = await query(
    `select count(*) between 140 and 160 as has_many, count(distinct agent)::int as agents, count(distinct project_id)::int as projects,
       count(distinct creator_id)::int as creators, count(distinct date(created_at at time zone 'utc'))::int as days,
       count(*) filter (where state = 'queued')::int as waiting, count(*) filter (where state = 'inProgress')::int as running,
       count(*) filter (where state = 'failed') > 10 as fail, max(last_seen_at) <= '${now.toISOString()}' as is_past
     from session where organization_id = $1`,
  );
  expect(found).toEqual({
    has_many: true,
    agents: 5,
    projects: 3,
    creators: 3,
    days: 60,
    waiting: 2,
    running: 3,
    fail: true,
    is_past: true,
  });
});

test('what runs has not reported its end, and the audit log says when the webhook was created', async () => {
  const [found] = await query(
    `select (select count(*)::int from session_event e join session s on s.id = e.session_id and s.organization_id = e.organization_id
         where e.organization_id = $1 and s.state = 'inProgress' and e.event_data::text like '%session_finished%') as ends,
       (select w.created_at = a.occurred_at from webhook w join audit_entry a on a.target_id = w.id and a.organization_id = w.organization_id
         where w.organization_id = $1 and a.operation = 'createWebhook') as is_same_time`,
  );
  expect(found).toEqual({ ends: 0, is_same_time: true });
});

test('the month before has costs, and minutes are between the events of what runs, which has no transcript', async () => {
  const [found] = await query(
    `select (select sum(cost_usd) > 10 from usage_sum where organization_id = $1 and day >= '2026-05-01' and day < '2026-06-01') as has_costs,
       max(e.created_at) - min(e.created_at) > interval '5 minutes' as takes_minutes, max(e.created_at) < '${now.toISOString()}' as is_past,
       count(distinct e.created_at) > 15 as has_times, bool_or(s.source ? 'transcript') as has_transcript, count(distinct s.id)::int as sessions
     from session_event e join session s on s.id = e.session_id and s.organization_id = e.organization_id
     where e.organization_id = $1 and s.title = 'Fix the coupon total'`,
  );
  expect(found).toEqual({
    has_costs: true,
    takes_minutes: true,
    is_past: true,
    has_times: true,
    has_transcript: false,
    sessions: 1,
  });
});

test('the sums of usage equal those of the sessions, on each day', async () => {
  const amounts = ['input_tokens', 'output_tokens', 'cached_input_tokens', 'turns', 'tool_calls', 'tool_errors'];
  const summed = [...amounts.map((name) => `sum(${name})::int as ${name}`), 'round(sum(cost_usd)::numeric, 6) as cost'];
  const ofSessions = await query(`select agent, project_id, ${summed.join(', ')} from session_stream h
    join session s on s.id = h.session_id where s.organization_id = $1 and h.organization_id = $1 group by 1, 2 order by 1, 2`);
  expect(
    await query(
      `select agent, project_id, ${summed.join(', ')} from usage_sum where organization_id = $1 group by 1, 2 order by 1, 2`,
    ),
  ).toEqual(ofSessions);
  const days = (table: string, day: string, count: string) =>
    query(
      `select to_char(${day}, 'YYYY-MM-DD') as day, ${count}::int as count from ${table} and organization_id = $1 group by 1 having ${count} > 0 order by 1`,
    );
  expect(await days('usage_sum where true', 'day', 'sum(sessions)')).toEqual(
    await days('session where true', `created_at at time zone 'utc'`, 'count(*)'),
  );
  expect(await days('usage_sum where true', 'day', 'sum(failed_sessions)')).toEqual(
    await days(`session where state = 'failed'`, `updated_at at time zone 'utc'`, 'count(*)'),
  );
});

test('a session failed yesterday, a connection needs an authorization, a webhook is disabled, and occurrences were refused', async () => {
  const { data } = await gateway.graphql<{ viewer: { organization: object } }>(
    key,
    `query($from: DateTime!) { viewer { organization {
       failed: sessions(filter: { states: [FAILED], createdFrom: $from }) { totalCount }
       mcpServers { nodes { name nextAction } }
       webhooks { nodes { isEnabled disabledReason deliveries(first: 10) { nodes { state } } } }
       eventViolations { nodes { reason property count } }
       usageReport(from: "2026-05-01", until: "2026-06-01", groupBy: TOOL) { rows { key toolErrors } }
     } } }`,
    { from: new Date(now.getTime() - 2 * DAY_MS).toISOString() },
  );
  expect(data?.viewer.organization).toMatchObject({
    failed: { totalCount: expect.toSatisfy((count: number) => count > 0) },
    mcpServers: {
      nodes: [
        { name: 'Issue tracker', nextAction: 'AUTHORIZE' },
        { name: 'Notes', nextAction: 'NONE' },
      ],
    },
    webhooks: { nodes: [{ isEnabled: false, disabledReason: 'FAILING' }] },
  });
  expect(data).toHaveProperty('viewer.organization.webhooks.nodes[0].deliveries.nodes[0].state', 'FAILED');
  expect(data).toHaveProperty('viewer.organization.eventViolations.nodes[9].count', '1');
});

test('the definitions have occurrences of the last 30 days', async () => {
  const counts = await query<{ days: number }>(
    `select count(distinct date(occurred_at at time zone 'utc'))::int as days from event_occurrence where organization_id = $1 group by definition_id`,
  );
  for (const { days } of counts) expect(days).toBeGreaterThan(25);
});

test('a database with an organization gets no demo', async () => {
  const [before] = await query('select count(*) from session where organization_id = $1');
  expect(await createDemoWorkspace(gateway.dependencies)).toBeUndefined();
  expect(await query('select count(*) from session where organization_id = $1')).toEqual([before]);
});
