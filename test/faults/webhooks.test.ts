import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { DeliveryDocument } from '../support/fixtures/webhooks.ts';
import { WebhookReceiver } from '../support/peers/webhook-receiver.ts';
import {
  type GatewayProcess,
  endProcesses,
  freshDatabase,
  issueKey,
  startGateway,
} from '../support/processes/process.ts';
import { proof } from '../support/proof.ts';

const receivers: WebhookReceiver[] = [];
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
  await endProcesses();
});

const WRITERS = 20;
const KILLS = 10;

test('every change reaches the webhooks that answer, in order, while others hang, fail and redirect and the gateway is killed', async () => {
  const env = {
    ...(await freshDatabase()),
    ALLOW_PRIVATE_NETWORK: 'true',
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
  };
  const key = await issueKey(env);
  let gateway: GatewayProcess | undefined = await startGateway(env);
  /** Sends a request until a gateway has answered it. */
  const ask = async <Body>(method: string, path: string, body?: object, id: string = randomUUID()): Promise<Body> => {
    for (;;) {
      while (!gateway) await delay(20);
      try {
        const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Idempotency-Key': id };
        const response = await fetch(`${gateway.url}${path}`, {
          method,
          headers,
          ...(body && { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        if (response.ok) return JSON.parse(text) as Body;
        if (response.status < 500) throw new Error(`${method} ${path}: ${text}`);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
    }
  };
  const create = async (answer?: WebhookReceiver['answer']) => {
    const receiver = await new WebhookReceiver().start();
    receivers.push(receiver);
    if (answer) receiver.answer = answer;
    const { id, secret } = await ask<{ id: string; secret: string }>('POST', '/v1/webhooks', {
      url: receiver.url,
      types: ['session.created'],
    });
    receiver.secret = secret;
    return { id, receiver };
  };
  const healthy = [await create(), await create()];
  const target = await create();
  const hanging = await create(() => undefined);
  const failing = await create((_, response) => response.writeHead(500).end('broken'));
  const redirecting = await create((_, response) => response.writeHead(302, { Location: target.receiver.url }).end());
  await ask('PATCH', `/v1/webhooks/${target.id}`, { isEnabled: false });

  const created: string[] = [];
  const write = async () => {
    const { id } = await ask<{ id: string }>('POST', '/v1/sessions', { title: 'Mend the test' });
    created.push(id);
  };
  for (let kill = 0; kill < KILLS; kill += 1) {
    const [before, received] = [created.length, healthy.map(({ receiver }) => receiver.received.length)];
    const writes = Array.from({ length: WRITERS }, write);
    await expect.poll(() => created.length, { interval: 5 }).toBeGreaterThan(before + WRITERS / 2);
    // Some of the times, messages are on their way.
    if (kill % 4 === 1)
      await Promise.any(healthy.map(({ receiver }, index) => receiver.arrived((received[index] ?? 0) + 1)));
    expect(await gateway.end('SIGKILL')).toBeNull();
    gateway = undefined;
    gateway = await startGateway(env);
    await Promise.all(writes);
  }
  const logOf = async (id: string) =>
    (await ask<{ items: DeliveryDocument[] }>('GET', `/v1/webhooks/${id}/deliveries?limit=100`)).items;
  const feed: { id: number; subjectId: string }[] = [];
  for (let cursor = '0', more = true; more;) {
    const page = await ask<{ items: typeof feed; nextCursor: string }>(
      'GET',
      `/v1/feed?types=session.created&limit=1000&cursor=${cursor}`,
    );
    feed.push(...page.items);
    more = page.items.length > 0;
    cursor = page.nextCursor;
  }
  expect(feed.map(({ subjectId }) => subjectId).toSorted()).toEqual(created.toSorted());
  expect(feed).toHaveLength(KILLS * WRITERS);
  const ids = feed.map(({ id }) => id);
  const idsAt = (receiver: WebhookReceiver) => receiver.received.map(({ data }) => data.id ?? 0);
  for (const { receiver } of healthy) await expect.poll(() => new Set(idsAt(receiver)).size).toBe(ids.length);
  const summary = healthy.map(({ receiver }) => {
    const sent = idsAt(receiver);
    return {
      lost: ids.filter((id) => !sent.includes(id)),
      // A message that was sent when its process was killed is sent again before the next one.
      inOrder: sent.every((id, index) => index === 0 || id >= (sent[index - 1] ?? 0)),
      mostAtOnce: receiver.mostAtOnce,
      refused: receiver.refused,
    };
  });
  expect(summary).toEqual(healthy.map(() => ({ lost: [], inOrder: true, mostAtOnce: 1, refused: [] })));
  const storyOf = async (id: string) => [
    ...new Set((await logOf(id)).map(({ state, status, error }) => `${state} ${status} ${error}`)),
  ];
  await expect.poll(() => storyOf(failing.id)).toEqual(['failed 500 null']);
  await expect.poll(() => storyOf(redirecting.id)).toEqual(['failed 302 null']);
  await expect
    .poll(() => storyOf(hanging.id))
    .toEqual([expect.stringMatching(/^failed null 127\.0\.0\.1:\d+ did not answer in time$/)]);
  expect(target.receiver.connectionCount).toBe(0);
  const repeated = healthy.map(({ receiver }) => idsAt(receiver).length - ids.length);
  proof('webhooks under kill -9', {
    figures: { kills: KILLS, changes: ids.length, lost: 0, 'sent more than once': Math.max(...repeated) },
  });
});
