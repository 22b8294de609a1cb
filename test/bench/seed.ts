import pg from 'pg';

/** The seed data of the benchmark. Ids are sequential, so that baseline, gateway and client can compute them. */

export const EVENT_SESSIONS = 20;
export const EVENTS_ELSEWHERE = 1_000;
export const NESTED_SESSIONS = 50;
export const APPEND_SESSIONS = 8;
export const DEFINITIONS = 200;
export const PROPERTIES = 40;

/** Sessions 1 to 20 have events, most of them the first; 21 to 70 have artifacts; the others are for appends. */
export const sessionId = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
export const BIG_SESSION = sessionId(1);
export const nestedSession = (n: number) => sessionId(EVENT_SESSIONS + 1 + (n % NESTED_SESSIONS));
export const appendSession = (n: number) => sessionId(EVENT_SESSIONS + NESTED_SESSIONS + 1 + (n % APPEND_SESSIONS));
export const definitionName = (n: number) => `event_${String(1 + (n % DEFINITIONS)).padStart(3, '0')}`;

export interface SeedOptions {
  readonly url: string;
  readonly organizationId: string;
  readonly userId: string;
  /** Events of the first session. */
  readonly events: number;
}

/** Fills an empty, migrated database and updates its statistics. */
export async function seed({ url, organizationId, userId, events }: SeedOptions): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(PROJECTS, [organizationId]);
    await client.query(SESSIONS, [organizationId, userId, EVENT_SESSIONS + NESTED_SESSIONS + APPEND_SESSIONS]);
    await client.query(STREAMS, [organizationId, events, EVENT_SESSIONS, EVENTS_ELSEWHERE]);
    await client.query(EVENTS, [organizationId]);
    await client.query(ARTIFACTS, [organizationId, EVENT_SESSIONS, NESTED_SESSIONS]);
    await client.query(PULL_REQUESTS, [organizationId]);
    await client.query(DEFINITION_ROWS, [organizationId, DEFINITIONS]);
    await client.query(PROPERTY_ROWS, [organizationId, PROPERTIES]);
    await client.query(AUDIT_ENTRIES, [organizationId]);
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
}

/** A sequential UUID; `kind` distinguishes tables. */
const uuid = (kind: number, n: string) =>
  `format('00000000-0000-4000-8%s-%s', lpad('${kind}', 3, '0'), lpad((${n})::text, 12, '0'))::uuid`;
const BEGAN = `timestamptz '2026-03-01 08:00:00Z'`;

const PROJECTS = `
  insert into project (organization_id, id, name, icon, color, created_at, updated_at)
  select $1, ${uuid(1, 'n')}, 'Project ' || n, 'code', 'teal', ${BEGAN}, ${BEGAN} from generate_series(1, 5) n`;

const SESSIONS = `
  insert into session (id, organization_id, creator_id, title, description, rich_content, kind, session_type, mode, visibility, level, state,
    agent, agent_id, agent_options, artifact_type, base_branch, branch_name, target_branch, project_id, sandbox_size, mcp_servers, external_id,
    external_url, is_pinned, diff_summary, source, source_pull_request, created_at, updated_at, last_queued_at, last_seen_at)
  select ${uuid(0, 'n')}, $1, $2, 'Fix the flaky checkout test, part ' || n, 'The checkout test fails about one time in twenty on the runner; find out why.',
    null, 'agent', 'Chat', 'normal', 'public', n % 100, 'inProgress', 'coder', ${uuid(2, '1')}, jsonb_build_object('reasoningLevel', 'high'),
    'PullRequest', 'main', 'agent/checkout-' || n, 'main', (${uuid(1, '1 + n % 5')})::text, 'large', '{}', 'ticket-' || n,
    'https://tickets.example.com/' || n, n % 10 = 0, jsonb_build_object('additions', n, 'deletions', n / 2),
    jsonb_build_object('id', ${uuid(3, 'n')}, 'name', 'shop', 'type', 'github', 'repositories', jsonb_build_array(
      jsonb_build_object('id', ${uuid(4, '1')}, 'name', 'shop-web', 'provider', 'github'),
      jsonb_build_object('id', ${uuid(4, '2')}, 'name', 'shop-api', 'provider', 'github'))),
    null, ${BEGAN} + n * interval '1 minute', ${BEGAN} + n * interval '1 minute', ${BEGAN}, now()
  from generate_series(1, $3::int) n`;

const STREAMS = `
  insert into session_stream (session_id, organization_id, last_id, is_closed)
  select id, $1, case when n = 1 then $2::bigint when n <= $3 then $4::bigint else 0 end, false
  from (select id, row_number() over (order by id) as n from session) s`;

