import type { Pool } from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { enqueueJob } from '../../../src/core/jobs.ts';
import { startJobs } from '../../../src/gateway/background-jobs.ts';
import { startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import { createSession, subscribe, tail } from '../../support/fixtures/sessions.ts';

const gateway = useOwnGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

/** The values of all series, by name with labels. */
async function metrics(): Promise<Map<string, number>> {
  const response = await gateway.fetch('/metrics');
  expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

const value = async (series: string) => (await metrics()).get(series);

test('requests are counted by API, operation and status, and GraphQL root fields by their outcome, whatever their alias', async () => {
  const narrow = await gateway.createKey({ scopes: ['sessions.read'] });
  await gateway.rest('GET', '/events/2026-03/event-definitions', { key });
  await gateway.rest('GET', '/events/2026-03/event-definitions', { key: narrow.key });
  const unknown = '{ a: session(id: "nothing") { id } ...More } fragment More on Query { viewer { user { id } } }';
  await gateway.graphql(key, unknown);
  await gateway.graphql(narrow.key, 'query Any { eventDefinition(name: "x") { id } }');
  const seen = await metrics();
  const operation = 'api="rest",operation="searchEventDefinitions"';
  expect(seen.get(`gateway_requests_total{${operation},status="200"}`)).toBe(1);
  expect(seen.get(`gateway_requests_total{${operation},status="403"}`)).toBe(1);
  expect(seen.get(`gateway_request_duration_seconds_count{${operation}}`)).toBe(2);
  expect(seen.get('gateway_requests_total{api="graphql",operation="graphql",status="200"}')).toBe(2);
  expect(seen.get('gateway_graphql_fields_total{field="Query.viewer",outcome="ok"}')).toBe(1);
  expect(seen.get('gateway_graphql_fields_total{field="Query.session",outcome="ok"}')).toBe(1);
  expect(seen.get('gateway_graphql_fields_total{field="Query.eventDefinition",outcome="FORBIDDEN"}')).toBe(1);
  expect(seen.get('gateway_graphql_cost_count')).toBe(2);
});

test('names, paths and methods that callers invent add no series', async () => {
  const ask = async (n: number) => {
    await gateway.rest('GET', `/no/such/path/${n}`, { key });
    await gateway.rest('GET', `/v1/sessions/${n}/events`, { key });
    await gateway.fetch('/graphql', { method: `M${n}`, headers: { Authorization: `Bearer ${key}` } });
    await gateway.graphql(key, `query Name${n} { alias${n}: __typename }`);
    await gateway.graphql(key, `{ wrong${n} }`);
  };
  // Metrics of Node.js may appear at any time, for example after the first garbage collection of a kind.
  const ours = async () => [...(await metrics()).keys()].filter((series) => series.startsWith('gateway_'));
  await ask(0);
  await metrics();
  const before = await ours();
  expect(before).not.toEqual([]);
  for (let n = 1; n < 20; n += 1) await ask(n);
  expect(await ours()).toEqual(before);
});

test('the gauge of database connections shows how many are in use, idle and awaited', async () => {
  const pool: Pool = await gateway.dependencies.database.driver.getConnection().getNativeClient();
  const held = [await pool.connect(), await pool.connect()];
  expect(await value('gateway_database_connections{state="in_use"}')).toBe(2);
  while (held.length < pool.options.max) held.push(await pool.connect());
  const awaited = pool.connect();
  const scraped = metrics();
  // The metrics read the pool, then wait for connections that count jobs, webhooks and sessions to index, compare clocks and read the last heartbeat.
  await expect.poll(() => pool.waitingCount).toBe(6);
  for (const client of held) client.release();
  (await awaited).release();
  const full = await scraped;
  expect(full.get('gateway_database_connections{state="in_use"}')).toBe(pool.options.max);
  expect(full.get('gateway_database_connections{state="idle"}')).toBe(0);
  expect(full.get('gateway_database_connections{state="waiting"}')).toBe(1);
  const seen = await metrics();
  expect(seen.get('gateway_database_connections{state="in_use"}')).toBe(0);
  expect(seen.get('gateway_database_connections{state="idle"}')).toBeGreaterThanOrEqual(2);
  expect(seen.get('gateway_database_connections{state="waiting"}')).toBe(0);
});

test('the gauge of jobs shows unfinished jobs by queue and state', async () => {
  const series = 'gateway_jobs{queue="user-deletion",state="created"}';
  expect(await value(series)).toBe(0);
  const { database, newId } = gateway.dependencies;
  await database.em
    .fork()
    .transactional((em) => enqueueJob(em, 'user-deletion', { id: newId(), data: {}, delaySeconds: 60 }));
  expect(await value(series)).toBe(1);
  expect(await value('gateway_jobs{queue="event-purge",state="active"}')).toBe(0);
});

test('the last heartbeat of a process that runs jobs is known, also when none runs any more', async () => {
  const series = 'gateway_job_runner_heartbeat_timestamp_seconds';
  expect(await value(series)).toBe(0);
  const worker = await startJobs(gateway.dependencies);
  const last = await value(series);
  expect(last).toBeGreaterThan(0);
  await worker.stop();
  expect(await value(series)).toBe(last);
});

test('the gauge of open live tails counts them on both APIs until they end', async () => {
  const id = await createSession(gateway, key);
  const rest = await tail(gateway, key, id);
  const graphql = await subscribe(
    gateway,
    key,
    'subscription($id: ID!) { sessionEvents(sessionId: $id) { databaseId } }',
    { id },
  );
  await Promise.all([rest.next(), graphql.next()]);
  const open = async () => [
    await value('gateway_tails_open{api="rest"}'),
    await value('gateway_tails_open{api="graphql"}'),
  ];
  expect(await open()).toEqual([1, 1]);
  await rest.close();
  await graphql.close();
  await expect.poll(open).toEqual([0, 0]);
});

test('requests to other servers are counted by outcome', async () => {
  const { outbound } = gateway.dependencies;
  await expect(outbound.begin().fetch('http://127.0.0.1:1/')).rejects.toThrow('not a public address');
  await expect(outbound.begin().fetch('not an address')).rejects.toThrow('not a valid URL');
  expect(await value('gateway_outbound_duration_seconds_count{outcome="refused"}')).toBe(2);
});

test('with METRICS_TOKEN, /metrics answers 401 without the token and with an API key instead', async () => {
  const token = 'scrape-me-0123456789';
  const guarded = await startTestGateway({ METRICS_TOKEN: token }, { beside: gateway });
  const status = async (headers: Record<string, string>) => (await guarded.fetch('/metrics', { headers })).status;
  expect(await status({})).toBe(401);
  expect(await status({ Authorization: `Bearer ${key}` })).toBe(401);
  expect(await status({ Authorization: `Bearer ${token}x` })).toBe(401);
  expect(await status({ Authorization: `Bearer ${token}` })).toBe(200);
  await guarded.close();
});

test('many requests for readiness and metrics cost no more SQL statements than one', async () => {
  const steady = await startTestGateway({}, { beside: gateway, timing: { recentMs: Infinity } });
  const ask = (times: number) =>
    Promise.all(Array.from({ length: times }, () => [steady.fetch('/health/ready'), steady.fetch('/metrics')]).flat());
  await ask(1);
  const once = steady.statements.length;
  expect(once).toBeGreaterThan(0);
  await ask(50);
  expect(steady.statements.length).toBe(once);
  await steady.close();
  // Even if results are not reused, concurrent requests share one check.
  gateway.statements.length = 0;
  await Promise.all(Array.from({ length: 50 }, () => gateway.fetch('/health/ready')));
  expect(gateway.statements.length).toBeLessThanOrEqual(once);
});
