import { afterAll, beforeAll, expect, test } from 'vitest';
import { isWrite } from '../../src/core/http/route.ts';
import { routes } from '../../src/gateway/routes.ts';
import { caseFaults } from '../support/completeness.ts';
import { AT, type AuditWorld, type Write, auditRows, startAuditWorld } from '../support/fixtures/audit-log.ts';
import { invite } from '../support/fixtures/invitations.ts';
import { visit } from '../support/fixtures/mcp-connections.ts';
import { createSession, eventsOf } from '../support/fixtures/sessions.ts';

/** Every route that writes, one after the other in one workspace: each leaves exactly one entry, which says who, what and when. */

let w: AuditWorld;
beforeAll(async () => {
  w = await startAuditWorld();
  const { token, id } = await invite(w.gateway, w.admin.key, 'new@example.com');
  Object.assign(w.made, { token, invitation: id });
  w.made['session'] = await createSession(w.gateway, w.admin.key);
  await w.keep(
    'key',
    w.mutate('createApiKey', { name: 'CI', scopes: ['SOCIAL'] }, 'apiKey { databaseId }'),
    'apiKey',
    'databaseId',
  );
  const spare = { stdio: { name: 'spare', command: 'npx' } };
  await w.keep('spare', w.mutate('createMcpServer', spare, 'mcpServer { databaseId }'), 'mcpServer', 'databaseId');
});
afterAll(() => w.stop());

const EVENTS = '/events/2026-03';
const CHANNELS = '/broadcast/v1/channels/setting/publish/current';
const definition = { label: 'Seen', propertyDefinitions: [{ label: 'Total', type: 'number' }] };
const occurrence = { eventName: 'seen', properties: { total: 1 }, email: 'a@example.com' };
const ofDefinition: Write['target'] = () => ['EventDefinition', w.made['definition']];
const ofServer: Write['target'] = () => ['McpServer', w.made['server']];
const ofKey: Write['target'] = () => ['ApiKey', w.made['key']];
const ofJob: Write['target'] = () => ['DeletionJob', w.made['job']];
const ofSession: Write['target'] = () => ['Session', w.made['session']];

test('reading channels for the first time sets one up, and no reading after it writes', async () => {
  const before = await auditRows(w.gateway);
  const { body } = await w.gateway.rest<{ channelGuid: string }[]>('GET', CHANNELS, { key: w.admin.key });
  w.made['channel'] = body[0]?.channelGuid ?? '';
  await w.gateway.rest('GET', CHANNELS, { key: w.admin.key });
  const { keyId } = w.admin;
  expect((await auditRows(w.gateway)).slice(before.length)).toMatchObject([
    { operation: 'addBroadcastChannel', targetType: 'BroadcastChannel', targetId: w.made['channel'], keyId },
  ]);
});

