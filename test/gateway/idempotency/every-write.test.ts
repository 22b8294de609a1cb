import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { takesIdempotencyKey } from '../../../src/core/http/route.ts';
import { routes } from '../../../src/gateway/routes.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import {
  EVENTS,
  type Write,
  createDefinition,
  createRemote,
  definition,
  visibleParts,
  sendKeyed,
} from '../../support/fixtures/idempotency.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';
import { recordedPullRequestExample } from '../../../src/domains/sessions/rest-examples.ts';
import { createConnection } from '../../support/fixtures/mcp-connections.ts';
import { createSession, eventsOf } from '../../support/fixtures/sessions.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';
import { recordWebhook } from '../../support/fixtures/webhooks.ts';

/** `Idempotency-Key` on REST: each write runs once, and a repeated request gets the same bytes. */

let gateway: TestGateway;
let server: Peer;
let key: string;

beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  server = await startPeer(mcpHandler());
});

beforeEach(async () => {
  gateway.setClock(undefined);
  ({ key } = await gateway.createKey());
});

afterAll(async () => {
  await gateway.close();
  await server.stop();
});

async function definitionWithProperty(): Promise<string> {
  const { body } = await gateway.rest<{ name: string }>('POST', EVENTS, { key, body: definition('Signed up') });
  await gateway.rest('POST', `${EVENTS}/${body.name}/property`, { key, body: { label: 'Plan', type: 'string' } });
  return body.name;
}

async function connectionId(): Promise<string> {
  return (await createConnection(gateway, key, createRemote(server.origin).body)).body.connection.id;
}

async function artifactId(): Promise<string> {
  const path = `/v1/sessions/${await createSession(gateway, key)}/artifacts`;
  return (await gateway.rest<{ id: string }>('POST', path, { key, body: { type: 'PullRequest' } })).body.id;
}