// A typical recorded stream: mostly text deltas with the accumulated text, every tenth event the result of a tool.
const DELTA = `format('{"type":"content_block_delta","scope":{"kind":"foreground"},"source":"stream","providerEvent":true,"delivery":"realtime",'
    '"event":{"event":"content_block_delta","message":"%s","provider":"anthropic","messageId":"msg_%s"},"index":%s,"itemId":"item_%s","sequenceNumber":%s,'
    '"accumulatedText":"%s","deltaType":"text_delta","responsePhase":"commentary"}',
  (array['the timer', ' fires before', ' the cart is', ' written, so'])[1 + i % 4], i / 50, i % 7, i / 10, i,
  left('The checkout test waits for the confirmation and then reads the cart. On a slow runner the timer fires before the cart is written, so the assertion sees the old total.', 20 + (i % 15)::int * 10))`;
const TOOL = `format('{"type":"tool_result","scope":{"kind":"subagent","parentToolUseId":"toolu_%s","taskId":"task_%s"},"source":"runner","providerEvent":false,"delivery":"persist",'
    '"index":%s,"itemId":"item_%s","sequenceNumber":%s,"toolName":"bash","toolResult":{"status":"completed","output":"%s","exitCode":0},'
    '"snapshotId":"snap_%s","snapshotCreatedAt":"2026-03-01T08:00:00.000Z"}',
  i, i / 100, i % 7, i / 10, i, 'PASS test/checkout.test.ts (12 tests)\\nPASS test/cart.test.ts (31 tests)\\nRan 43 tests in 2.1 s, 43 passed, none skipped', i / 1000)`;

const EVENTS = `
  insert into session_event (session_id, id, organization_id, created_at, event_type, message_id, provider, event_data)
  select h.session_id, i, $1, ${BEGAN} + i * interval '37 milliseconds', case when i % 10 = 0 then 'tool_result' else 'stream' end,
    ${uuid(5, 'i / 50')}, 'anthropic', (case when i % 10 = 0 then ${TOOL} else ${DELTA} end)::json
  from session_stream h, generate_series(1, h.last_id) i`;

const ARTIFACTS = `
  insert into artifact (id, organization_id, session_id, type, created_at, updated_at)
  select ${uuid(6, '3 * n + k')}, $1, ${uuid(0, 'n')}, case when k = 0 then 'PullRequest' else 'Plan' end,
    ${BEGAN} + (n * 10 + k) * interval '1 second', ${BEGAN} + (n * 10 + k) * interval '1 second'
  from generate_series($2::int + 1, $2::int + $3::int) n, generate_series(0, 2) k`;

const PULL_REQUESTS = `
  insert into pull_request (id, organization_id, artifact_id, url, title, status, is_draft, source_branch, base_branch, head_sha, agent, diff, author,
    code_repository, created_at, updated_at)
  select gen_random_uuid(), $1, a.id, format('https://code.example.com/shop/%s/%s', right(a.id::text, 4), k), 'Wait for the cart, not for the clock', 'open', k = 2,
    'agent/checkout', 'main', md5(a.id::text || k), 'coder',
    jsonb_build_object('additions', 12, 'deletions', 3, 'data', '--- a/test/checkout.test.ts\n+++ b/test/checkout.test.ts\n@@ -40,7 +40,7 @@\n-  await delay(200);\n+  await cart.written();\n   expect(await total()).toBe(1200);'),
    jsonb_build_object('avatarUrl', 'https://code.example.com/avatars/coder.png', 'login', 'coder'),
    jsonb_build_object('id', ${uuid(4, '1')}, 'name', 'shop-web', 'owner', 'shop', 'baseBranch', 'main', 'provider', 'github'),
    a.created_at + k * interval '1 second', a.created_at + k * interval '1 second'
  from artifact a, generate_series(1, 2) k`;

const DEFINITION_ROWS = `
  insert into event_definition (id, organization_id, name, label, description, primary_object, custom_matching_id, include_default_properties, created_at, updated_at, deleted_at)
  select ${uuid(7, 'n')}, $1, 'event_' || lpad(n::text, 3, '0'), 'Event ' || n, 'A visitor does something for the ' || n || 'th time.', 'CONTACT', null, false, ${BEGAN}, ${BEGAN}, null
  from generate_series(1, $2::int) n`;

const PROPERTY_ROWS = `
  insert into event_property (id, organization_id, definition_id, name, label, type, description, options, position, created_at, updated_at)
  select gen_random_uuid(), $1, d.id, 'property_' || k, 'Property ' || k, (array['string', 'number', 'bool', 'datetime', 'enumeration'])[1 + k % 5],
    case when k % 2 = 0 then 'What the visitor saw.' end,
    case when k % 5 = 4 then '[{"label":"Card","value":"card"},{"label":"Invoice","value":"invoice"},{"label":"Voucher","value":"voucher"}]'::jsonb else '[]' end,
    k, ${BEGAN}, ${BEGAN}
  from event_definition d, generate_series(0, $2::int - 1) k`;

/** The plans of prepared statements depend on the size of the table: that of an empty log would be kept while it grows. */
const AUDIT_ENTRIES = `
  insert into audit_entry (occurred_at, id, organization_id, source, operation, target_type, request_id)
  select ${BEGAN} + n * interval '1 minute', gen_random_uuid(), $1, 'request', 'updateSession', 'Session', 'seed-' || n
  from generate_series(1, 20000) n`;
