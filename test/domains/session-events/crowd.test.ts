import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, readAll } from '../../support/fixtures/sessions.ts';

let gateway: TestGateway;
let impatient: TestGateway;
let key: string;
beforeAll(async () => {
  // So long that a hundred appends do not time out on a slow machine.
  gateway = await startTestGateway({}, { timing: { appendWaitMs: 3_600_000 } });
  impatient = await startTestGateway({}, { beside: gateway, timing: { appendWaitMs: 0 } });
  ({ key } = await gateway.createKey());
});
afterAll(async () => {
  await impatient.close();
  await gateway.close();
});

const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('100 appends that wait for one session use one connection, and requests for other sessions do not wait for them', async () => {
  const hot = await createSession(gateway, key);
  const other = await createSession(gateway, key);
  const holder = new pg.Client(gateway.databaseUrl);
  await holder.connect();
  await holder.query('begin');
  await holder.query('select from session_stream where session_id = $1 for update', [hot]);
  const waiting = async () => {
    const { rows } = await holder.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows[0]?.count;
  };
  const takeSpy = vi.spyOn(gateway.dependencies.appendQueue, 'take');
  const order: string[] = [];
  const appends = range(100).map(async (from) => {
    const appended = await append(gateway, key, hot, eventsOf(1, { from }));
    order.push('hot');
    return appended;
  });
  await expect.poll(() => takeSpy.mock.calls).toHaveLength(100);
  for (const from of range(10)) {
    expect(await append(gateway, key, other, eventsOf(1, { from }))).toMatchObject({ lastId: String(from) });
    expect(await readAll(gateway, key, other)).toHaveLength(from);
    order.push('other');
  }
  expect(await waiting()).toBe(1);
  await holder.query('commit');
  await holder.end();
  const ids = (await Promise.all(appends)).map(({ lastId }) => Number(lastId));
  expect(order).toEqual([...Array<string>(10).fill('other'), ...Array<string>(100).fill('hot')]);
  expect(ids.toSorted((a, b) => a - b)).toEqual(range(100));
  const stored = await readAll(gateway, key, hot);
  expect(ids.map((id) => stored[id - 1]?.eventData.index)).toEqual(range(100));
});

test('an append that waits too long in the queue is 503 with Retry-After and stores nothing; the next one is served', async () => {
  const id = await createSession(gateway, key);
  const leaveQueue = await impatient.dependencies.appendQueue.take(`append ${id}`, 0);
  const response = await impatient.fetch('/graphql', {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      query: 'mutation($input: AppendSessionEventsInput!) { appendSessionEvents(input: $input) { __typename } }',
      variables: { input: { sessionId: id, events: eventsOf(1) } },
    }),
  });
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await response.json()).toMatchObject({
    errors: [
      {
        message: 'too many requests append to this session at the same time; try again',
        extensions: { code: 'UNAVAILABLE' },
      },
    ],
  });
  leaveQueue?.();
  expect(await append(impatient, key, id, eventsOf(1))).toMatchObject({ firstId: '1' });
});
