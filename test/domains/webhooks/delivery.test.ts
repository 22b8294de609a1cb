import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { STDIO, createConnection } from '../../support/fixtures/mcp-connections.ts';
import { Deadlines } from '../../support/fixtures/outbound.ts';
import { createSession, moveTo } from '../../support/fixtures/sessions.ts';
import {
  callWebhooks,
  createWebhook,
  deliver,
  deliverUntil,
  logOf,
  readWebhook,
  receive,
} from '../../support/fixtures/webhooks.ts';

const deadlines = new Deadlines();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { outbound: { deadlineAfter: deadlines.after } });
});
beforeEach(() => gateway.setClock(undefined));
afterAll(() => gateway.close());

interface Entry {
  readonly id: number;
  readonly createdAt: string;
  readonly type: string;
}

async function feedAfter(key: string, cursor: number): Promise<Entry[]> {
  return (await gateway.rest<{ items: Entry[] }>('GET', `/v1/feed?cursor=${cursor}`, { key })).body.items;
}

const at = (clock: Date, ms: number) => new Date(clock.getTime() + ms);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

test('each change after the creation arrives once, in the order of the feed, as the item of the feed', async () => {
  const { key } = await gateway.createKey();
  await createSession(gateway, key);
  await using hook = await receive(gateway, key);
  const { id, receiver } = hook;
  const { cursor } = await readWebhook(gateway, key, id);
  const session = await createSession(gateway, key);
  await moveTo(gateway, key, session, 'IN_PROGRESS', 'COMPLETED');
  await deliver(gateway);
  const sent = await feedAfter(key, cursor);
  expect(sent.map(({ type }) => type)).toEqual(['session.created', 'session.state_changed', 'session.state_changed']);
  expect(receiver.refused).toEqual([]);
  expect(receiver.received.map(({ type, timestamp, data }) => ({ type, timestamp, data }))).toEqual(
    sent.map((entry) => ({ type: entry.type, timestamp: entry.createdAt, data: entry })),
  );
  expect(new Set(receiver.received.map((message) => message.id)).size).toBe(3);
  expect(receiver.received[0]?.headers).toMatchObject({ 'content-type': 'application/json' });
  expect(await readWebhook(gateway, key, id)).toMatchObject({
    cursor: sent.at(-1)?.id,
    attempts: 0,
    failingSince: null,
    lastDeliveredAt: expect.any(String),
  });
  const log = await logOf(gateway, key, id);
  expect(log.map(({ feedEntryId, messageId, ...rest }) => [feedEntryId, messageId, rest])).toEqual(
    sent.map((entry, index) => [
      entry.id,
      receiver.received[index]?.id,
      {
        id: expect.any(String),
        kind: 'entry',
        state: 'succeeded',
        type: entry.type,
        attempt: 1,
        status: 204,
        error: null,
        answer: '',
        durationMs: expect.any(Number),
        createdAt: expect.any(String),
      },
    ]),
  );
  await deliver(gateway);
  expect(receiver.received).toHaveLength(3);
});

test('a webhook gets what administrators see, of its types: private sessions, nothing personal, nothing of others', async () => {
  const { key, organization } = await gateway.createKey();
  const member = await gateway.createKey({ organization });
  const stranger = await gateway.createKey();
  await using all = await receive(gateway, key);
  await using some = await receive(gateway, key, { types: ['session.state_changed', 'member.left'] });
  const hidden = await createSession(gateway, member.key, { visibility: 'PRIVATE' });
  await createConnection(gateway, member.key, { ...STDIO, visibility: 'personal' });
  await createSession(gateway, stranger.key);
  await moveTo(gateway, member.key, hidden, 'IN_PROGRESS');
  await deliver(gateway);
  await gateway.rest('DELETE', `/v1/sessions/${hidden}`, { key: member.key });
  await deliver(gateway);
  const shortly = ({ receiver }: typeof all) => receiver.received.map(({ type, data }) => [type, data.subjectId]);
  expect(shortly(all)).toEqual([
    ['session.created', hidden],
    ['session.state_changed', hidden],
    ['session.deleted', hidden],
  ]);
  expect(shortly(some)).toEqual([['session.state_changed', hidden]]);
});