/** A request for every write operation. */
const WRITES: Readonly<Record<string, () => Write | Promise<Write>>> = {
  createOrganization: () => ({ method: 'POST', path: '/v1/organizations', body: { name: 'Acme' } }),
  revokeApiKey: async () => {
    const { organization, email } = await gateway.createKey();
    const [first, second] = [
      await gateway.createKey({ organization, email }),
      await gateway.createKey({ organization, email }),
    ];
    ({ key } = first);
    return { method: 'DELETE', path: `/v1/api-keys/${second.keyId}` };
  },
  createApiKey: () => ({ method: 'POST', path: '/v1/api-keys', body: { name: 'Robot', scopes: ['social'] } }),
  deleteUser: async () => {
    const issued = await gateway.createKey();
    ({ key } = issued);
    return {
      method: 'DELETE',
      path: `/v1/users/${issued.userId}`,
      body: { deletionQuestionnaire: { reasons: ['other'] } },
    };
  },
  createMcpConnection: () => createRemote(server.origin),
  authorizeMcpConnection: async () => ({
    method: 'POST',
    path: `/v1/mcp-connections/${await connectionId()}/authorize`,
  }),
  updateMcpConnection: async () => ({
    method: 'PATCH',
    path: `/v1/mcp-connections/${await connectionId()}`,
    body: { name: 'Renamed' },
  }),
  updateMcpConnectionSettings: async () => ({
    method: 'PATCH',
    path: `/v1/mcp-connections/${await connectionId()}/settings`,
    body: { recordToolCalls: 'NONE' },
  }),
  callMcpTool: async () => ({
    method: 'POST',
    path: `/v1/mcp-connections/${await connectionId()}/tool-calls`,
    body: { name: 'now' },
  }),
  deleteMcpConnection: async () => ({ method: 'DELETE', path: `/v1/mcp-connections/${await connectionId()}` }),
  createWebhook: () => ({ method: 'POST', path: '/v1/webhooks', body: { url: 'https://example.com/hooks' } }),
  updateWebhook: async () => ({
    method: 'PATCH',
    path: `/v1/webhooks/${(await recordWebhook(gateway, key)).webhookId}`,
    body: { isEnabled: false },
  }),
  rotateWebhookSecret: async () => ({
    method: 'POST',
    path: `/v1/webhooks/${(await recordWebhook(gateway, key)).webhookId}/rotate-secret`,
  }),
  pingWebhook: async () => ({
    method: 'POST',
    path: `/v1/webhooks/${(await recordWebhook(gateway, key)).webhookId}/ping`,
  }),
  replayWebhook: async () => ({
    method: 'POST',
    path: `/v1/webhooks/${(await recordWebhook(gateway, key)).webhookId}/replay`,
    body: { after: 0 },
  }),
  redeliverWebhook: async () => {
    const { webhookId, webhookDeliveryId } = await recordWebhook(gateway, key);
    return { method: 'POST', path: `/v1/webhooks/${webhookId}/deliveries/${webhookDeliveryId}/redeliver` };
  },
  deleteWebhook: async () => ({
    method: 'DELETE',
    path: `/v1/webhooks/${(await recordWebhook(gateway, key)).webhookId}`,
  }),
  createSession: () => ({ method: 'POST', path: '/v1/sessions', body: { title: 'Mend the test' } }),
  appendSessionEvents: async () => ({
    method: 'POST',
    path: `/v1/sessions/${await createSession(gateway, key)}/events`,
    body: { events: eventsOf(2) },
  }),
  updateSession: async () => ({
    method: 'PATCH',
    path: `/v1/sessions/${await createSession(gateway, key)}`,
    body: { title: 'Mended' },
  }),
  transitionSession: async () => ({
    method: 'POST',
    path: `/v1/sessions/${await createSession(gateway, key)}/transition`,
    body: { state: 'inProgress' },
  }),
  recordArtifact: async () => ({
    method: 'POST',
    path: `/v1/sessions/${await createSession(gateway, key)}/artifacts`,
    body: { type: 'PullRequest' },
  }),
  recordPullRequest: async () => ({
    method: 'POST',
    path: `/v1/artifacts/${await artifactId()}/pull-requests`,
    body: recordedPullRequestExample,
  }),
  createEventDefinition: () => createDefinition(),
  applyTrackingPlan: () => ({
    method: 'POST',
    path: '/v1/tracking-plan',
    body: { definitions: [{ ...definition('Planned'), name: 'planned' }] },
  }),
  updateEventDefinition: async () => ({
    method: 'PATCH',
    path: `${EVENTS}/${await definitionWithProperty()}`,
    body: { label: 'Signed off' },
  }),
  deleteEventDefinition: async () => ({ method: 'DELETE', path: `${EVENTS}/${await definitionWithProperty()}` }),
  addEventProperty: async () => ({
    method: 'POST',
    path: `${EVENTS}/${await definitionWithProperty()}/property`,
    body: { label: 'Price', type: 'number' },
  }),
  updateEventProperty: async () => ({
    method: 'PATCH',
    path: `${EVENTS}/${await definitionWithProperty()}/property`,
    body: { name: 'plan', label: 'Tariff' },
  }),
  updateEventPropertyByPath: async () => ({
    method: 'PATCH',
    path: `${EVENTS}/${await definitionWithProperty()}/property/plan`,
    body: { label: 'Tariff' },
  }),
  deleteEventProperty: async () => ({
    method: 'DELETE',
    path: `${EVENTS}/${await definitionWithProperty()}/property/plan`,
  }),
  sendEventOccurrence: async () => ({
    method: 'POST',
    path: '/events/2026-03/send',
    body: { eventName: await definitionWithProperty(), properties: { plan: 'free' }, email: 'a@example.com' },
  }),
  sendEventOccurrences: async () => ({
    method: 'POST',
    path: '/events/2026-03/send/batch',
    body: {
      inputs: [{ eventName: await definitionWithProperty(), properties: { plan: 'free' }, email: 'a@example.com' }],
    },
  }),
  createBroadcast: async () => ({ method: 'POST', path: '/broadcast/v1/broadcasts', body: await broadcast() }),
  cancelBroadcast: async () => {
    const { body } = await gateway.rest<{ broadcastGuid: string }>('POST', '/broadcast/v1/broadcasts', {
      key,
      body: await broadcast(),
    });
    return { method: 'DELETE', path: `/broadcast/v1/broadcasts/${body.broadcastGuid}` };
  },
};

async function broadcast() {
  const { body } = await gateway.rest<{ channelGuid: string }[]>(
    'GET',
    '/broadcast/v1/channels/setting/publish/current',
    { key },
  );
  return { channelGuid: body[0]?.channelGuid, content: { body: 'News' } };
}

test('every write of a caller has its case', () => {
  const writes = routes.filter(takesIdempotencyKey).map(({ operationId }) => operationId);
  expect(Object.keys(WRITES).toSorted()).toEqual(writes.toSorted());
});

test.each(Object.keys(WRITES))('%s runs once, and a repeated request gets the same bytes', async (operation) => {
  const write = await WRITES[operation]?.();
  if (!write) throw new Error(operation);
  const send = () => sendKeyed(gateway, write, { key, idempotencyKey: 'k-1' });
  const first = visibleParts(await send());
  expect(first).toMatchObject({
    answer: { status: expect.toSatisfy((status: number) => status < 300) },
    replayed: undefined,
  });
  const before = await dumpTables(gateway);
  const second = visibleParts(await send());
  expect(second).toEqual({ answer: first.answer, replayed: 'true' });
  expect(await dumpTables(gateway)).toBe(before);
});
