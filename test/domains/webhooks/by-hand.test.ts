import { beforeEach, expect, test } from 'vitest';
import { deleteOldDeliveries } from '../../../src/domains/webhooks/queries.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import {
  type DeliveryDocument,
  type WebhookDocument,
  callWebhooks,
  deliver,
  logOf,
  readWebhook,
  receive,
} from '../../support/fixtures/webhooks.ts';

/** What an administrator asks for: rotation, ping, redelivery, replay. */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
beforeEach(() => gateway.setClock(undefined));

const HOUR = 3_600_000;

async function ask<Body = WebhookDocument>(key: string, path: string, body: object = {}): Promise<Body> {
  const answer = await callWebhooks<Body>(gateway, key, 'POST', path, body);
  if (answer.status >= 300) throw new Error(answer.text);
  return answer.body;
}

test('a rotated secret signs at once, and the previous one for 24 hours', async () => {
  const { key } = await gateway.createKey();
  const began = new Date();
  gateway.setClock(began);
  await using hook = await receive(gateway, key);
  const { id, receiver } = hook;
  const old = receiver.secret;
  const { secret, previousSecretExpiresAt } = await ask<{ secret: string; previousSecretExpiresAt: string }>(
    key,
    `/${id}/rotate-secret`,
  );
  expect(previousSecretExpiresAt).toBe(new Date(began.getTime() + 24 * HOUR).toISOString());
  await createSession(gateway, key);
  // The receiver still has the old one.
  await deliver(gateway);
  receiver.secret = secret;
  await createSession(gateway, key);
  await deliver(gateway);
  expect(receiver.refused).toEqual([]);
  expect(receiver.received).toHaveLength(2);
  const signatures = receiver.received.map(({ headers }) => String(headers['webhook-signature']).split(' ').length);
  expect(signatures).toEqual([2, 2]);
  gateway.setClock(new Date(began.getTime() + 24 * HOUR));
  receiver.isAnyTime = true;
  await createSession(gateway, key);
  await deliver(gateway);
  receiver.secret = old;
  await createSession(gateway, key);
  await deliver(gateway);
  expect(receiver.received).toHaveLength(3);
  expect(receiver.refused).toEqual([expect.stringContaining('no signature matches')]);
});

test('a ping and a redelivery are sent once, to a disabled webhook too, before other messages; their failures do not count as health', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key);
  const { id, receiver } = hook;
  receiver.answer = (_, response) => response.writeHead(500).end();
  await createSession(gateway, key);
  await deliver(gateway);
  const failing = await readWebhook(gateway, key, id);
  const [first] = await logOf(gateway, key, id);
  const ping = await ask<DeliveryDocument>(key, `/${id}/ping`);
  const again = await ask<DeliveryDocument>(key, `/${id}/deliveries/${first?.id}/redeliver`);
  expect([ping.state, again.state]).toEqual(['queued', 'queued']);
  receiver.answer = (_, response) => response.writeHead(410).end();
  await deliver(gateway);
  expect(await readWebhook(gateway, key, id)).toEqual(failing);
  expect(receiver.received.slice(1).map(({ type, id: messageId, data }) => [type, messageId, data])).toEqual([
    ['webhook.ping', ping.messageId, { webhookId: id }],
    ['session.created', first?.messageId, receiver.received[0]?.data],
  ]);
  expect((await logOf(gateway, key, id)).map(({ kind, state, status }) => [kind, state, status])).toEqual([
    ['entry', 'failed', 500],
    ['ping', 'failed', 410],
    ['redelivery', 'failed', 410],
  ]);
  await callWebhooks(gateway, key, 'PATCH', `/${id}`, { isEnabled: false });
  await ask(key, `/${id}/ping`);
  await deliver(gateway);
  expect(receiver.received).toHaveLength(4);
});

test('an entry that left the feed is not delivered again, and the log says so', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key);
  const { id, receiver } = hook;
  await createSession(gateway, key);
  await deliver(gateway);
  const [first] = await logOf(gateway, key, id);
  await gateway.dependencies.sql.query('delete from feed_entry where id = $1', [first?.feedEntryId]);
  await ask(key, `/${id}/deliveries/${first?.id}/redeliver`);
  await deliver(gateway);
  expect(receiver.received).toHaveLength(1);
  expect((await logOf(gateway, key, id)).at(-1)).toMatchObject({
    state: 'failed',
    error: 'the entry is no longer in the feed, or administrators can no longer see it',
  });
});

test('a replay sends the entries after an id again under the same ids, and then goes on', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  const { cursor } = await readWebhook(gateway, key, id);
  // The log is in the order of the times, which are different for each message.
  const began = Date.now();
  receiver.isAnyTime = true;
  receiver.answer = (_, response) => {
    gateway.setClock(new Date(began + receiver.received.length));
    response.writeHead(204).end();
  };
  for (let count = 0; count < 3; count += 1) await createSession(gateway, key);
  await deliver(gateway);
  expect((await ask(key, `/${id}/replay`, { after: cursor + 1 })).cursor).toBe(cursor + 1);
  await createSession(gateway, key);
  await deliver(gateway);
  const ids = receiver.received.map(({ data }) => data.id);
  expect(ids).toEqual([1, 2, 3, 2, 3, 4].map((place) => cursor + place));
  expect(receiver.received[3]?.id).toBe(receiver.received[1]?.id);
  expect((await logOf(gateway, key, id)).map(({ kind }) => kind)).toEqual([
    'entry',
    'entry',
    'entry',
    'replay',
    'replay',
    'entry',
  ]);
});

