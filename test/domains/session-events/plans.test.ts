import { expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway({ RATE_LIMIT_PER_MINUTE: '0' });

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