test('an entry that fails is sent again after 5 s, 5 min, 30 min, 2, 5, 10 and 10 h, or up to a fifth later, with the same id, then given up; the next one follows', async () => {
  const { key } = await gateway.createKey();
  let clock = new Date('2026-05-04T10:20:30.000Z');
  gateway.setClock(clock);
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  receiver.isAnyTime = true;
  const [first, second] = [await createSession(gateway, key), await createSession(gateway, key)];
  receiver.answer = ({ data }, response) => response.writeHead(data.subjectId === first ? 500 : 200).end('no');
  await deliver(gateway);
  const began = clock;
  const tries = [began];
  const pauses = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
  for (const [index, pause] of pauses.entries()) {
    const { nextAttemptAt, ...webhook } = await readWebhook(gateway, key, id);
    expect(webhook).toMatchObject({ attempts: index + 1, failingSince: began.toISOString(), isEnabled: true });
    const due = new Date(nextAttemptAt ?? '');
    const part = (due.getTime() - clock.getTime()) / pause;
    expect(part >= 1 && part <= 1.2).toBe(true);
    tries.push(due);
    gateway.setClock(at(due, -1));
    await deliver(gateway);
    expect(receiver.received).toHaveLength(index + 1);
    gateway.setClock((clock = due));
    await deliver(gateway);
  }
  expect(receiver.received.map(({ data }) => data.subjectId)).toEqual([...pauses.map(() => first), first, second]);
  expect(new Set(receiver.received.slice(0, 8).map((message) => message.id)).size).toBe(1);
  expect(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).toEqual(
    [...tries, clock].map((time) => String(Math.floor(time.getTime() / 1000))),
  );
  const log = await logOf(gateway, key, id);
  const results = (status: number) =>
    log.flatMap((entry) => (entry.status === status ? [[entry.attempt, entry.answer, entry.state]] : []));
  expect(results(500)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => [attempt, 'no', 'failed']));
  expect(results(200)).toEqual([[1, 'no', 'succeeded']]);
  expect(await readWebhook(gateway, key, id)).toMatchObject({ attempts: 0, nextAttemptAt: null, failingSince: null });
});

test('after 5 days of failures it is disabled, with an audit log entry and an entry of the feed; enabled, it goes on where it was', async () => {
  const { key } = await gateway.createKey();
  let clock = new Date('2026-05-04T10:00:00.000Z');
  gateway.setClock(clock);
  await using failing = await receive(gateway, key, { types: ['session.created'] });
  await using other = await receive(gateway, key, { types: ['webhook.failing', 'webhook.disabled'] });
  const { id, receiver } = failing;
  receiver.isAnyTime = other.receiver.isAnyTime = true;
  receiver.answer = (_, response) => response.writeHead(503).end();
  const sessions = [];
  for (let count = 0; count < 8; count += 1) sessions.push(await createSession(gateway, key));
  const end = at(clock, 5 * 24 * HOUR);
  for (;;) {
    await deliver(gateway);
    const { isEnabled, nextAttemptAt } = await readWebhook(gateway, key, id);
    if (!isEnabled) break;
    gateway.setClock((clock = new Date(nextAttemptAt ?? '')));
  }
  expect(clock >= end && clock < at(end, 12 * HOUR)).toBe(true);
  const disabled = { isEnabled: false, disabledAt: clock.toISOString(), disabledReason: 'failing' };
  expect(await readWebhook(gateway, key, id)).toMatchObject({ ...disabled, nextAttemptAt: null });
  // It was announced a day before, or earlier.
  expect(other.receiver.received.map(({ type, data }) => [type, data.subjectId, data['data']])).toEqual([
    ['webhook.failing', id, { disableAfter: end.toISOString() }],
    ['webhook.disabled', id, { reason: 'failing' }],
  ]);
  const announcedAt = new Date(other.receiver.received[0]?.timestamp ?? '');
  expect(announcedAt >= at(end, -36 * HOUR) && announcedAt <= at(end, -24 * HOUR)).toBe(true);
  const audit = await gateway.graphql<{ viewer: { organization: { auditLog: { nodes: { operation: string }[] } } } }>(
    key,
    '{ viewer { organization { auditLog(first: 100) { nodes { operation source targetType targetId } } } } }',
  );
  const entries = audit.data?.viewer.organization.auditLog.nodes;
  expect(entries?.filter(({ operation }) => operation === 'disableWebhook')).toEqual([
    { operation: 'disableWebhook', source: 'JOB', targetType: 'Webhook', targetId: btoa(`Webhook:${id}`) },
  ]);
  const tries = receiver.received.length;
  gateway.setClock(at(clock, 24 * HOUR));
  await deliver(gateway);
  expect(receiver.received).toHaveLength(tries);
  const last = receiver.received.at(-1)?.data.subjectId ?? '';
  receiver.answer = (_, response) => response.writeHead(204).end();
  const enabled = await callWebhooks(gateway, key, 'PATCH', `/${id}`, { isEnabled: true });
  expect(enabled.body).toMatchObject({
    isEnabled: true,
    disabledAt: null,
    disabledReason: null,
    failingSince: null,
    disableAfter: null,
  });
  await deliver(gateway);
  expect(receiver.received.slice(tries).map(({ data }) => data.subjectId)).toEqual(
    sessions.slice(sessions.indexOf(last)),
  );
});

