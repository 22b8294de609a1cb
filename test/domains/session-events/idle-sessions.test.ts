import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { completeIdleSessions } from '../../../src/domains/session-events/idle-sessions.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, append, eventsOf } from '../../support/fixtures/sessions.ts';

/** Nobody ends the session of a transcript but its agent, which may not say so. */

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const { signal } = new AbortController();
/** Runs the job, as it runs after so many minutes. */
async function completeAfter(minutes: number) {
  const context = workContext(gateway.dependencies);
  const storedNow = async () => new Date((await context.storedNow()).getTime() + minutes * 60_000);
  await completeIdleSessions({ ...context, storedNow, signal }, randomUUID());
}

async function begin() {
  const path = `/v1/sessions/by-source/claude/${randomUUID()}`;
  const { id } = (await gateway.rest<{ id: string }>('PUT', path, { key, body: {} })).body;
  return id;
}
const move = (id: string, state: string) =>
  gateway.rest('POST', `/v1/sessions/${id}/transition`, { key, body: { state } });
const stateOf = async (id: string) =>
  (await gateway.rest<{ state: { current: string } }>('GET', `/v1/sessions/${id}`, { key })).body.state.current;
const add = (id: string, n: number) =>
  gateway.fetch(`/v1/sessions/${id}/events?file=a.jsonl&fromLine=${n}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/x-ndjson; format=claude-transcript' },
    // Its own time is long ago.
    body: JSON.stringify({ type: 'user', uuid: `u${n}`, timestamp: '2025-01-01T00:00:00Z', message: { content: 'x' } }),
  });

test('a recorder whose agent is quiet keeps its session alive', async () => {
  const id = await begin();
  await move(id, 'inProgress');
  const write = (body: string) =>
    gateway.fetch(`/v1/sessions/${id}/events`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/x-ndjson; format=claude' },
      body,
    });
  expect((await write('{"type":"system","subtype":"init","session_id":"s"}')).status).toBe(201);
  const { sql } = gateway.dependencies;
  const hourAgo = `now() - interval '1 hour'`;
  await sql.query(`update session set updated_at = ${hourAgo}, last_seen_at = ${hourAgo} where id = $1`, [id]);
  await sql.query(`update session_event set stored_at = ${hourAgo} where session_id = $1`, [id]);
  expect((await write('')).status).toBe(200);
  await completeAfter(20);
  expect(await stateOf(id)).toBe('inProgress');
  await completeAfter(31);
  expect(await stateOf(id)).toBe('completed');
});

test('the session of a transcript is completed when nothing was added for 30 minutes, and goes on with a later line', async () => {
  const [old, empty, queued] = [await begin(), await begin(), await begin()];
  const source = { name: 'a file', type: 'transcript' };
  const other = await createSession(gateway, key, { source });
  for (const id of [old, empty, other]) await move(id, 'inProgress');
  await add(old, 1);
  await append(gateway, key, other, eventsOf(1));
  await completeAfter(29);
  expect(await Promise.all([old, empty, queued].map(stateOf))).toEqual(['inProgress', 'inProgress', 'queued']);
  await completeAfter(31);
  expect(await Promise.all([old, empty, queued, other].map(stateOf))).toEqual([
    'completed',
    'completed',
    'queued',
    'inProgress',
  ]);
  expect((await add(old, 2)).status).toBe(409);
  await move(old, 'queued');
  await move(old, 'inProgress');
  expect((await add(old, 2)).status).toBe(201);
  await completeAfter(29);
  expect(await stateOf(old)).toBe('inProgress');
  const { body } = await gateway.rest<{ items: { subjectId: string; data: object }[] }>(
    'GET',
    '/v1/feed?types=session.state_changed&limit=100',
    { key },
  );
  expect(body.items).toContainEqual(
    expect.objectContaining({ subjectId: empty, data: { state: 'completed', previousState: 'inProgress' } }),
  );
});
