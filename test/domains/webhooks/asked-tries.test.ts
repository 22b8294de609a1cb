import type { ServerResponse } from 'node:http';
import { beforeEach, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { callWebhooks, deliver, deliverUntil, readWebhook, receive } from '../../support/fixtures/webhooks.ts';
import type { WebhookReceiver } from '../../support/peers/webhook-receiver.ts';
import { sampled } from '../../support/sample.ts';

/** Tries that somebody asked for are no steps of the schedule. */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
const CLOCK = new Date('2026-05-04T10:00:00.000Z');
beforeEach(() => gateway.setClock(CLOCK));

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;
const at = (ms: number) => new Date(CLOCK.getTime() + ms);

async function ask(key: string, path: string): Promise<void> {
  const answer = await callWebhooks<object>(gateway, key, 'POST', path, {});
  if (answer.status >= 300) throw new Error(answer.text);
}

const down: WebhookReceiver['answer'] = ({ type }, response) =>
  response.writeHead(type === 'webhook.ping' ? 204 : 500).end();
const up: WebhookReceiver['answer'] = (_, response) => response.writeHead(204).end();

/** A webhook for new sessions, whose receiver fails with the first one. */
async function failing() {
  const { key } = await gateway.createKey();
  const hook = await receive(gateway, key, { types: ['session.created'] });
  const { receiver, id } = hook;
  receiver.isAnyTime = true;
  receiver.answer = down;
  const session = await createSession(gateway, key);
  await deliver(gateway);
  return { key, hook, id, receiver, session, read: () => readWebhook(gateway, key, id) };
}

const WAYS: Readonly<Record<string, (key: string, id: string) => Promise<void>>> = {
  'try now': (key, id) => ask(key, `/${id}/try`),
  'a successful ping': (key, id) => ask(key, `/${id}/ping`),
};

sampled(test, 2).each(Object.keys(WAYS))(
  '%s, once a second: the entry is kept, and the schedule goes on',
  async (way) => {
    const { key, hook, id, receiver, read } = await failing();
    await using _ = hook;
    // A step of minutes, so that all tries are before its end.
    gateway.setClock(at(10 * SECOND));
    await deliver(gateway);
    const before = await read();
    expect(before).toMatchObject({ attempts: 2, failingSince: CLOCK.toISOString() });
    const entries = () => receiver.received.filter(({ type }) => type === 'session.created').length;
    const sent = entries();
    for (let count = 1; count <= 12; count += 1) {
      gateway.setClock(at((10 + count) * SECOND));
      await WAYS[way]?.(key, id);
      await deliver(gateway);
      expect(await read()).toEqual(before);
    }
    expect(entries()).toBe(sent + 12);
    gateway.setClock(new Date(before.nextAttemptAt ?? ''));
    await deliver(gateway);
    expect(await read()).toMatchObject({ attempts: 3, cursor: before.cursor });
  },
);

test('an asked try after the end of the pause is the step of the schedule', async () => {
  const { key, hook, id, read } = await failing();
  await using _ = hook;
  gateway.setClock(at(HOUR));
  await ask(key, `/${id}/try`);
  await deliver(gateway);
  expect(await read()).toMatchObject({ attempts: 2 });
});

test('asked for again during an asked try, or in the middle of a try when the process stops: the entry is tried again at once', async () => {
  const { key, hook, id, receiver, read } = await failing();
  await using _ = hook;
  const before = await read();
  const answers: ServerResponse[] = [];
  receiver.answer = (__, response) => void answers.push(response);
  await ask(key, `/${id}/try`);
  const first = deliver(gateway);
  await receiver.arrived(2);
  await ask(key, `/${id}/try`);
  answers[0]?.writeHead(500).end();
  await receiver.arrived(3);
  answers[1]?.writeHead(500).end();
  await first;
  expect(await read()).toEqual(before);

  await ask(key, `/${id}/try`);
  const stop = new AbortController();
  const stopped = deliverUntil(gateway, stop.signal);
  await receiver.arrived(4);
  stop.abort();
  await stopped;
  receiver.answer = down;
  await deliver(gateway);
  expect(receiver.received).toHaveLength(5);
  expect(await read()).toEqual(before);
});

test('the process that dies during an asked try: another one tries after the end of its lease', async () => {
  const { key, hook, id, receiver, read } = await failing();
  await using _ = hook;
  const answers: ServerResponse[] = [];
  receiver.answer = (__, response) => void answers.push(response);
  await ask(key, `/${id}/try`);
  const dying = deliver(gateway);
  await receiver.arrived(2);
  // As it is when its lease ended while it could not renew it; its result then does not count.
  await gateway.dependencies.sql.query(
    'update webhook set lease_id = gen_random_uuid(), lease_until = now() where id = $1',
    [id],
  );
  receiver.answer = up;
  answers[0]?.writeHead(500).end();
  await dying;
  await deliver(gateway);
  expect(receiver.received).toHaveLength(3);
  expect(await read()).toMatchObject({ attempts: 0, failingSince: null });
});

test('asked tries neither postpone nor hasten the end of 5 days of failures', async () => {
  const { key, hook, id, read } = await failing();
  await using _ = hook;
  gateway.setClock(at(4 * DAY));
  await deliver(gateway);
  const disableAfter = at(5 * DAY).toISOString();
  await ask(key, `/${id}/try`);
  await deliver(gateway);
  expect(await read()).toMatchObject({ isEnabled: true, disableAfter, failingSince: CLOCK.toISOString() });
  gateway.setClock(at(5 * DAY));
  await ask(key, `/${id}/try`);
  await deliver(gateway);
  expect(await read()).toMatchObject({ isEnabled: false, disabledReason: 'failing' });
});

test.each([
  ['its session is deleted', ({ key, session }) => gateway.rest('DELETE', `/v1/sessions/${session}`, { key })],
  [
    'a replay skips it',
    async ({ key, id, cursor }) =>
      callWebhooks(gateway, key, 'POST', `/${id}/replay`, { after: cursor + 1, onlyFailed: false }),
  ],
] satisfies [string, (of: { key: string; id: string; session: string; cursor: number }) => Promise<unknown>][])(
  'nothing fails any more when the entry that failed is skipped, because %s; a later failure is the first one',
  async (__, skip) => {
    const { key, hook, id, session, read } = await failing();
    await using _ = hook;
    const { cursor } = await read();
    await skip({ key, id, session, cursor });
    gateway.setClock(at(HOUR));
    await deliver(gateway);
    expect(await read()).toMatchObject({ attempts: 0, failingSince: null, disableAfter: null });
    gateway.setClock(at(6 * DAY));
    await createSession(gateway, key);
    await deliver(gateway);
    expect(await read()).toMatchObject({ attempts: 1, failingSince: at(6 * DAY).toISOString(), disableAfter: null });
  },
);

test('an entry that was given up still counts as failure when later entries are not for the webhook', async () => {
  const { key, hook, read } = await failing();
  await using _ = hook;
  for (;;) {
    const { nextAttemptAt } = await read();
    if (nextAttemptAt === null) break;
    gateway.setClock(new Date(nextAttemptAt));
    await deliver(gateway);
  }
  const { cursor, failingSince } = await read();
  expect(failingSince).toBe(CLOCK.toISOString());
  const other = await createSession(gateway, key);
  await gateway.rest('DELETE', `/v1/sessions/${other}`, { key });
  await deliver(gateway);
  const after = await read();
  expect(after.cursor).toBeGreaterThan(cursor);
  expect(after.failingSince).toBe(failingSince);
});
