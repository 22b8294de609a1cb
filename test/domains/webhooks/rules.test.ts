import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, mutate } from '../../support/fixtures/sessions.ts';
import {
  type WebhookDocument,
  callWebhooks,
  createWebhook,
  logOf,
  readWebhook,
} from '../../support/fixtures/webhooks.ts';

const gateway = useTestGateway();

const URL = 'https://example.com/hooks';
const HTTPS_ONLY = 'url: must be an https URL; http is allowed only with ALLOW_PRIVATE_NETWORK=true';
const NOT_PUBLIC =
  'is not a public address; this gateway reaches public addresses only (for development its operator sets ALLOW_PRIVATE_NETWORK=true)';

test('created over REST: the secret is in this answer only, and encrypted in the database', async () => {
  const { key } = await gateway.createKey();
  const created = await callWebhooks<WebhookDocument & { secret: string }>(gateway, key, 'POST', '', {
    url: URL,
    types: ['session.created', 'session.created', 'member.left'],
  });
  expect([created.status, created.body]).toEqual([
    201,
    {
      id: expect.any(String),
      url: URL,
      addressLabel: 'example.com/…ooks',
      types: ['session.created', 'member.left'],
      conditions: null,
      isEnabled: true,
      disabledAt: null,
      disabledReason: null,
      cursor: expect.any(Number),
      attempts: 0,
      nextAttemptAt: null,
      failingSince: null,
      disableAfter: null,
      lastDeliveredAt: null,
      previousSecretExpiresAt: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    },
  ]);
  const { secret, ...webhook } = created.body;
  expect(await readWebhook(gateway, key, webhook.id)).toEqual(webhook);
  const list = await callWebhooks<{ items: WebhookDocument[] }>(gateway, key, 'GET');
  expect(list.body).toEqual({ items: [webhook], nextCursor: null });
  const stored = await gateway.dependencies.sql.query<{ sealed: string }>(
    'select sealed from secret where owner_id = $1',
    [webhook.id],
  );
  // The address, too.
  expect(stored).toHaveLength(2);
  expect(JSON.stringify(stored)).not.toContain(secret.slice(6));
  expect(gateway.logged.join('')).not.toContain(secret);
});

test('GraphQL: created, listed, updated, rotated and deleted, as over REST', async () => {
  const { key } = await gateway.createKey();
  const fields = `webhook { id databaseId url types isEnabled disabledReason cursor attempts deliveries { totalCount nodes { id } } }`;
  const { webhook, secret } = await mutate<{ webhook: { id: string; databaseId: string }; secret: string }>(
    gateway,
    key,
    'createWebhook',
    { url: URL, types: ['SESSION_CREATED'] },
    `${fields} secret`,
  );
  expect(webhook).toEqual({
    id: expect.any(String),
    databaseId: expect.any(String),
    url: URL,
    types: ['SESSION_CREATED'],
    isEnabled: true,
    disabledReason: null,
    cursor: expect.any(Number),
    attempts: 0,
    deliveries: { totalCount: 0, nodes: [] },
  });
  expect(secret).toMatch(/^whsec_/);
  const webhookId = webhook.id;
  const updated = await mutate<{ webhook: object }>(
    gateway,
    key,
    'updateWebhook',
    { webhookId, types: null, isEnabled: false },
    fields,
  );
  expect(updated.webhook).toEqual({ ...webhook, types: null, isEnabled: false, disabledReason: 'REQUESTED' });
  const rotated = await mutate<{ secret: string }>(gateway, key, 'rotateWebhookSecret', { webhookId }, 'secret');
  expect(rotated.secret).not.toBe(secret);
  const ping = await mutate<{ delivery: { id: string } }>(
    gateway,
    key,
    'pingWebhook',
    { webhookId },
    'delivery { id kind state }',
  );
  const read = await gateway.graphql(
    key,
    `query($id: ID!, $delivery: ID!) { webhook(id: $id) { url deliveries(filter: { states: [QUEUED] }) { totalCount nodes { id type feedEntryId status } } }
      node(id: $delivery) { ... on WebhookDelivery { kind state attempt } }
      viewer { organization { webhooks(filter: { isEnabled: false }) { totalCount nodes { id } } } } }`,
    { id: webhookId, delivery: ping.delivery.id },
  );
  expect(read).toMatchObject({
    data: {
      webhook: {
        url: URL,
        deliveries: {
          totalCount: 1,
          nodes: [{ id: ping.delivery.id, type: 'webhook.ping', feedEntryId: null, status: null }],
        },
      },
      node: { kind: 'PING', state: 'QUEUED', attempt: 1 },
      viewer: { organization: { webhooks: { totalCount: 1, nodes: [{ id: webhookId }] } } },
    },
  });
  await mutate(gateway, key, 'redeliverWebhook', { webhookId, deliveryId: ping.delivery.id }, 'delivery { id }');
  await mutate(gateway, key, 'replayWebhook', { webhookId, after: 0 }, 'webhook { cursor }');
  const deleted = await mutate(gateway, key, 'deleteWebhook', { webhookId }, 'deletedId');
  expect(deleted).toMatchObject({ deletedId: webhookId });
  expect((await callWebhooks(gateway, key, 'GET', `/${webhook.databaseId}`)).status).toBe(404);
  expect(
    await gateway.dependencies.sql.query('select 1 from secret where owner_id = $1', [webhook.databaseId]),
  ).toEqual([]);
});