test('a replay of a failing webhook is sent at once; when it fails it ends, and only the entries that were due count', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  const { cursor } = await readWebhook(gateway, key, id);
  await createSession(gateway, key);
  await deliver(gateway);
  receiver.answer = (_, response) => response.writeHead(500).end();
  await createSession(gateway, key);
  await deliver(gateway);
  const failing = await readWebhook(gateway, key, id);
  await ask(key, `/${id}/replay`, { after: cursor });
  await deliver(gateway);
  const ids = receiver.received.map(({ data }) => (data.id ?? 0) - cursor);
  expect(ids).toEqual([1, 2, 1, 2]);
  expect(await readWebhook(gateway, key, id)).toMatchObject({
    cursor: failing.cursor,
    attempts: 1,
    failingSince: failing.failingSince,
  });
});

test('a replay after a later id skips the entries up to it', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  const { cursor } = await readWebhook(gateway, key, id);
  receiver.answer = (_, response) => response.writeHead(500).end();
  for (let count = 0; count < 3; count += 1) await createSession(gateway, key);
  await deliver(gateway);
  receiver.answer = (_, response) => response.writeHead(204).end();
  await ask(key, `/${id}/replay`, { after: cursor + 2 });
  await deliver(gateway);
  expect(receiver.received.map(({ data }) => (data.id ?? 0) - cursor)).toEqual([1, 3]);
});

test('a replay of what failed sends only entries that were never delivered, skips none, and then goes on', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  const { cursor } = await readWebhook(gateway, key, id);
  const placeOf = (entryId: unknown) => Number(entryId) - cursor;
  const places = () => receiver.received.map(({ data }) => placeOf(data.id));
  // The receiver refuses two of five: they are given up after 8 tries.
  receiver.isAnyTime = true;
  receiver.answer = ({ data }, response) => response.writeHead([2, 4].includes(placeOf(data.id)) ? 500 : 204).end();
  for (let count = 0; count < 5; count += 1) await createSession(gateway, key);
  for (;;) {
    await deliver(gateway);
    const { nextAttemptAt } = await readWebhook(gateway, key, id);
    if (nextAttemptAt === null) break;
    gateway.setClock(new Date(nextAttemptAt));
  }
  const before = places().length;
  expect(before).toBe(3 + 2 * 8);
  const head = await readWebhook(gateway, key, id);
  gateway.setClock(new Date('2030-01-01'));
  receiver.answer = (_, response) => response.writeHead(204).end();
  await ask(key, `/${id}/replay`, { after: cursor, onlyFailed: true });
  await createSession(gateway, key);
  await deliver(gateway);
  expect(places().slice(before)).toEqual([2, 4, 6]);
  const again = (await logOf(gateway, key, id)).slice(before);
  expect(new Map(again.map(({ feedEntryId, kind }) => [placeOf(feedEntryId), kind]))).toEqual(
    new Map([2, 4, 6].map((place) => [place, place < 6 ? 'replay' : 'entry'])),
  );
  expect((await readWebhook(gateway, key, id)).cursor).toBe(head.cursor + 1);
  // Nothing failed any more, and a later id than that of the last entry skips nothing.
  for (const after of [0, head.cursor + 1]) await ask(key, `/${id}/replay`, { after, onlyFailed: true });
  await createSession(gateway, key);
  await deliver(gateway);
  expect(places().slice(before)).toEqual([2, 4, 6, 7]);
});

test('a replay of what failed ends with an entry that fails again', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  for (let count = 0; count < 3; count += 1) await createSession(gateway, key);
  await deliver(gateway);
  await gateway.dependencies.sql.query(`update webhook_delivery set state = 'failed' where webhook_id = $1`, [id]);
  const { cursor } = await readWebhook(gateway, key, id);
  const sent = receiver.received.length;
  receiver.answer = (_, response) => response.writeHead(500).end();
  await ask(key, `/${id}/replay`, { after: 0, onlyFailed: true });
  await deliver(gateway);
  expect(receiver.received).toHaveLength(sent + 1);
  expect(await readWebhook(gateway, key, id)).toMatchObject({ cursor, attempts: 0, failingSince: null });
});

test('nothing is sent to a deleted webhook; its log is gone; the cleanup deletes deliveries of 30 days ago', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key);
  const { id, receiver } = hook;
  receiver.answer = (_, response) => response.writeHead(500).end();
  await createSession(gateway, key);
  await deliver(gateway);
  await ask(key, `/${id}/ping`);
  expect((await callWebhooks(gateway, key, 'DELETE', `/${id}`)).status).toBe(204);
  await deliver(gateway);
  expect(receiver.received).toHaveLength(1);
  expect((await callWebhooks(gateway, key, 'GET', `/${id}/deliveries`)).status).toBe(404);
  const left = () => gateway.dependencies.sql.query('select 1 from webhook_delivery where webhook_id = $1', [id]);
  const { em } = gateway.dependencies.database;
  await deleteOldDeliveries(em.fork(), new Date(Date.now() + 29 * 24 * HOUR), 1000);
  expect(await left()).toHaveLength(2);
  await deleteOldDeliveries(em.fork(), new Date(Date.now() + 31 * 24 * HOUR), 1000);
  expect(await left()).toEqual([]);
});
