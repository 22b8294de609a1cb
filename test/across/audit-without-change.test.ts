import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AuditWorkspace, auditRows, startAuditWorkspace } from '../support/fixtures/audit-log.ts';
import { createSession } from '../support/fixtures/sessions.ts';

/** Operations of both APIs that succeed and find nothing to change. They write no audit log entry. */

const EVENTS = '/events/2026-03';
const OCCURRENCE = { eventName: 'seen', properties: {}, email: 'a@example.com', uuid: 'once' };

let workspace: AuditWorkspace;
const ids: Record<'session' | 'key' | 'server' | 'broadcast', string> = {
  session: '',
  key: '',
  server: '',
  broadcast: '',
};
beforeAll(async () => {
  workspace = await startAuditWorkspace();
  const { gateway, admin, deletedUser } = workspace;
  const create = async <Body>(path: string, body: object) =>
    (await gateway.rest<Body>('POST', path, { key: admin.key, body })).body;
  ids.session = await createSession(gateway, admin.key);
  ids.key = (await create<{ id: string }>('/v1/api-keys', { name: 'CI', scopes: ['social'] })).id;
  const server = { type: 'stdio', name: 'files', command: 'npx' };
  ids.server = (await create<{ connection: { id: string } }>('/v1/mcp-connections', server)).connection.id;
  const property = { label: 'Note', type: 'string' };
  await create(`${EVENTS}/event-definitions`, { label: 'Seen', propertyDefinitions: [property] });
  await create(`${EVENTS}/send`, OCCURRENCE);
  const channels = await workspace.rest('GET', '/broadcast/v1/channels/setting/publish/current');
  const [channel] = channels.result as unknown as { channelGuid: string }[];
  const broadcast = { channelGuid: channel?.channelGuid, content: { body: 'x' } };
  ids.broadcast = (await create<{ broadcastGuid: string }>('/broadcast/v1/broadcasts', broadcast)).broadcastGuid;
  await workspace.rest('DELETE', `/broadcast/v1/broadcasts/${ids.broadcast}`);
  await workspace.rest('DELETE', `/v1/users/${deletedUser.userId}`, {}, deletedUser.key);
});
afterAll(() => workspace.stop());

const PROPERTY = { eventName: 'seen', name: 'note' };
const ADMIN = () => workspace.admin.userId;

const WITHOUT_CHANGE: Readonly<Record<string, () => Promise<unknown>>> = {
  'updateOrganization without a field': () =>
    workspace.mutate('updateOrganization', { organizationId: workspace.admin.organizationId }),
  'updateViewer without a field': () => workspace.mutate('updateViewer', {}),
  'updateEventDefinition without a field': () => workspace.mutate('updateEventDefinition', { eventName: 'seen' }),
  'updateEventProperty without a field': () => workspace.mutate('updateEventProperty', PROPERTY),
  'updateSession without a field': () => workspace.mutate('updateSession', { sessionId: ids.session }),
  'updateMcpServer without a field': () => workspace.mutate('updateMcpServer', { mcpServerId: ids.server }),
  'updateMcpServerSettings with the same values': () =>
    workspace.mutate('updateMcpServerSettings', {
      mcpServerId: ids.server,
      handle: 'files',
      toolPolicy: { mode: 'ALL', names: [] },
    }),
  'renameApiKey with the same name': () => workspace.mutate('renameApiKey', { apiKeyId: ids.key, name: 'CI' }),
  'changeOrganizationMemberRole to the same role': () =>
    workspace.mutate('changeOrganizationMemberRole', { userId: ADMIN(), role: 'ADMIN' }),
  'sendEventOccurrences with known uuids': () => workspace.mutate('sendEventOccurrences', { inputs: [OCCURRENCE] }),
  'removeObjectIdentifiers with unknown ids': () =>
    workspace.mutate('removeObjectIdentifiers', { ids: [randomUUID()] }),
  'deleteUser again': () =>
    workspace.mutate('deleteUser', { userId: workspace.deletedUser.userId }, '__typename', workspace.deletedUser.key),
  'PATCH of an event definition without a field': () => workspace.rest('PATCH', `${EVENTS}/event-definitions/seen`, {}),
  'PATCH of an event property without a field': () =>
    workspace.rest('PATCH', `${EVENTS}/event-definitions/seen/property/note`, {}),
  'PATCH of a session without a field': () => workspace.rest('PATCH', `/v1/sessions/${ids.session}`, {}),
  'PATCH of an MCP connection without a field': () => workspace.rest('PATCH', `/v1/mcp-connections/${ids.server}`, {}),
  'PATCH of the settings of an MCP connection without a field': () =>
    workspace.rest('PATCH', `/v1/mcp-connections/${ids.server}/settings`, {}),
  'POST of an occurrence with a known uuid': () => workspace.rest('POST', `${EVENTS}/send`, OCCURRENCE),
  'DELETE of a canceled broadcast': () => workspace.rest('DELETE', `/broadcast/v1/broadcasts/${ids.broadcast}`),
  'DELETE of a user whose deletion is queued': () =>
    workspace.rest('DELETE', `/v1/users/${workspace.deletedUser.userId}`, {}, workspace.deletedUser.key),
};

test.each(Object.entries(WITHOUT_CHANGE))('%s writes no entry', async (_, run) => {
  const before = await auditRows(workspace.gateway);
  await run();
  expect(await auditRows(workspace.gateway)).toEqual(before);
});