test('refused: members, keys without the scope, other organizations', async () => {
  const admin = await gateway.createKey();
  const { id } = await createWebhook(gateway, admin.key, URL);
  const delivery = await callWebhooks<{ id: string }>(gateway, admin.key, 'POST', `/${id}/ping`);
  const member = await gateway.createKey({ organization: admin.organization });
  const other = await gateway.createKey({
    organization: admin.organization,
    role: 'admin',
    scopes: ['sessions.read', 'organizations.write'],
  });
  const stranger = await gateway.createKey();
  const requests = [
    ['GET', ''],
    ['POST', '', { url: URL }],
    ['GET', `/${id}`],
    ['PATCH', `/${id}`, { isEnabled: false }],
    ['DELETE', `/${id}`],
    ['POST', `/${id}/rotate-secret`],
    ['POST', `/${id}/ping`],
    ['POST', `/${id}/try`],
    ['POST', `/${id}/replay`, { after: 0 }],
    ['GET', `/${id}/deliveries`],
    ['POST', `/${id}/deliveries/${delivery.body.id}/redeliver`],
  ] as const;
  for (const [method, path, body] of requests) {
    const ask = async (key: string) => {
      const answer = await callWebhooks<object>(gateway, key, method, path, body);
      return [answer.status, answer.body];
    };
    expect(await ask(member.key)).toMatchObject([
      403,
      { error: 'only administrators of the organization can do this' },
    ]);
    expect(await ask(other.key)).toMatchObject([403, { error: 'the API key lacks the scope webhooks.write' }]);
  }
  for (const [method, path, body] of requests.slice(2)) {
    const answer = await callWebhooks<object>(gateway, stranger.key, method, path, body);
    expect([answer.status, answer.body]).toEqual([404, { error: 'webhook not found', details: { type: 'Webhook' } }]);
  }
  expect(await readWebhook(gateway, admin.key, id)).toMatchObject({ isEnabled: true, previousSecretExpiresAt: null });
  expect(await logOf(gateway, admin.key, id)).toHaveLength(1);
  expect((await callWebhooks(gateway, stranger.key, 'GET')).body).toEqual({ items: [], nextCursor: null });
});

test('400: what is wrong with an address, a list of types and an id, at the field; nothing is changed', async () => {
  const { key } = await gateway.createKey();
  const { id } = await createWebhook(gateway, key, URL);
  const address = (url: unknown) => ['POST', '', { url }] as const;
  for (const [[method, path, body], error] of [
    [address('http://example.com/'), HTTPS_ONLY],
    [address('https://127.0.0.1/'), `url: 127.0.0.1 ${NOT_PUBLIC}`],
    [address('https://[::1]/'), `url: [::1] ${NOT_PUBLIC}`],
    [address('https://localhost/'), `url: localhost ${NOT_PUBLIC}`],
    [address('https://2130706433/'), `url: 127.0.0.1 ${NOT_PUBLIC}`],
    [address('https://user:word@example.com/'), 'url: must not contain user information'],
    [address('https://example.com/#a'), 'url: must not have a fragment'],
    [address('ftp://example.com/'), 'url: must be an http or https URL'],
    [
      address('https://example.com:25/'),
      expect.stringMatching(/^url: the port of example.com:25 belongs to another protocol/),
    ],
    [address(`https://example.com/${'x'.repeat(2048)}`), 'url: must be at most 2048 characters'],
    [address(undefined), 'url: is required'],
    [['POST', '', { url: URL, types: [] }], 'types: must have at least 1 item'],
    [
      ['POST', '', { url: URL, types: ['session.nothing'] }],
      expect.stringMatching(/^types\.0: must be one of "session\.created"/),
    ],
    [['POST', '', { url: URL, secret: 'whsec_' }], 'secret: is not a known property'],
    [['PATCH', `/${id}`, { url: 'http://example.com/' }], HTTPS_ONLY],
    [['PATCH', `/${id}`, { isEnabled: null }], 'isEnabled: must be a boolean'],
    [['POST', `/${id}/replay`, {}], 'after: is required'],
    [['POST', `/${id}/replay`, { after: -1 }], 'after: must be at least 0'],
    [
      ['POST', `/${id}/replay`, { after: 1_000_000 }],
      expect.stringMatching(/^after: must be at most \d+, the last id of the feed$/),
    ],
    [['GET', '/x'], 'webhookId: must be a UUID'],
    [['POST', `/${id}/deliveries/x/redeliver`], 'deliveryId: must be a UUID'],
  ] as const) {
    const answer = await callWebhooks<object>(gateway, key, method, path, body);
    expect([body, answer.status, answer.body]).toEqual([body, 400, { error }]);
  }
  const missing = await callWebhooks<object>(gateway, key, 'POST', `/${id}/deliveries/${randomUUID()}/redeliver`);
  expect([missing.status, missing.body]).toEqual([
    404,
    { error: 'delivery not found', details: { type: 'WebhookDelivery' } },
  ]);
  expect((await callWebhooks<{ items: object[] }>(gateway, key, 'GET')).body.items).toEqual([
    await readWebhook(gateway, key, id),
  ]);
});

