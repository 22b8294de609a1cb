import type { ServerResponse } from 'node:http';
import { beforeEach, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, moveTo } from '../../support/fixtures/sessions.ts';
import { callWebhooks, deliver, logOf, readWebhook, receive } from '../../support/fixtures/webhooks.ts';
import { WebhookReceiver } from '../../support/peers/webhook-receiver.ts';

/** A webhook is changed while a request to it is on its way, or while it waits for a retry. */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
beforeEach(() => gateway.setClock(undefined));

async function change(key: string, id: string, changes: object): Promise<void> {
  const { status, text } = await callWebhooks(gateway, key, 'PATCH', `/${id}`, changes);
  if (status !== 200) throw new Error(text);
}

const HEALTHY = { isEnabled: true, attempts: 0, nextAttemptAt: null, failingSince: null, disabledReason: null };

test.each([410, 500, 200])('what the old address answers (%i) decides nothing about the new one', async (status) => {
  const { key } = await gateway.createKey();
  await using old = await receive(gateway, key, { types: ['session.created'] });
  const { id } = old;
  const fresh = await new WebhookReceiver().start();
  fresh.secret = old.receiver.secret;
  const answers: ServerResponse[] = [];
  old.receiver.answer = (_, response) => void answers.push(response);
  const session = await createSession(gateway, key);
  const delivering = deliver(gateway);
  await old.receiver.arrived(1);
  await change(key, id, { url: fresh.url });
  answers[0]?.writeHead(status).end('of the old address');
  await delivering;
  expect(fresh.received.map(({ data }) => data.subjectId)).toEqual([session]);
  expect(await readWebhook(gateway, key, id)).toMatchObject({ ...HEALTHY, lastDeliveredAt: expect.any(String) });
  // The log has both requests.
  const log = await logOf(gateway, key, id);
  expect(log.map(({ feedEntryId, attempt }) => [feedEntryId, attempt])).toEqual(
    [1, 2].map(() => [log[0]?.feedEntryId, 1]),
  );
  expect(log[1]).toMatchObject({ status: 204, state: 'succeeded' });
  await fresh.stop();
});

test('a request that hangs ends when the address changes, or the webhook is deleted: the new address does not wait for it', async () => {
  const { key } = await gateway.createKey();
  await using old = await receive(gateway, key, { types: ['session.created'] });
  await using deleted = await receive(gateway, key, { types: ['session.created'] });
  await using fresh = await receive(gateway, key, { types: ['member.left'] });
  for (const { receiver } of [old, deleted]) receiver.answer = () => undefined;
  await createSession(gateway, key);
  const delivering = deliver(gateway);
  await Promise.all([old.receiver.arrived(1), deleted.receiver.arrived(1)]);
  fresh.receiver.secret = old.receiver.secret;
  await change(key, old.id, { url: fresh.receiver.url });
  await callWebhooks(gateway, key, 'DELETE', `/${deleted.id}`);
  // Their time of 15 s is not over.
  await delivering;
  expect(fresh.receiver.received).toHaveLength(1);
  expect((await logOf(gateway, key, old.id)).map(({ state, status, error }) => [state, status, error])).toEqual([
    ['failed', null, 'the webhook was changed before the answer'],
    ['succeeded', 204, null],
  ]);
});

test('disabled and enabled during a request: its result does not count, and the entry is sent again', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  const answers: ServerResponse[] = [];
  receiver.answer = (_, response) => void answers.push(response);
  await createSession(gateway, key);
  const delivering = deliver(gateway);
  await receiver.arrived(1);
  await change(key, id, { isEnabled: false });
  await change(key, id, { isEnabled: true });
  receiver.answer = (_, response) => response.writeHead(204).end();
  answers[0]?.writeHead(410).end();
  await delivering;
  expect(await readWebhook(gateway, key, id)).toMatchObject(HEALTHY);
  expect(receiver.received.map(({ id: messageId }) => messageId)).toEqual([1, 2].map(() => receiver.received[0]?.id));
});

test('other types during a request: entries of the new types that were added before are sent', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  const answers: ServerResponse[] = [];
  receiver.answer = (_, response) => void answers.push(response);
  const session = await createSession(gateway, key);
  await moveTo(gateway, key, session, 'IN_PROGRESS');
  const delivering = deliver(gateway);
  await receiver.arrived(1);
  await change(key, id, { types: ['session.state_changed'] });
  receiver.answer = (_, response) => response.writeHead(204).end();
  answers[0]?.writeHead(204).end();
  await delivering;
  expect(receiver.received.map(({ type }) => type)).toEqual(['session.created', 'session.state_changed']);
  expect(await readWebhook(gateway, key, id)).toMatchObject(HEALTHY);
});

