import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { countWaitingForLock, untilWaitingForLock, whileLocked } from '../../support/fixtures/locks.ts';
import { append, createSession, eventsOf, mutate, pullRequestInput, readAll } from '../../support/fixtures/sessions.ts';
import { recordSession } from '../../support/fixtures/workspace.ts';
import { runJobs } from '../../support/processes/jobs.ts';

/** Redactions beside other requests: what these have read before does not bring a text back. */

let gateway: TestGateway;
let key: string;
let organizationId: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ key, organizationId } = await gateway.createKey());
});
afterAll(() => gateway.close());

const SECRET = 'swordfish';
const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const redact = (sessionId: string, body: object, headers = {}) =>
  gateway.rest<{ redactedEvents: number }>('POST', `/v1/sessions/${sessionId}/redact`, { key, body, headers });
const record = (sessionId: string, ...lines: object[]) =>
  gateway.rest('POST', `/v1/sessions/${sessionId}/events`, {
    key,
    body: lines.map((line) => JSON.stringify(line)).join('\n'),
    headers: { 'Content-Type': 'application/x-ndjson; format=gemini' },
  });
const part = (content: string) => ({ type: 'message', role: 'assistant', content, delta: true });
const recordSecret = async () => {
  const sessionId = await createSession(gateway, key);
  await append(gateway, key, sessionId, [
    { eventType: 'x', provider: 'p', eventData: { type: 'x', text: `the ${SECRET}` } },
  ]);
  return sessionId;
};

/** An arbitrary key for an advisory lock. */
const LOCK = 7_340_036;

/** Calls `run` while what a trigger is for waits before it changes a row. */
async function whileWaiting(what: string, run: (release: () => Promise<void>) => Promise<void>): Promise<void> {
  await rows(
    `create or replace function wait_before() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(${LOCK}); return new; end $$`,
  );
  await rows(`create trigger wait_before before ${what} execute function wait_before()`);
  await whileLocked(gateway, 'select pg_advisory_xact_lock(?)', [LOCK], run);
  await rows('drop function wait_before cascade');
}

test.each([{ text: SECRET }, { eventIds: [1] }])(
  'an append that has read the text of a message before %j does not store it again',
  async (body) => {
    const sessionId = await createSession(gateway, key);
    await record(sessionId, part(`the ${SECRET} `));
    // Of the two, only an append writes the last id.
    await whileWaiting('update of last_id on session_stream for each statement', async (release) => {
      const appending = record(sessionId, part('goes on'));
      await untilWaitingForLock(gateway, 1);
      expect((await redact(sessionId, body)).body).toMatchObject({ redactedEvents: 1 });
      await release();
      expect((await appending).status).toBe(201);
    });
    await record(sessionId, part(' to its end'), { type: 'result' });
    const events = await readAll(gateway, key, sessionId);
    expect(JSON.stringify(events)).not.toContain(SECRET);
    expect(await rows('select format_memory from session_stream where session_id = $1', sessionId)).not.toContainEqual({
      format_memory: expect.stringContaining(SECRET),
    });
  },
);

test('events that are redacted by their ids do not come back with the rest of their message', async () => {
  const sessionId = await createSession(gateway, key);
  await record(sessionId, part('a kept message'), { type: 'tool_use', tool_name: 't', tool_id: 'c', parameters: {} });
  await record(sessionId, part(`the ${SECRET} `));
  const before = await readAll(gateway, key, sessionId);
  const id = before.find(({ eventData }) => JSON.stringify(eventData).includes(SECRET))?.id;
  expect((await redact(sessionId, { eventIds: [id] })).status).toBe(200);
  await record(sessionId, part('goes on'), { type: 'result' });
  expect(JSON.stringify(await readAll(gateway, key, sessionId))).not.toContain(SECRET);
});

test('a hold that is set after a redaction has begun keeps the pull requests', async () => {
  const { sessionId, artifactId } = await recordSession(gateway, key);
  await mutate(gateway, key, 'recordPullRequest', {
    ...pullRequestInput(artifactId),
    diff: { additions: 1, deletions: 0, data: `+${SECRET}` },
  });
  await rows(
    `create or replace function hold_for_test() returns trigger language plpgsql as $$ begin update session set held_at = now() where id = new.target_id; return null; end $$`,
  );
  await rows(
    `create or replace trigger hold_for_test after insert on audit_entry for each row when (new.operation = 'redactSessionEvents') execute function hold_for_test()`,
  );
  expect(await redact(sessionId, { text: SECRET })).toMatchObject({ status: 409 });
  await rows('drop trigger hold_for_test on audit_entry');
  expect(
    await rows(`select diff ->> 'data' as data from pull_request where artifact_id = $1`, artifactId),
  ).toContainEqual({ data: `+${SECRET}` });
});

/** Its answer has the events of a session that it does not change. */
const READING = `mutation($id: ID!) { updateOrganizationRetention(input: {organizationId: $id, sessionDays: null}) {
  ... on UpdateOrganizationRetentionPayload { organization { sessions(first: 1) { nodes { events { nodes { eventDataJson } } } } } } } }`;
const askAs = (name: string) => gateway.graphql(key, READING, { id: organizationId }, { 'Idempotency-Key': name });

test('an answer that is stored while a text is redacted is erased', async () => {
  const sessionId = await recordSecret();
  const event = 'select from session_event where session_id = ? for update';
  await whileLocked(gateway, event, [sessionId], async (release) => {
    const redacting = redact(sessionId, { text: SECRET });
    await untilWaitingForLock(gateway, 1);
    expect(JSON.stringify(await askAs('beside'))).toContain(SECRET);
    await release();
    expect((await redacting).status).toBe(200);
  });
  expect((await askAs('beside')).errors?.[0]?.message).toContain('its answer was erased');
});

test.each(['redacted', 'deleted'])(
  'the answer of a change that has read a session before it is %s is erased',
  async (how) => {
    const sessionId = await recordSecret();
    const stored = `update on idempotency_key for each row when (new.answer <> '')`;
    await whileWaiting(stored, async (release) => {
      const asking = askAs(`before it is ${how}`);
      await untilWaitingForLock(gateway, 1);
      const changing =
        how === 'redacted'
          ? redact(sessionId, { text: SECRET })
          : gateway.rest('DELETE', `/v1/sessions/${sessionId}`, { key }).then(() => runJobs(gateway));
      await untilWaitingForLock(gateway, 2);
      await release();
      expect(JSON.stringify(await asking)).toContain(SECRET);
      await changing;
    });
    expect((await askAs(`before it is ${how}`)).errors?.[0]?.message).toContain('its answer was erased');
  },
);

test('with an idempotency key, too, others append while a session is redacted', async () => {
  const sessionId = await recordSecret();
  await whileLocked(
    gateway,
    'select from session_event where session_id = ? for update',
    [sessionId],
    async (release) => {
      const redacting = redact(sessionId, { text: SECRET }, { 'Idempotency-Key': 'redacted once' });
      await untilWaitingForLock(gateway, 1);
      expect(await append(gateway, key, sessionId, eventsOf(1))).toMatchObject({ lastId: '2' });
      expect(await countWaitingForLock(gateway)).toBe(1);
      await release();
      expect((await redacting).body).toMatchObject({ redactedEvents: 1 });
    },
  );
  expect((await redact(sessionId, { text: SECRET }, { 'Idempotency-Key': 'redacted once' })).body).toMatchObject({
    redactedEvents: 1,
  });
});