test('409: the 21st webhook, also of two created at once; the 21st message that waits; a change of another version', async () => {
  const { key } = await gateway.createKey();
  for (let count = 0; count < 19; count += 1) await createWebhook(gateway, key, URL);
  const twins = await Promise.all(
    [1, 2].map(() => callWebhooks<{ id: string; error: string }>(gateway, key, 'POST', '', { url: URL })),
  );
  expect(twins.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([201, 409]);
  expect(twins.find(({ status }) => status === 409)?.body).toEqual({
    error: 'an organization has at most 20 webhooks; delete one first',
    details: { limit: 20 },
  });
  const id = twins.find(({ status }) => status === 201)?.body.id ?? '';
  for (let count = 0; count < 20; count += 1)
    expect((await callWebhooks(gateway, key, 'POST', `/${id}/ping`)).status).toBe(202);
  const tooMany = await callWebhooks(gateway, key, 'POST', `/${id}/ping`);
  expect([tooMany.status, tooMany.body]).toEqual([
    409,
    { error: 'at most 20 messages to a webhook wait; try again later', details: { limit: 20 } },
  ]);
  const stale = await callWebhooks<{ error: string }>(gateway, key, 'PATCH', `/${id}`, {
    isEnabled: false,
    expectedUpdatedAt: '2020-01-01T00:00:00.000Z',
  });
  expect([stale.status, stale.body.error]).toEqual([409, expect.stringMatching(/^expectedUpdatedAt: /)]);
});

test('disabling by an administrator is in the feed and in the audit log, once', async () => {
  const { key } = await gateway.createKey();
  const { id } = await createWebhook(gateway, key, URL);
  for (const isEnabled of [false, false, true])
    expect((await callWebhooks<WebhookDocument>(gateway, key, 'PATCH', `/${id}`, { isEnabled })).body.isEnabled).toBe(
      isEnabled,
    );
  const { body } = await gateway.rest<{ items: { subjectId: string; data: object }[] }>(
    'GET',
    '/v1/feed?types=webhook.disabled',
    { key },
  );
  expect(body.items.map(({ subjectId, data }) => [subjectId, data])).toEqual([[id, { reason: 'requested' }]]);
  const audit = await gateway.graphql(
    key,
    '{ viewer { organization { auditLog(first: 1) { nodes { operation changedFields targetId } } } } }',
  );
  expect(audit).toMatchObject({
    data: {
      viewer: {
        organization: {
          auditLog: {
            nodes: [
              {
                operation: 'updateWebhook',
                changedFields: ['isEnabled'],
                targetId: btoa(`Webhook:${id}`),
              },
            ],
          },
        },
      },
    },
  });
});

test('the metrics count webhooks by state, and say how long the earliest entry waits', async () => {
  const own = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  const { key } = await own.createKey();
  const metrics = async () => {
    const text = await (await own.fetch('/metrics')).text();
    return Object.fromEntries(
      [...text.matchAll(/^(gateway_webhook(?:s\S*|_wait_seconds)) (\S+)$/gm)].map(([, name, value]) => [
        name,
        Number(value),
      ]),
    );
  };
  const none = { 'gateway_webhooks{state="enabled"}': 0, 'gateway_webhooks{state="failing"}': 0 };
  await expect.poll(metrics).toEqual({
    ...none,
    'gateway_webhooks{state="disabled"}': 0,
    gateway_webhook_wait_seconds: 0,
  });
  const webhook = await createWebhook(own, key, 'http://127.0.0.1:49151/hooks');
  await createSession(own, key);
  // Nobody has numbered the entry.
  await own.dependencies.sql.query(`update feed_entry set recorded_at = now() - interval '100 seconds'`, []);
  await expect.poll(metrics).toMatchObject({ gateway_webhook_wait_seconds: expect.closeTo(150, -2) });
  await own.dependencies.sql.query('update feed_entry set recorded_at = now()', []);
  // Whoever reads the feed numbers its entries.
  await own.rest('GET', '/v1/feed', { key });
  const at = new Date(Date.now() - 100_000);
  await own.dependencies.sql.query('update feed_entry set created_at = $1', [at]);
  await expect.poll(metrics).toEqual({
    ...none,
    'gateway_webhooks{state="enabled"}': 1,
    'gateway_webhooks{state="disabled"}': 0,
    gateway_webhook_wait_seconds: expect.closeTo(150, -2),
  });
  await callWebhooks(own, key, 'PATCH', `/${webhook.id}`, { isEnabled: false });
  await expect
    .poll(metrics)
    .toMatchObject({ 'gateway_webhooks{state="disabled"}': 1, gateway_webhook_wait_seconds: 0 });
  await own.close();
});