test('410 disables at once; 3xx is a failure and not followed', async () => {
  const { key } = await gateway.createKey();
  await using gone = await receive(gateway, key);
  await using moved = await receive(gateway, key);
  await using target = await receive(gateway, key, { types: ['member.left'] });
  gone.receiver.answer = (_, response) => response.writeHead(410).end();
  moved.receiver.answer = (_, response) => response.writeHead(307, { Location: target.receiver.url }).end();
  await createSession(gateway, key);
  await deliver(gateway);
  expect(await readWebhook(gateway, key, gone.id)).toMatchObject({
    isEnabled: false,
    disabledReason: 'gone',
    attempts: 0,
  });
  expect(await readWebhook(gateway, key, moved.id)).toMatchObject({ isEnabled: true, attempts: 1 });
  expect((await logOf(gateway, key, moved.id)).map(({ state, status }) => [state, status])).toEqual([['failed', 307]]);
  expect(target.receiver.connectionCount).toBe(0);
});

test('one that does not answer holds up no other one, and ends after 15 s', async () => {
  const { key } = await gateway.createKey();
  await using hanging = await receive(gateway, key);
  await using other = await receive(gateway, key);
  hanging.receiver.answer = () => undefined;
  await createSession(gateway, key);
  const delivering = deliver(gateway);
  await Promise.all([hanging.receiver.arrived(1), other.receiver.arrived(1)]);
  await createSession(gateway, key);
  await other.receiver.arrived(2);
  expect(hanging.receiver.received).toHaveLength(1);
  // No other process takes the webhook over meanwhile.
  const leaseOf = async () => {
    const text = 'select lease_until::text as until from webhook where id = $1';
    return (await gateway.dependencies.sql.query<{ until: string }>(text, [hanging.id]))[0]?.until ?? '';
  };
  const lease = await leaseOf();
  await expect.poll(async () => (await leaseOf()) > lease).toBe(true);
  deadlines.passThoseAfter(15_000);
  await delivering;
  const [entry] = await logOf(gateway, key, hanging.id);
  expect(entry).toMatchObject({
    state: 'failed',
    status: null,
    answer: null,
    error: expect.stringMatching(/did not answer in time$/),
  });
});