test.each([
  ['other types', { types: ['session.state_changed'] }, 'session.state_changed'],
  ['all types', { types: null }, 'session.created'],
  ['other conditions', { conditions: { sessionStates: ['failed'] } }, 'session.created'],
])(
  'with %s it begins anew: no pause, no earlier tries, and what is no longer wanted is skipped',
  async (_, changes, first) => {
    const { key } = await gateway.createKey();
    await using hook = await receive(gateway, key, { types: ['session.created', 'member.left'] });
    const { id, receiver } = hook;
    receiver.answer = (__, response) => response.writeHead(500).end();
    const session = await createSession(gateway, key);
    await moveTo(gateway, key, session, 'IN_PROGRESS');
    await deliver(gateway);
    for (let count = 2; count <= 3; count += 1) {
      gateway.setClock(new Date((await readWebhook(gateway, key, id)).nextAttemptAt ?? ''));
      receiver.isAnyTime = true;
      await deliver(gateway);
    }
    expect(await readWebhook(gateway, key, id)).toMatchObject({ attempts: 3 });
    const { nextAttemptAt } = await readWebhook(gateway, key, id);
    await change(key, id, changes);
    expect(await readWebhook(gateway, key, id)).toMatchObject(HEALTHY);
    // The pause is not over.
    gateway.setClock(new Date(Date.parse(nextAttemptAt ?? '') - 1));
    await deliver(gateway);
    expect(receiver.received.slice(3).map(({ type }) => type)).toEqual([first]);
    expect((await logOf(gateway, key, id)).map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1]);
    expect(await readWebhook(gateway, key, id)).toMatchObject({ attempts: 1 });
  },
);

test('a change that changes nothing, and another secret, keep the pause', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created', 'member.left'] });
  const { id, receiver } = hook;
  receiver.answer = (_, response) => response.writeHead(500).end();
  await createSession(gateway, key);
  await deliver(gateway);
  const failing = await readWebhook(gateway, key, id);
  const same = { url: receiver.url, types: ['member.left', 'session.created'], conditions: null, isEnabled: true };
  await change(key, id, same);
  await callWebhooks(gateway, key, 'POST', `/${id}/rotate-secret`);
  const { attempts, nextAttemptAt, failingSince } = failing;
  expect(await readWebhook(gateway, key, id)).toMatchObject({ attempts, nextAttemptAt, failingSince });
});

test('an entry that nobody can see any more leaves its tries behind', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  receiver.answer = (_, response) => response.writeHead(500).end();
  await createSession(gateway, key);
  const second = await createSession(gateway, key);
  await deliver(gateway);
  const { nextAttemptAt } = await readWebhook(gateway, key, id);
  const [first] = await logOf(gateway, key, id);
  await gateway.dependencies.sql.query('delete from feed_entry where id = $1', [first?.feedEntryId]);
  gateway.setClock(new Date(nextAttemptAt ?? ''));
  receiver.isAnyTime = true;
  await deliver(gateway);
  expect(receiver.received.at(-1)?.data.subjectId).toBe(second);
  expect((await logOf(gateway, key, id)).map(({ attempt }) => attempt)).toEqual([1, 1]);
});

test('conditions on the state: only sessions that change to these states, and everything else', async () => {
  const { key } = await gateway.createKey();
  const types = ['session.state_changed', 'session.created'];
  await using hook = await receive(gateway, key, { types, conditions: { sessionStates: ['completed', 'failed'] } });
  const { id, receiver } = hook;
  const conditions = { sessionStates: ['completed', 'failed'] };
  expect(await readWebhook(gateway, key, id)).toMatchObject({ conditions });
  const sessions = [];
  for (const state of ['COMPLETED', 'FAILED', 'CANCELLED'] as const) {
    const session = await createSession(gateway, key);
    await moveTo(gateway, key, session, 'IN_PROGRESS', state);
    sessions.push(session);
  }
  await deliver(gateway);
  const stateOf = (data: unknown) => (data as { state: string }).state;
  expect(receiver.received.map(({ data }) => [data.subjectId, stateOf(data['data'])])).toEqual([
    [sessions[0], 'queued'],
    [sessions[0], 'completed'],
    [sessions[1], 'queued'],
    [sessions[1], 'failed'],
    [sessions[2], 'queued'],
  ]);
  await change(key, id, { conditions: null });
  await moveTo(gateway, key, await createSession(gateway, key), 'IN_PROGRESS');
  await deliver(gateway);
  expect(receiver.received.slice(5).map(({ data }) => stateOf(data['data']))).toEqual(['queued', 'inProgress']);
  const shown = await gateway.graphql(key, 'query($id: ID!) { webhook(id: $id) { conditions { sessionStates } } }', {
    id,
  });
  expect(shown).toMatchObject({ data: { webhook: { conditions: null } } });
});

test('400: conditions that are unknown, empty or no states', async () => {
  const { key } = await gateway.createKey();
  const of = async (conditions: unknown) =>
    (await callWebhooks<{ error: string }>(gateway, key, 'POST', '', { url: 'https://example.com/', conditions })).body
      .error;
  expect(await of({ sessionStates: [] })).toBe('conditions.sessionStates: must have at least 1 item');
  expect(await of({ sessionStates: ['done'] })).toMatch(/^conditions\.sessionStates\.0: must be one of "queued"/);
  expect(await of({ states: ['failed'] })).toBe('conditions.states: is not a known property');
  expect(await of('failed')).toBe('conditions: must be an object');
});
