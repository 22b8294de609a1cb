import type { ServerResponse } from 'node:http';
import { beforeEach, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, mutate } from '../../support/fixtures/sessions.ts';
import {
  type DeliveryDocument,
  type WebhookDocument,
  callWebhooks,
  deliver,
  logOf,
  readWebhook,
  receive,
} from '../../support/fixtures/webhooks.ts';
import type { WebhookReceiver } from '../../support/peers/webhook-receiver.ts';
import { sampled } from '../../support/sample.ts';

/** A receiver was down, or asks for time. */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
beforeEach(() => gateway.setClock(undefined));

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const at = (time: Date, ms: number) => new Date(time.getTime() + ms);

async function ask<Body = WebhookDocument>(key: string, path: string, body: object = {}): Promise<Body> {
  const answer = await callWebhooks<Body>(gateway, key, 'POST', path, body);
  if (answer.status >= 300) throw new Error(answer.text);
  return answer.body;
}

/** Works until this time as a gateway does that looks for due webhooks every second. */
async function runUntil(key: string, id: string, end: Date): Promise<void> {
  for (;;) {
    await deliver(gateway);
    const { nextAttemptAt } = await readWebhook(gateway, key, id);
    if (nextAttemptAt === null || new Date(nextAttemptAt) > end) break;
    gateway.setClock(new Date(nextAttemptAt));
  }
  gateway.setClock(end);
}

const down: WebhookReceiver['answer'] = (_, response) => response.destroy();
const up: WebhookReceiver['answer'] = (_, response) => response.writeHead(204).end();

const WAYS: Readonly<Record<string, (key: string, id: string) => Promise<unknown>>> = {
  'try now, over REST': (key, id) => ask(key, `/${id}/try`),
  'try now, over GraphQL': (key, id) =>
    mutate(gateway, key, 'tryWebhookNow', { webhookId: id }, 'webhook { nextAttemptAt }'),
  'a ping that succeeds': (key, id) => ask(key, `/${id}/ping`),
  'a redelivery that succeeds': async (key, id) => {
    const [first] = await logOf(gateway, key, id);
    return ask(key, `/${id}/deliveries/${first?.id}/redeliver`);
  },
};

sampled(test, 2).each(Object.keys(WAYS))(
  'a receiver that was down for ten minutes has everything one minute after it is back, in order: %s',
  async (way) => {
    const { key } = await gateway.createKey();
    const began = new Date('2026-05-04T10:00:00.000Z');
    gateway.setClock(began);
    await using hook = await receive(gateway, key, { types: ['session.created'] });
    const { id, receiver } = hook;
    receiver.isAnyTime = true;
    receiver.answer = down;
    const sessions: string[] = [];
    for (let minute = 0; minute < 10; minute += 1) {
      sessions.push(await createSession(gateway, key), await createSession(gateway, key));
      await runUntil(key, id, at(began, (minute + 1) * MINUTE));
    }
    expect(new Set(receiver.received.map(({ data }) => data.subjectId))).toEqual(new Set(sessions.slice(0, 1)));
    const { failingSince } = await readWebhook(gateway, key, id);
    expect(failingSince).toBe(began.toISOString());
    receiver.answer = up;
    const tries = receiver.received.length;
    await WAYS[way]?.(key, id);
    await runUntil(key, id, at(began, 11 * MINUTE));
    const entries = receiver.received.slice(tries).filter(({ type }) => type === 'session.created');
    expect([...new Set(entries.map(({ data }) => data.subjectId))]).toEqual(sessions);
    expect(await readWebhook(gateway, key, id)).toMatchObject({ attempts: 0, nextAttemptAt: null, failingSince: null });
  },
);

test('a ping that fails keeps the pause; one that succeeds keeps the schedule and the time of the first failure', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  receiver.answer = (_, response) => response.writeHead(500).end();
  await createSession(gateway, key);
  await deliver(gateway);
  const failing = await readWebhook(gateway, key, id);
  await ask(key, `/${id}/ping`);
  await deliver(gateway);
  expect(await readWebhook(gateway, key, id)).toEqual(failing);
  receiver.answer = ({ type }, response) => response.writeHead(type === 'webhook.ping' ? 204 : 500).end();
  await ask<DeliveryDocument>(key, `/${id}/ping`);
  await deliver(gateway);
  expect(await readWebhook(gateway, key, id)).toEqual(failing);
  expect((await logOf(gateway, key, id)).map(({ kind, attempt }) => [kind, attempt])).toEqual([
    ['entry', 1],
    ['ping', 1],
    ['ping', 1],
    ['entry', 2],
  ]);
});

test('asked for during a request that then fails, the next try is due at once', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  const answers: ServerResponse[] = [];
  receiver.answer = (_, response) => void answers.push(response);
  await createSession(gateway, key);
  const delivering = deliver(gateway);
  await receiver.arrived(1);
  await ask(key, `/${id}/try`);
  receiver.answer = up;
  answers[0]?.writeHead(500).end();
  await delivering;
  expect((await logOf(gateway, key, id)).map(({ state, attempt }) => [state, attempt])).toEqual([
    ['failed', 1],
    ['succeeded', 2],
  ]);
});