const ROUTES: Readonly<Record<string, Write>> = {
  createOrganization: {
    run: () => w.keep('organization', w.rest('POST', '/v1/organizations', { name: 'Newer' }), 'id'),
    target: () => ['Organization', w.made['organization']],
    organization: () => w.made['organization'],
  },
  acceptOrganizationInvitation: {
    run: () =>
      w.keep('firstKey', w.rest('POST', '/v1/invitations/accept', { token: w.made['token'] }, ''), 'apiKey', 'id'),
    target: () => ['OrganizationInvitation', w.made['invitation']],
    by: () => ({ ...w.admin, keyId: w.made['firstKey'] ?? '' }),
  },
  createEventDefinition: {
    run: () => w.keep('definition', w.rest('POST', `${EVENTS}/event-definitions`, definition), 'id'),
    target: ofDefinition,
  },
  updateEventDefinition: {
    run: () => w.rest('PATCH', `${EVENTS}/event-definitions/seen`, { label: 'Looked at' }),
    target: ofDefinition,
  },
  addEventProperty: {
    run: () => w.rest('POST', `${EVENTS}/event-definitions/seen/property`, { label: 'Note', type: 'string' }),
    target: ofDefinition,
  },
  updateEventProperty: {
    run: () => w.rest('PATCH', `${EVENTS}/event-definitions/seen/property`, { name: 'note', label: 'N' }),
    target: ofDefinition,
  },
  updateEventPropertyByPath: {
    run: () => w.rest('PATCH', `${EVENTS}/event-definitions/seen/property/note`, { label: 'M' }),
    operation: 'updateEventProperty',
    target: ofDefinition,
  },
  deleteEventProperty: {
    run: () => w.rest('DELETE', `${EVENTS}/event-definitions/seen/property/note`),
    target: ofDefinition,
  },
  sendEventOccurrence: { run: () => w.rest('POST', `${EVENTS}/send`, occurrence), target: ofDefinition },
  sendEventOccurrences: {
    run: () => w.rest('POST', `${EVENTS}/send/batch`, { inputs: [occurrence] }),
    target: ofDefinition,
  },
  deleteEventDefinition: { run: () => w.rest('DELETE', `${EVENTS}/event-definitions/seen`), target: ofDefinition },
  createMcpConnection: {
    run: () =>
      w.keep(
        'server',
        w.rest('POST', '/v1/mcp-connections', { name: 'other', serverUrl: w.oauth.serverUrl }),
        'connection',
        'id',
      ),
    target: ofServer,
  },
  authorizeMcpConnection: {
    run: () =>
      w.keep(
        'authorizationUrl',
        w.rest('POST', `/v1/mcp-connections/${w.made['server']}/authorize`, {}),
        'authorizationUrl',
      ),
    target: ofServer,
  },
  updateMcpConnection: {
    run: () => w.rest('PATCH', `/v1/mcp-connections/${w.made['server']}`, { name: 'another' }),
    target: ofServer,
  },
  deleteMcpConnection: {
    run: () => w.rest('DELETE', `/v1/mcp-connections/${w.made['spare']}`),
    target: () => ['McpServer', w.made['spare']],
  },
  createSession: {
    run: () => w.keep('begun', w.rest('POST', '/v1/sessions', { title: 'Begun' }), 'id'),
    target: () => ['Session', w.made['begun']],
  },
  appendSessionEvents: {
    run: () => w.rest('POST', `/v1/sessions/${w.made['session']}/events`, { events: eventsOf(1) }),
    target: ofSession,
  },
  updateSession: {
    run: () => w.rest('PATCH', `/v1/sessions/${w.made['session']}`, { title: 'Again' }),
    target: ofSession,
  },
  createBroadcast: {
    run: () =>
      w.keep(
        'broadcast',
        w.rest('POST', '/broadcast/v1/broadcasts', { channelGuid: w.made['channel'], content: { body: 'x' } }),
        'broadcastGuid',
      ),
    target: () => ['Broadcast', w.made['broadcast']],
  },
  cancelBroadcast: {
    run: () => w.rest('DELETE', `/broadcast/v1/broadcasts/${w.made['broadcast']}`),
    target: () => ['Broadcast', w.made['broadcast']],
  },
  createApiKey: {
    run: () => w.keep('created', w.rest('POST', '/v1/api-keys', { name: 'CI', scopes: ['social'] }), 'id'),
    target: () => ['ApiKey', w.made['created']],
  },
  revokeApiKey: {
    run: () => w.rest('DELETE', `/v1/api-keys/${w.made['key']}`),
    target: ofKey,
  },
  deleteUser: {
    run: () => w.keep('job', w.rest('DELETE', `/v1/users/${w.leaver.userId}`, {}, w.leaver.key), 'deletionJobId'),
    target: ofJob,
    by: () => w.leaver,
  },
};

test('every route that writes has its case here', () => {
  const names = routes.filter(isWrite).map(({ operationId }) => operationId);
  expect(caseFaults('ROUTES in test/across/audit-of-routes.test.ts', Object.keys(ROUTES), names)).toBe('');
});

test.each(Object.entries(ROUTES))('%s leaves exactly one entry', async (name, write) => {
  const { added, expected } = await w.record(name, write);
  expect(added).toEqual([expected]);
});

test('completing an authorization counts for whoever began it', async () => {
  w.gateway.setClock(AT);
  const before = await auditRows(w.gateway);
  const url = w.oauth.consent(w.made['authorizationUrl'] ?? '');
  const requestId = { 'X-Request-Id': 'callback' };
  const fetch: typeof w.gateway.fetch = (target, init) => w.gateway.fetch(target, { ...init, headers: requestId });
  expect((await visit({ fetch }, url)).status).toBe(200);
  const { keyId, organizationId } = w.admin;
  expect((await auditRows(w.gateway)).slice(before.length)).toMatchObject([
    { operation: 'completeMcpAuthorization', targetId: w.made['server'], keyId, organizationId, requestId: 'callback' },
  ]);
});
