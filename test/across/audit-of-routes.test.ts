import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordedPullRequestExample } from '../../src/domains/sessions/rest-examples.ts';
import { isWrite } from '../../src/core/http/route.ts';
import { routes } from '../../src/gateway/routes.ts';
import { caseFaults } from '../support/completeness.ts';
import {
  WRITTEN_AT,
  type AuditWorkspace,
  type Write,
  auditRows,
  startAuditWorkspace,
} from '../support/fixtures/audit-log.ts';
import { invite } from '../support/fixtures/invitations.ts';
import { answering, legacyServer, toolCall } from '../support/fixtures/mcp-use.ts';
import { visit } from '../support/fixtures/mcp-connections.ts';
import { PLAN, plannedId } from '../support/fixtures/mutation-cases.ts';
import { createSession, eventsOf } from '../support/fixtures/sessions.ts';

/**
 * Runs every route that writes in one workspace, one after the other. Each writes exactly one audit log entry, with
 * actor, operation, target and time.
 */

let workspace: AuditWorkspace;
beforeAll(async () => {
  workspace = await startAuditWorkspace();
  const { token, id } = await invite(workspace.gateway, workspace.admin.key, 'new@example.com');
  Object.assign(workspace.createdIds, { token, invitation: id });
  workspace.createdIds['session'] = await createSession(workspace.gateway, workspace.admin.key);
  await workspace.storeId(
    'key',
    workspace.mutate('createApiKey', { name: 'CI', scopes: ['SOCIAL'] }, 'apiKey { databaseId }'),
    'apiKey',
    'databaseId',
  );
  const used = { remote: { name: 'used', serverUrl: `${workspace.server.origin}/mcp` } };
  await workspace.storeId(
    'used',
    workspace.mutate('createMcpServer', used, 'mcpServer { databaseId }'),
    'mcpServer',
    'databaseId',
  );
  // Events of a session have entries of their own.
  const silent = {
    name: 'silent',
    serverUrl: `${workspace.server.origin}/mcp`,
    settings: { recordToolCalls: 'NONE' },
  };
  await workspace.storeId(
    'silent',
    workspace.mutate('createMcpServer', { remote: silent }, 'mcpServer { databaseId }'),
    'mcpServer',
    'databaseId',
  );
  const mcpServers = [workspace.createdIds['silent']];
  workspace.createdIds['usingSession'] = await createSession(workspace.gateway, workspace.admin.key, { mcpServers });
  const spare = { stdio: { name: 'spare', command: 'npx' } };
  await workspace.storeId(
    'spare',
    workspace.mutate('createMcpServer', spare, 'mcpServer { databaseId }'),
    'mcpServer',
    'databaseId',
  );
});
afterAll(() => workspace.stop());

const EVENTS = '/events/2026-03';
const CHANNELS = '/broadcast/v1/channels/setting/publish/current';
const definition = { label: 'Seen', propertyDefinitions: [{ label: 'Total', type: 'number' }] };
const occurrence = { eventName: 'seen', properties: { total: 1 }, email: 'a@example.com' };
const ofDefinition: Write['target'] = () => ['EventDefinition', workspace.createdIds['definition']];
const ofServer: Write['target'] = () => ['McpServer', workspace.createdIds['server']];
const ofKey: Write['target'] = () => ['ApiKey', workspace.createdIds['key']];
const ofWebhook: Write['target'] = () => ['Webhook', workspace.createdIds['webhook']];
const webhook = (method: string, path: string, body?: object) =>
  workspace.rest(method, `/v1/webhooks/${workspace.createdIds['webhook']}${path}`, body);
const ofJob: Write['target'] = () => ['DeletionJob', workspace.createdIds['job']];
const ofSession: Write['target'] = () => ['Session', workspace.createdIds['session']];

test('the first read of the channels creates one and writes an entry; later reads write none', async () => {
  const before = await auditRows(workspace.gateway);
  const { body } = await workspace.gateway.rest<{ channelGuid: string }[]>('GET', CHANNELS, {
    key: workspace.admin.key,
  });
  workspace.createdIds['channel'] = body[0]?.channelGuid ?? '';
  await workspace.gateway.rest('GET', CHANNELS, { key: workspace.admin.key });
  const { keyId } = workspace.admin;
  expect((await auditRows(workspace.gateway)).slice(before.length)).toMatchObject([
    {
      operation: 'addBroadcastChannel',
      targetType: 'BroadcastChannel',
      targetId: workspace.createdIds['channel'],
      keyId,
    },
  ]);
});

