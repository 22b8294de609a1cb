import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditRows } from '../support/fixtures/audit-log.ts';
import { mutate } from '../support/fixtures/sessions.ts';
import { type WriteWorkspace, startWriteWorkspace } from '../support/operations/write-workspace.ts';

/** Operations of both APIs that succeed and find nothing to change. They write no audit log entry. */

const UUID = randomUUID();

let workspace: WriteWorkspace;
beforeAll(async () => {
  workspace = await startWriteWorkspace();
  await send('POST', '/events/2026-03/send', occurrence());
  await send('DELETE', `/broadcast/v1/broadcasts/${workspace.kept.broadcastGuid}`);
  await run('renameApiKey', { apiKeyId: workspace.kept.apiKeyId, name: 'CI' });
});
afterAll(() => workspace.stop());

const occurrence = () => ({
  eventName: workspace.kept.eventNames[0],
  properties: {},
  email: 'a@example.com',
  uuid: UUID,
});
const eventProperty = () => ({ eventName: workspace.kept.eventNames[0], name: workspace.kept.property });
const server = () => ({ mcpServerId: workspace.kept.mcpConnectionId });
const definitionPath = () => `/events/2026-03/event-definitions/${workspace.kept.eventNames[0]}`;
const connectionPath = () => `/v1/mcp-connections/${workspace.kept.mcpConnectionId}`;

async function run(name: string, input: object, { key } = workspace.kept.callers.admin): Promise<void> {
  const { __typename } = await mutate(workspace.gateway, key, name, input);
  expect(__typename).toMatch(/Payload$/);
}

async function send(
  method: string,
  path: string,
  body?: object,
  { key } = workspace.kept.callers.admin,
): Promise<void> {
  const { status, text } = await workspace.gateway.rest(method, path, { key, ...(body && { body }) });
  expect([status < 300, text]).toEqual([true, text]);
}

const WITHOUT_CHANGE: Readonly<Record<string, () => Promise<void>>> = {
  'updateOrganization without a field': () =>
    run('updateOrganization', { organizationId: workspace.kept.organizationId }),
  'updateViewer without a field': () => run('updateViewer', {}),
  'updateEventDefinition without a field': () =>
    run('updateEventDefinition', { eventName: workspace.kept.eventNames[0] }),
  'updateEventProperty without a field': () => run('updateEventProperty', eventProperty()),
  'updateSession without a field': () => run('updateSession', { sessionId: workspace.kept.sessionId }),
  'updateMcpServer without a field': () => run('updateMcpServer', server()),
  'updateMcpServerSettings with the same values': () =>
    run('updateMcpServerSettings', {
      ...server(),
      handle: workspace.kept.mcpConnectionId,
      toolPolicy: { mode: 'ALL', names: [] },
    }),
  'renameApiKey with the same name': () => run('renameApiKey', { apiKeyId: workspace.kept.apiKeyId, name: 'CI' }),
  'changeOrganizationMemberRole to the same role': () =>
    run('changeOrganizationMemberRole', { userId: workspace.kept.callers.admin.userId, role: 'ADMIN' }),
  'sendEventOccurrences with known uuids': () => run('sendEventOccurrences', { inputs: [occurrence()] }),
  'removeObjectIdentifiers with unknown ids': () => run('removeObjectIdentifiers', { ids: [randomUUID()] }),
  'deleteUser again': () => {
    const { deletedUser } = workspace.kept.callers;
    return run('deleteUser', { userId: deletedUser.userId }, deletedUser);
  },
  'PATCH of an event definition without a field': () => send('PATCH', definitionPath(), {}),
  'PATCH of an event property without a field': () =>
    send('PATCH', `${definitionPath()}/property/${workspace.kept.property}`, {}),
  'PATCH of a session without a field': () => send('PATCH', `/v1/sessions/${workspace.kept.sessionId}`, {}),
  'PATCH of an MCP connection without a field': () => send('PATCH', connectionPath(), {}),
  'PATCH of the settings of an MCP connection without a field': () => send('PATCH', `${connectionPath()}/settings`, {}),
  'POST of an occurrence with a known uuid': () => send('POST', '/events/2026-03/send', occurrence()),
  'DELETE of a canceled broadcast': () => send('DELETE', `/broadcast/v1/broadcasts/${workspace.kept.broadcastGuid}`),
  'DELETE of a user whose deletion is queued': () => {
    const { deletedUser } = workspace.kept.callers;
    return send('DELETE', `/v1/users/${deletedUser.userId}`, {}, deletedUser);
  },
};

test.each(Object.entries(WITHOUT_CHANGE))('%s writes no entry', async (_, change) => {
  const before = await auditRows(workspace.gateway);
  await change();
  expect(await auditRows(workspace.gateway)).toEqual(before);
});