test('a process that stops gives the message back: another one sends it at once, under the same id', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key);
  const { id, receiver } = hook;
  receiver.answer = () => undefined;
  await createSession(gateway, key);
  const stopping = new AbortController();
  const delivering = deliverUntil(gateway, stopping.signal);
  await receiver.arrived(1);
  stopping.abort(new Error('the process stops'));
  await delivering;
  expect(await logOf(gateway, key, id)).toEqual([]);
  receiver.answer = (_, response) => response.writeHead(204).end();
  await deliver(gateway);
  const [first, second] = receiver.received;
  expect(first?.id).toBe(second?.id);
  expect((await logOf(gateway, key, id)).map(({ state }) => state)).toEqual(['succeeded']);
});

test('a process whose lease another one has taken changes nothing: the other one sends the message again', async () => {
  const { key } = await gateway.createKey();
  const { sql } = gateway.dependencies;
  await using hook = await receive(gateway, key);
  const { id, receiver } = hook;
  const answers: (() => void)[] = [];
  receiver.answer = (_, response) => answers.push(() => response.writeHead(204).end());
  await createSession(gateway, key);
  const before = await readWebhook(gateway, key, id);
  const late = deliver(gateway);
  await receiver.arrived(1);
  const leaseId = randomUUID();
  await sql.query(`update webhook set lease_id = $2, lease_until = now() + interval '1 hour' where id = $1`, [
    id,
    leaseId,
  ]);
  answers[0]?.();
  await late;
  expect(await sql.query('select lease_id from webhook where id = $1', [id])).toEqual([{ lease_id: leaseId }]);
  expect([await readWebhook(gateway, key, id), await logOf(gateway, key, id)]).toEqual([before, []]);
  await deliver(gateway);
  expect(receiver.received).toHaveLength(1);

  // The other process ends, and so does its lease.
  await sql.query('update webhook set lease_until = now() where id = $1', [id]);
  receiver.answer = (_, response) => response.writeHead(204).end();
  await deliver(gateway);
  expect(new Set(receiver.received.map((message) => message.id)).size).toBe(1);
  expect((await logOf(gateway, key, id)).map(({ state }) => state)).toEqual(['succeeded']);
});

test('several processes send one request at a time to a webhook, each message once and in order', async () => {
  const beside = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: gateway });
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { receiver } = hook;
  const write = async () => {
    for (let count = 0; count < 5; count += 1) await createSession(gateway, key);
  };
  let isWriting = true;
  const deliverAll = async (one: TestGateway) => {
    while (isWriting) await deliver(one);
    await deliver(one);
  };
  const delivering = [gateway, beside].map(deliverAll);
  await Promise.all([write(), write(), write()]);
  isWriting = false;
  await Promise.all(delivering);
  await deliver(gateway);
  const ids = receiver.received.map(({ data }) => data.id ?? 0);
  expect(ids).toHaveLength(15);
  expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other));
  expect(receiver.mostAtOnce).toBe(1);
  await beside.close();
});

test('the log has the first KiB of the answer, however long it is, as text that can be stored', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key);
  const { id, receiver } = hook;
  // The answer never ends.
  receiver.answer = (_, response) => {
    response.writeHead(200, { 'Content-Length': 10_000_000_000 });
    response.write(`\0${'x'.repeat(100_000)}`);
  };
  await createSession(gateway, key);
  await deliver(gateway);
  expect((await logOf(gateway, key, id)).map(({ state, answer }) => [state, answer])).toEqual([
    ['succeeded', `\uFFFD${'x'.repeat(1023)}`],
  ]);
});

test('nothing is sent to an address that is not public, which is resolved at each try', async () => {
  const guarded = await startTestGateway({}, { outbound: { resolve: async () => ['127.0.0.1'] } });
  const { key } = await guarded.createKey();
  const { id } = await createWebhook(guarded, key, 'https://hooks.example.com/workspace');
  await createSession(guarded, key);
  await deliver(guarded);
  expect((await logOf(guarded, key, id)).map(({ state, status, error }) => [state, status, error])).toEqual([
    ['failed', null, 'the name hooks.example.com cannot be resolved, or has an address that is not public'],
  ]);
  await guarded.close();
});