test('409: a disabled webhook is not tried', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key);
  await callWebhooks(gateway, key, 'PATCH', `/${hook.id}`, { isEnabled: false });
  const answer = await callWebhooks<object>(gateway, key, 'POST', `/${hook.id}/try`);
  expect([answer.status, answer.body]).toEqual([409, { error: 'the webhook is disabled; enable it' }]);
});

const CLOCK = new Date('2026-05-04T10:00:00.000Z');

sampled(test, 2).each([
  ['429 with seconds', 429, '60', 60 * SECOND],
  ['503 with a date', 503, new Date('2026-05-04T10:02:00.000Z').toUTCString(), 2 * MINUTE],
  ['longer than the next step', 503, '86400', 5 * MINUTE],
  ['shorter than the step', 429, '1', 5 * SECOND],
  ['in the past', 429, new Date('2020-01-01').toUTCString(), 5 * SECOND],
  ['neither a number nor a date', 503, 'soon', 5 * SECOND],
  ['of another status', 500, '60', 5 * SECOND],
] as const)('Retry-After: %s', async (_, status, value, pause) => {
  const { key } = await gateway.createKey();
  gateway.setClock(CLOCK);
  await using hook = await receive(gateway, key);
  const { id, receiver } = hook;
  receiver.isAnyTime = true;
  receiver.answer = (__, response) => response.writeHead(status, { 'Retry-After': value }).end();
  await createSession(gateway, key);
  await deliver(gateway);
  const waited = new Date((await readWebhook(gateway, key, id)).nextAttemptAt ?? '').getTime() - CLOCK.getTime();
  // What the receiver asks for is honored exactly; a step of the schedule is up to a fifth longer.
  expect(waited >= pause && waited <= (pause > 5 * SECOND ? pause : 1.2 * pause)).toBe(true);
});

test('webhooks that fail at the same time are not all tried again at the same time', async () => {
  const { key } = await gateway.createKey();
  gateway.setClock(CLOCK);
  const hooks = await Promise.all(Array.from({ length: 5 }, () => receive(gateway, key)));
  for (const { receiver } of hooks) {
    receiver.isAnyTime = true;
    receiver.answer = down;
  }
  await createSession(gateway, key);
  await deliver(gateway);
  const times = await Promise.all(hooks.map(async ({ id }) => (await readWebhook(gateway, key, id)).nextAttemptAt));
  expect(new Set(times).size).toBeGreaterThan(1);
  await Promise.all(hooks.map(({ receiver }) => receiver.stop()));
});

test('a webhook is disabled a day after that was announced, or later, also if nothing was sent for days', async () => {
  const { key } = await gateway.createKey();
  gateway.setClock(CLOCK);
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  receiver.isAnyTime = true;
  receiver.answer = down;
  await createSession(gateway, key);
  await deliver(gateway);
  expect(await readWebhook(gateway, key, id)).toMatchObject({ disableAfter: null });
  // No process has worked for six days.
  gateway.setClock(at(CLOCK, 144 * HOUR));
  await deliver(gateway);
  const disableAfter = at(CLOCK, 168 * HOUR).toISOString();
  expect(await readWebhook(gateway, key, id)).toMatchObject({ isEnabled: true, disableAfter });
  gateway.setClock(at(CLOCK, 168 * HOUR));
  await deliver(gateway);
  expect(await readWebhook(gateway, key, id)).toMatchObject({ isEnabled: false, disabledReason: 'failing' });
  const feed = await gateway.rest<{ items: { type: string; data: object }[] }>('GET', '/v1/feed', { key });
  expect(
    feed.body.items.filter(({ type }) => type.startsWith('webhook.')).map(({ type, data }) => [type, data]),
  ).toEqual([
    ['webhook.failing', { disableAfter }],
    ['webhook.disabled', { reason: 'failing' }],
  ]);
});

test('a success ends what was announced', async () => {
  const { key } = await gateway.createKey();
  gateway.setClock(CLOCK);
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  receiver.isAnyTime = true;
  receiver.answer = down;
  await createSession(gateway, key);
  await deliver(gateway);
  gateway.setClock(at(CLOCK, 144 * HOUR));
  await deliver(gateway);
  receiver.answer = up;
  gateway.setClock(at(CLOCK, 167 * HOUR));
  await deliver(gateway);
  expect(await readWebhook(gateway, key, id)).toMatchObject({
    isEnabled: true,
    disableAfter: null,
    failingSince: null,
  });
});

test('many entries are sent under one lease, with about one statement for each', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { receiver } = hook;
  const count = 20;
  for (let sent = 0; sent < count; sent += 1) await createSession(gateway, key);
  await gateway.rest('GET', '/v1/feed', { key });
  const before = gateway.statements.length;
  await deliver(gateway);
  expect(receiver.received).toHaveLength(count);
  expect(gateway.statements.length - before).toBeLessThan(2 * count);
});
