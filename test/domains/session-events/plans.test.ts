import pg from 'pg';
import { expect, test } from 'vitest';
import { onStatement } from '../../../src/core/postgres/driver/statement-channels.ts';
import { foldAppended } from '../../../src/domains/session-events/public.ts';
import { indexSessions } from '../../../src/domains/session-events/search-index.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, moveTo, tail } from '../../support/fixtures/sessions.ts';
import { type RecordedStatement, measurePlan } from '../../support/statement-plans.ts';

const gateway = useOwnGateway();

test('PostgreSQL plans pages of a long session once, not at each execution', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(1));
  const { sql } = gateway.dependencies;
  await sql.query(
    `insert into session_event (session_id, id, organization_id, created_at, event_type, message_id, provider, event_data)
      select session_id, n, organization_id, created_at, event_type, message_id, provider, event_data
      from session_event, generate_series(2, 20000) n where session_id = $1`,
    [id],
  );
  await sql.query('analyze session_event', []);
  for (let cursor = 0; cursor < 2000; cursor += 100)
    expect(await gateway.rest('GET', `/v1/sessions/${id}/events?limit=100&cursor=${cursor}`, { key })).toMatchObject({
      status: 200,
    });
  // PostgreSQL plans a prepared statement for its values five times before it compares that with one plan for any values.
  const [plans] = await sql.query<{ once: number; anew: number }>(
    `select generic_plans::int as once, custom_plans::int as anew from pg_prepared_statements where statement like '%longest%'`,
    [],
  );
  expect(plans).toEqual({ once: expect.any(Number), anew: 5 });
  expect(plans?.once).toBeGreaterThan(0);
});

test('a redaction finds the searched texts of its events by their keys, whatever PostgreSQL knows of the session', async () => {
  const { key, organizationId } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const count = 200;
  const { sql, database } = gateway.dependencies;
  // So many sessions with one text each that PostgreSQL expects one in a session that it does not know.
  await sql.query('alter table session_text set (autovacuum_enabled = false)', []);
  const others = `select gen_random_uuid(), 'title', $1, 0, now(), to_tsvector('x') from generate_series(1, 20000)`;
  const columns = 'session_id, item, organization_id, event_id, created_at, document';
  await sql.query(`insert into session_text (${columns}) ${others}`, [organizationId]);
  await sql.query('analyze session_text', []);
  await append(gateway, key, id, eventsOf(count, { data: { accumulatedText: 'a text' } }));
  while ((await indexSessions(database.em)) > 0);
  await sql.query(
    `insert into session_text (${columns}) select $1, 'more ' || n, $2, 10000 + n, now(), to_tsvector('x') from generate_series(1, 20000) n`,
    [id, organizationId],
  );
  const statements: RecordedStatement[] = [];
  onStatement(await database.driver.getConnection().getNativeClient(), ({ text, values }) => {
    if (/session_text/.test(text) && /delete|insert/i.test(text)) statements.push({ text, values });
  });
  const eventIds = Array.from({ length: count }, (_, index) => index + 1);
  expect(await gateway.rest('POST', `/v1/sessions/${id}/redact`, { key, body: { eventIds } })).toMatchObject({
    status: 200,
    body: { redactedEvents: count },
  });
  expect(statements.length).toBeGreaterThan(0);
  const client = new pg.Client(gateway.databaseUrl);
  await client.connect();
  for (const statement of statements) {
    const { rows } = await measurePlan(client, statement, 'force_custom_plan');
    expect([rows <= count, statement.text]).toEqual([true, statement.text]);
  }
  await client.end();
});

test('a page of entries, or of the events of one, reads rows in proportion to itself, anywhere in a long session, in both directions and with filters', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const call = (itemId: string, status: string) =>
    append(gateway, key, id, eventsOf(1, { data: { toolName: 'wait', itemId, toolResult: { status } } }));
  await call('failed', 'running');
  for (let batch = 0; batch < 4; batch += 1)
    await append(gateway, key, id, eventsOf(1000, { data: { source: 'user', accumulatedText: 'a text' } }));
  await call('failed', 'error');
  await call('open', 'running');
  await moveTo(gateway, key, id, 'IN_PROGRESS');
  await moveTo(gateway, key, id, 'COMPLETED');
  const { sql, database, unfolded } = gateway.dependencies;
  while ((await foldAppended(sql, unfolded)) > 0);
  for (const table of ['session_event', 'session_entry']) await sql.query(`analyze ${table}`, []);
  const statements: RecordedStatement[] = [];
  onStatement(await database.driver.getConnection().getNativeClient(), ({ text, values }) => {
    if (text.includes('session_entry')) statements.push({ text, values });
  });
  await gateway.rest('GET', `/v1/sessions/${id}/entries?limit=50&cursor=2000`, { key });
  const page = `query($id: ID!) { session(id: $id) {
    after: entries(first: 50, after: "2000") { nodes { id } } before: entries(last: 50, before: "2000") { nodes { id } }
    from: entries(first: 50, filter: { turnFrom: 3000 }) { nodes { turn } } back: entries(last: 50, filter: { turnFrom: 3990 }) { nodes { id } }
    one: entries(filter: { turnFrom: 2000, turnBefore: 2001 }) { nodes { turn } }
    failed: entries(filter: { isFailed: true }) { nodes { databaseId events(last: 1) { nodes { databaseId } } } }
  } }`;
  const read = await gateway.graphql(key, page, { id });
  expect(read).toMatchObject({
    data: {
      session: {
        from: { nodes: { 0: { turn: 3000 }, length: 50 } },
        back: { nodes: { length: 12 } },
        one: { nodes: [{ turn: 2000 }] },
        failed: { nodes: [{ databaseId: 1, events: { nodes: [{ databaseId: 4002 }] } }] },
      },
    },
  });
  const stream = await tail(gateway, key, id, { of: 'entries', query: '?cursor=4002' });
  for (let message = await stream.nextData(); message; message = await stream.nextData());
  expect(statements.some(({ text }) => text.includes('closed_with >'))).toBe(true);
  const client = new pg.Client(gateway.databaseUrl);
  await client.connect();
  for (const statement of statements)
    for (const mode of ['force_custom_plan', 'force_generic_plan'] as const) {
      const { rows } = await measurePlan(client, statement, mode);
      expect([rows < 250, statement.text, mode, rows]).toEqual([true, statement.text, mode, rows]);
    }
  await client.end();
});
