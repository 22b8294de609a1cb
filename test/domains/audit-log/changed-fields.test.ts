import { expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { createSession, moveTo, mutate } from '../../support/fixtures/sessions.ts';

const gateway = useOwnGateway();

test('the entry of an update names the fields that it changed, without values', async () => {
  const { key, organizationId } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  const property = { label: 'Total', type: 'NUMBER' };
  await mutate(gateway, key, 'createEventDefinition', { label: 'Paid', propertyDefinitions: [property] });
  const updates = {
    updateSession: { sessionId, title: 'Secret title', level: 2, agent: null },
    pinSession: { sessionId, isPinned: true },
    updateOrganization: { organizationId, name: 'Secret name' },
    updateViewer: { name: 'Secret person' },
    updateEventDefinition: { eventName: 'paid', label: 'Secret label', description: null },
    updateEventProperty: { eventName: 'paid', name: 'total', label: 'Secret label' },
  };
  for (const [name, input] of Object.entries(updates))
    expect((await mutate(gateway, key, name, input)).__typename).toMatch(/Payload$/);
  const entries = await gateway.dependencies.sql.query<Record<string, unknown>>(
    'select operation, changed_fields as "changedFields", to_jsonb(audit_entry)::text as row from audit_entry where operation = any($1)',
    [Object.keys(updates)],
  );
  expect(Object.fromEntries(entries.map(({ operation, changedFields }) => [operation, changedFields]))).toEqual({
    updateSession: ['agent', 'level', 'title'],
    pinSession: ['isPinned'],
    updateOrganization: ['name'],
    updateViewer: ['name'],
    updateEventDefinition: ['label', 'description'],
    updateEventProperty: ['label'],
  });
  expect(entries.filter(({ row }) => String(row).includes('Secret'))).toEqual([]);
});

test('the entry of a change of a state or a role names the new one, and that of a creation the visibility', async () => {
  const { key, organization } = await gateway.createKey();
  const member = await gateway.createKey({ organization, role: 'member' });
  await moveTo(gateway, key, await createSession(gateway, key), 'IN_PROGRESS', 'FAILED');
  await mutate(gateway, key, 'changeOrganizationMemberRole', { userId: member.userId, role: 'ADMIN' });
  const { data } = await gateway.graphql<{
    viewer: { organization: { auditLog: { nodes: { operation: string; detail: string | null }[] } } };
  }>(key, '{ viewer { organization { auditLog(first: 4) { nodes { operation detail } } } } }');
  const entries = data?.viewer.organization.auditLog.nodes.map(({ operation, detail }) => [operation, detail]);
  expect(entries?.toReversed()).toEqual([
    ['createSession', 'private'],
    ['transitionSession', 'inProgress'],
    ['transitionSession', 'failed'],
    ['changeOrganizationMemberRole', 'admin'],
  ]);
});

test('the entry of an operation that sets what has few values names the new value, with the field when there are several', async () => {
  const { key, email } = await gateway.createKey();
  const sessionId = await createSession(gateway, key, { visibility: 'PUBLIC' });
  await mutate(gateway, key, 'createEventDefinition', {
    label: 'Paid',
    propertyDefinitions: [{ label: 'Total', type: 'NUMBER' }],
  });
  const { mcpServer } = await mutate<{ mcpServer: { id: string } }>(
    gateway,
    key,
    'createMcpServer',
    { stdio: { name: 'own', command: 'npx', visibility: 'PERSONAL' } },
    'mcpServer { id }',
  );
  const updates: [string, object][] = [
    ['updateSession', { sessionId, visibility: 'PRIVATE', title: 'Secret' }],
    ['updateSession', { sessionId, title: 'Secret' }],
    ['updateSession', { sessionId, visibility: 'PUBLIC', mode: 'PLANNING', sandboxSize: null }],
    ['pinSession', { sessionId, isPinned: false }],
    ['updateMcpServerSettings', { mcpServerId: mcpServer.id, toolPolicy: { mode: 'ONLY', names: ['secret'] } }],
    ['updateMcpServerSettings', { mcpServerId: mcpServer.id, recordToolCalls: 'NONE', handle: 'secret' }],
    ['replaceEventPropertyType', { eventName: 'paid', name: 'total', type: 'STRING' }],
    ['inviteOrganizationMember', { email: `x-${email}`, role: 'ADMIN' }],
  ];
  for (const [name, input] of updates)
    expect([name, (await mutate(gateway, key, name, input)).__typename]).toEqual([
      name,
      expect.stringMatching(/Payload$/),
    ]);
  const { data } = await gateway.graphql<{
    viewer: { organization: { auditLog: { nodes: { operation: string; detail: string | null }[] } } };
  }>(key, '{ viewer { organization { auditLog(filter: { sources: [REQUEST] }) { nodes { operation detail } } } } }');
  const entries = data?.viewer.organization.auditLog.nodes.map(({ operation, detail }) => [operation, detail]);
  expect(entries?.toReversed()).toEqual([
    ['createSession', 'public'],
    ['createEventDefinition', null],
    ['createMcpConnection', 'personal'],
    ['updateSession', 'private'],
    ['updateSession', null],
    ['updateSession', 'mode: planning, sandboxSize: null, visibility: public'],
    ['pinSession', 'false'],
    ['updateMcpConnectionSettings', 'ONLY'],
    ['updateMcpConnectionSettings', 'NONE'],
    ['replaceEventPropertyType', 'string'],
    ['inviteOrganizationMember', 'admin'],
  ]);
});

test('the entry has what decides something: days, scopes and expiry of a key, the reason of a hold, the host of a webhook', async () => {
  const { key, organizationId } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  const scopes = ['SESSIONS_READ', 'SOCIAL'];
  const url = 'https://hooks.example.com/secret';
  const { webhook } = await mutate<{ webhook: { id: string } }>(
    gateway,
    key,
    'createWebhook',
    { url },
    'webhook { id }',
  );
  const writes: [string, object][] = [
    ['updateOrganizationRetention', { organizationId, auditLogDays: 400 }],
    ['createApiKey', { name: 'CI', scopes, expiresAt }],
    ['createApiKey', { name: 'CI', scopes }],
    ['holdSession', { sessionId, reason: 'Case 7' }],
    ['updateWebhook', { webhookId: webhook.id, url: 'https://other.example.com/secret' }],
    ['updateWebhook', { webhookId: webhook.id, isEnabled: false }],
  ];
  for (const [name, input] of writes)
    expect([name, (await mutate(gateway, key, name, input)).__typename]).toEqual([
      name,
      expect.stringMatching(/Payload$/),
    ]);
  const { data } = await gateway.graphql<{
    viewer: { organization: { auditLog: { nodes: { detail: string | null }[] } } };
  }>(key, '{ viewer { organization { auditLog(filter: { sources: [REQUEST] }) { nodes { detail } } } } }');
  expect(data?.viewer.organization.auditLog.nodes.map(({ detail }) => detail).toReversed()).toEqual([
    'private',
    'hooks.example.com',
    '400',
    `scopes: sessions.read social, expiresAt: ${expiresAt}`,
    'scopes: sessions.read social, expiresAt: null',
    'Case 7',
    'other.example.com',
    'false',
  ]);
});