const ROUTES: Readonly<Record<string, Write>> = {
  createOrganization: {
    run: () => workspace.storeId('organization', workspace.rest('POST', '/v1/organizations', { name: 'Newer' }), 'id'),
    target: () => ['Organization', workspace.createdIds['organization']],
    organization: () => workspace.createdIds['organization'],
  },
  acceptOrganizationInvitation: {
    run: () =>
      workspace.storeId(
        'firstKey',
        workspace.rest('POST', '/v1/invitations/accept', { token: workspace.createdIds['token'] }, ''),
        'apiKey',
        'id',
      ),
    target: () => ['OrganizationInvitation', workspace.createdIds['invitation']],
    by: () => ({ ...workspace.admin, keyId: workspace.createdIds['firstKey'] ?? '' }),
  },
  createEventDefinition: {
    run: () => workspace.storeId('definition', workspace.rest('POST', `${EVENTS}/event-definitions`, definition), 'id'),
    target: ofDefinition,
  },
  updateEventDefinition: {
    run: () => workspace.rest('PATCH', `${EVENTS}/event-definitions/seen`, { label: 'Looked at' }),
    target: ofDefinition,
  },
  addEventProperty: {
    run: () => workspace.rest('POST', `${EVENTS}/event-definitions/seen/property`, { label: 'Note', type: 'string' }),
    target: ofDefinition,
  },
  updateEventProperty: {
    run: () => workspace.rest('PATCH', `${EVENTS}/event-definitions/seen/property`, { name: 'note', label: 'N' }),
    target: ofDefinition,
  },
  updateEventPropertyByPath: {
    run: () => workspace.rest('PATCH', `${EVENTS}/event-definitions/seen/property/note`, { label: 'M' }),
    operation: 'updateEventProperty',
    target: ofDefinition,
  },
  deleteEventProperty: {
    run: () => workspace.rest('DELETE', `${EVENTS}/event-definitions/seen/property/note`),
    target: ofDefinition,
  },
  sendEventOccurrence: { run: () => workspace.rest('POST', `${EVENTS}/send`, occurrence), target: ofDefinition },
  sendEventOccurrences: {
    run: () => workspace.rest('POST', `${EVENTS}/send/batch`, { inputs: [occurrence] }),
    target: ofDefinition,
  },
  applyTrackingPlan: {
    run: async () => {
      const change = await workspace.rest('POST', '/v1/tracking-plan', PLAN);
      workspace.createdIds['planned'] = await plannedId(workspace.gateway);
      return change;
    },
    target: () => ['EventDefinition', workspace.createdIds['planned']],
  },
  deleteEventDefinition: {
    run: () => workspace.rest('DELETE', `${EVENTS}/event-definitions/seen`),
    target: ofDefinition,
  },
  createMcpConnection: {
    run: () =>
      workspace.storeId(
        'server',
        workspace.rest('POST', '/v1/mcp-connections', { name: 'other', serverUrl: workspace.oauth.serverUrl }),
        'connection',
        'id',
      ),
    target: ofServer,
  },
  callMcpTool: {
    run: () =>
      workspace.rest('POST', `/v1/mcp-connections/${workspace.createdIds['used']}/tool-calls`, { name: 'now' }),
    target: () => ['McpServer', workspace.createdIds['used']],
  },
  sendMcpMessage: {
    run: () => {
      workspace.server.handler = answering('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}');
      return workspace.rest('POST', `/v1/mcp-connections/${workspace.createdIds['used']}/mcp`, toolCall('now', {}));
    },
    operation: 'callMcpTool',
    target: () => ['McpServer', workspace.createdIds['used']],
  },
  sendSessionMcpMessage: {
    run: () => {
      workspace.server.handler = legacyServer('"result":{"content":[]}');
      return workspace.rest(
        'POST',
        `/v1/sessions/${workspace.createdIds['usingSession']}/mcp`,
        toolCall('silent__now', {}),
      );
    },
    operation: 'callMcpTool',
    target: () => ['McpServer', workspace.createdIds['silent']],
  },
  authorizeMcpConnection: {
    run: () =>
      workspace.storeId(
        'authorizationUrl',
        workspace.rest('POST', `/v1/mcp-connections/${workspace.createdIds['server']}/authorize`, {}),
        'authorizationUrl',
      ),
    target: ofServer,
  },
  updateMcpConnection: {
    run: () => workspace.rest('PATCH', `/v1/mcp-connections/${workspace.createdIds['server']}`, { name: 'another' }),
    target: ofServer,
  },
  updateMcpConnectionSettings: {
    run: () =>
      workspace.rest('PATCH', `/v1/mcp-connections/${workspace.createdIds['server']}/settings`, { handle: 'another' }),
    target: ofServer,
  },
  deleteMcpConnection: {
    run: () => workspace.rest('DELETE', `/v1/mcp-connections/${workspace.createdIds['spare']}`),
    target: () => ['McpServer', workspace.createdIds['spare']],
  },
  createSession: {
    run: () => workspace.storeId('begun', workspace.rest('POST', '/v1/sessions', { title: 'Begun' }), 'id'),
    target: () => ['Session', workspace.createdIds['begun']],
  },
  appendSessionEvents: {
    run: () =>
      workspace.rest('POST', `/v1/sessions/${workspace.createdIds['session']}/events`, { events: eventsOf(1) }),
    target: ofSession,
  },
  updateSession: {
    run: () => workspace.rest('PATCH', `/v1/sessions/${workspace.createdIds['session']}`, { title: 'Again' }),
    target: ofSession,
  },
  transitionSession: {
    run: () =>
      workspace.rest('POST', `/v1/sessions/${workspace.createdIds['session']}/transition`, { state: 'inProgress' }),
    target: ofSession,
  },
  recordArtifact: {
    run: () =>
      workspace.storeId(
        'artifact',
        workspace.rest('POST', `/v1/sessions/${workspace.createdIds['session']}/artifacts`, { type: 'PullRequest' }),
        'id',
      ),
    target: ofSession,
  },
  recordPullRequest: {
    run: () =>
      workspace.rest(
        'POST',
        `/v1/artifacts/${workspace.createdIds['artifact']}/pull-requests`,
        recordedPullRequestExample,
      ),
    target: ofSession,
  },
  createWebhook: {
    run: () =>
      workspace.storeId('webhook', workspace.rest('POST', '/v1/webhooks', { url: 'https://example.com/hooks' }), 'id'),
    target: ofWebhook,
  },
  updateWebhook: { run: () => webhook('PATCH', '', { types: ['member.left'] }), target: ofWebhook },
  rotateWebhookSecret: { run: () => webhook('POST', '/rotate-secret'), target: ofWebhook },
  replayWebhook: { run: () => webhook('POST', '/replay', { after: 0 }), target: ofWebhook },
  pingWebhook: { run: () => workspace.storeId('delivery', webhook('POST', '/ping'), 'id'), target: ofWebhook },
  redeliverWebhook: {
    run: () => webhook('POST', `/deliveries/${workspace.createdIds['delivery']}/redeliver`),
    target: ofWebhook,
  },
  deleteWebhook: { run: () => webhook('DELETE', ''), target: ofWebhook },
  createBroadcast: {
    run: () =>
      workspace.storeId(
        'broadcast',
        workspace.rest('POST', '/broadcast/v1/broadcasts', {
          channelGuid: workspace.createdIds['channel'],
          content: { body: 'x' },
        }),
        'broadcastGuid',
      ),
    target: () => ['Broadcast', workspace.createdIds['broadcast']],
  },
  cancelBroadcast: {
    run: () => workspace.rest('DELETE', `/broadcast/v1/broadcasts/${workspace.createdIds['broadcast']}`),
    target: () => ['Broadcast', workspace.createdIds['broadcast']],
  },
  createApiKey: {
    run: () =>
      workspace.storeId('created', workspace.rest('POST', '/v1/api-keys', { name: 'CI', scopes: ['social'] }), 'id'),
    target: () => ['ApiKey', workspace.createdIds['created']],
  },
  revokeApiKey: {
    run: () => workspace.rest('DELETE', `/v1/api-keys/${workspace.createdIds['key']}`),
    target: ofKey,
  },
  deleteUser: {
    run: () =>
      workspace.storeId(
        'job',
        workspace.rest('DELETE', `/v1/users/${workspace.deletedUser.userId}`, {}, workspace.deletedUser.key),
        'deletionJobId',
      ),
    target: ofJob,
    by: () => workspace.deletedUser,
  },
};

test('every route that writes has a case here', () => {
  // The end of a session at another server changes nothing here, and the token of an invitation is sent in a body although it is a read.
  const others = new Set(['endMcpSession', 'previewOrganizationInvitation']);
  const names = routes.flatMap((route) =>
    isWrite(route) && !others.has(route.operationId) ? [route.operationId] : [],
  );
  expect(caseFaults('ROUTES in test/across/audit-of-routes.test.ts', Object.keys(ROUTES), names)).toBe('');
});

test.each(Object.entries(ROUTES))('%s writes exactly one entry', async (name, write) => {
  const { added, expected } = await workspace.perform(name, write);
  expect(added).toEqual([expected]);
});

test('the entry for a completed authorization names the user who started it', async () => {
  workspace.gateway.setClock(WRITTEN_AT);
  const before = await auditRows(workspace.gateway);
  const url = workspace.oauth.consent(workspace.createdIds['authorizationUrl'] ?? '');
  const requestId = { 'X-Request-Id': 'callback' };
  const fetch: typeof workspace.gateway.fetch = (target, init) =>
    workspace.gateway.fetch(target, { ...init, headers: requestId });
  expect((await visit({ fetch }, url)).status).toBe(200);
  const { keyId, organizationId } = workspace.admin;
  expect((await auditRows(workspace.gateway)).slice(before.length)).toMatchObject([
    {
      operation: 'completeMcpAuthorization',
      targetId: workspace.createdIds['server'],
      keyId,
      organizationId,
      requestId: 'callback',
    },
  ]);
});
