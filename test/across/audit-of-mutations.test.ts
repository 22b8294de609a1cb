import { afterAll, beforeAll, expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { caseFaults } from '../support/completeness.ts';
import { type AuditWorld, type Write, auditRows, startAuditWorld } from '../support/fixtures/audit-log.ts';
import { invite } from '../support/fixtures/invitations.ts';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';

/** Every mutation, one after the other in one workspace: each leaves exactly one entry, which says who, what and when. */

let w: AuditWorld;
let identifierId = '';
beforeAll(async () => {
  w = await startAuditWorld();
  w.made['revocable'] = (await invite(w.gateway, w.admin.key, 'nobody@example.com')).id;
});
afterAll(() => w.stop());

const PULL_REQUEST = {
  url: 'https://example.com/1',
  title: 'T',
  status: 'OPEN',
  sourceBranch: 's',
  baseBranch: 'b',
  headSha: 'abc',
  agent: 'a',
  diff: { additions: 1, deletions: 1, data: '' },
  author: { login: 'l', avatarUrl: 'https://example.com/a.png' },
  codeRepository: { id: '7d444840-9dc0-11d1-b245-5ffdce74fad2', name: 'n', owner: 'o', baseBranch: 'b', provider: 'p' },
};

const definition = { label: 'Order paid', propertyDefinitions: [{ label: 'Total', type: 'NUMBER' }] };
const occurrence = { eventName: 'order_paid', properties: { total: 1 }, email: 'a@example.com' };
const ofDefinition: Write['target'] = () => ['EventDefinition', w.made['definition']];
const ofSession: Write['target'] = () => ['Session', w.made['session']];
const ofServer: Write['target'] = () => ['McpServer', w.made['server']];
const ofMember: Write['target'] = () => ['User', w.guest.userId];
const ofInvitation: Write['target'] = () => ['OrganizationInvitation', w.made['invitation']];
const ofKey: Write['target'] = () => ['ApiKey', w.made['key']];
const ofJob: Write['target'] = () => ['DeletionJob', w.made['job']];

const MUTATIONS: Readonly<Record<string, Write>> = {
  createOrganization: {
    run: () =>
      w.keep(
        'organization',
        w.mutate('createOrganization', { name: 'New' }, 'organization { databaseId }'),
        'organization',
        'databaseId',
      ),
    target: () => ['Organization', w.made['organization']],
    organization: () => w.made['organization'],
  },
  updateOrganization: {
    run: () => w.mutate('updateOrganization', { organizationId: w.admin.organizationId, name: 'Renamed' }),
    target: () => ['Organization', w.admin.organizationId],
  },
  inviteOrganizationMember: {
    run: async () => {
      const change = await w.mutate(
        'inviteOrganizationMember',
        { email: w.guest.email },
        'token invitation { databaseId }',
      );
      await w.keep('token', Promise.resolve(change), 'token');
      return w.keep('invitation', Promise.resolve(change), 'invitation', 'databaseId');
    },
    target: ofInvitation,
  },
  acceptOrganizationInvitation: {
    run: () => w.mutate('acceptOrganizationInvitation', { token: w.made['token'] }, '__typename', w.guest.key),
    target: ofInvitation,
    by: () => w.guest,
    organization: () => w.admin.organizationId,
  },
  revokeOrganizationInvitation: {
    run: () => w.mutate('revokeOrganizationInvitation', { invitationId: w.made['revocable'] }),
    target: () => ['OrganizationInvitation', w.made['revocable']],
  },
  changeOrganizationMemberRole: {
    run: () => w.mutate('changeOrganizationMemberRole', { userId: w.guest.userId, role: 'ADMIN' }),
    target: ofMember,
  },
  removeOrganizationMember: {
    run: () => w.mutate('removeOrganizationMember', { userId: w.guest.userId }),
    target: ofMember,
  },
  updateViewer: {
    run: () => w.mutate('updateViewer', { name: 'Ann' }),
    target: () => ['User', w.admin.userId],
    organization: () => null,
  },
  leaveOrganization: {
    run: () => w.mutate('leaveOrganization', {}, '__typename', w.walker.key),
    target: () => ['User', w.walker.userId],
    by: () => w.walker,
  },
  createApiKey: {
    run: () =>
      w.keep(
        'key',
        w.mutate('createApiKey', { name: 'CI', scopes: ['SOCIAL'] }, 'apiKey { databaseId }'),
        'apiKey',
        'databaseId',
      ),
    target: ofKey,
  },
  renameApiKey: {
    run: () => w.mutate('renameApiKey', { apiKeyId: w.made['key'], name: 'Robot' }),
    target: ofKey,
  },
  revokeApiKey: {
    run: () => w.mutate('revokeApiKey', { apiKeyId: w.made['key'] }),
    target: ofKey,
  },
  createEventDefinition: {
    run: () =>
      w.keep(
        'definition',
        w.mutate('createEventDefinition', definition, 'eventDefinition { databaseId }'),
        'eventDefinition',
        'databaseId',
      ),
    target: ofDefinition,
  },
  updateEventDefinition: {
    run: () => w.mutate('updateEventDefinition', { eventName: 'order_paid', label: 'Paid' }),
    target: ofDefinition,
  },
  addEventProperty: {
    run: () => w.mutate('addEventProperty', { eventName: 'order_paid', label: 'Note', type: 'STRING' }),
    target: ofDefinition,
  },
  updateEventProperty: {
    run: () => w.mutate('updateEventProperty', { eventName: 'order_paid', name: 'note', label: 'Remark' }),
    target: ofDefinition,
  },
  replaceEventPropertyType: {
    run: () => w.mutate('replaceEventPropertyType', { eventName: 'order_paid', name: 'note', type: 'NUMBER' }),
    target: ofDefinition,
  },
  deleteEventProperty: {
    run: () => w.mutate('deleteEventProperty', { eventName: 'order_paid', name: 'note' }),
    target: ofDefinition,
  },
  sendEventOccurrences: {
    run: () => w.mutate('sendEventOccurrences', { inputs: [occurrence, occurrence] }),
    target: ofDefinition,
  },
  registerObjectIdentifiers: {
    run: () =>
      w.mutate('registerObjectIdentifiers', {
        objectType: 'ORDER',
        propertyName: 'number',
        identifiers: [{ value: 'A1', objectId: '1' }],
      }),
    target: () => ['ObjectIdentifier', null],
  },
  removeObjectIdentifiers: {
    run: async () => {
      const [row] = await w.gateway.dependencies.sql.query<{ id: string }>('select id from object_identifier', []);
      identifierId = row?.id ?? '';
      return w.mutate('removeObjectIdentifiers', { ids: [identifierId] });
    },
    target: () => ['ObjectIdentifier', identifierId],
  },
  deleteEventDefinition: {
    run: () => w.mutate('deleteEventDefinition', { eventName: 'order_paid' }),
    target: ofDefinition,
  },
  createSession: {
    run: () =>
      w.keep('session', w.mutate('createSession', { title: 'S' }, 'session { databaseId }'), 'session', 'databaseId'),
    target: ofSession,
  },
  updateSession: {
    run: () => w.mutate('updateSession', { sessionId: w.made['session'], title: 'New' }),
    target: ofSession,
  },
  pinSession: {
    run: () => w.mutate('pinSession', { sessionId: w.made['session'], isPinned: true }),
    target: ofSession,
  },
  appendSessionEvents: {
    run: () => w.mutate('appendSessionEvents', { sessionId: w.made['session'], events: eventsOf(3) }),
    target: ofSession,
  },
  recordArtifact: {
    run: () =>
      w.keep(
        'artifact',
        w.mutate('recordArtifact', { sessionId: w.made['session'], type: 'PULL_REQUEST' }, 'artifact { databaseId }'),
        'artifact',
        'databaseId',
      ),
    target: ofSession,
  },
  recordPullRequest: {
    run: () => w.mutate('recordPullRequest', { artifactId: w.made['artifact'], ...PULL_REQUEST }),
    target: ofSession,
  },
  transitionSession: {
    run: () => w.mutate('transitionSession', { sessionId: w.made['session'], state: 'CANCELLED' }),
    target: ofSession,
  },
  createMcpServer: {
    run: () =>
      w.keep(
        'server',
        w.mutate(
          'createMcpServer',
          { remote: { name: 'remote', serverUrl: `${w.server.origin}/mcp` } },
          'mcpServer { databaseId }',
        ),
        'mcpServer',
        'databaseId',
      ),
    operation: 'createMcpConnection',
    target: ofServer,
  },
  testMcpServer: {
    run: () => w.mutate('testMcpServer', { mcpServerId: w.made['server'] }),
    operation: 'testMcpConnection',
    target: ofServer,
  },
  authorizeMcpServer: {
    run: () => w.mutate('authorizeMcpServer', { mcpServerId: w.made['server'] }),
    operation: 'authorizeMcpConnection',
    target: ofServer,
  },
  updateMcpServer: {
    run: () => w.mutate('updateMcpServer', { mcpServerId: w.made['server'], name: 'renamed' }),
    operation: 'updateMcpConnection',
    target: ofServer,
  },
  deleteMcpServer: {
    run: () => w.mutate('deleteMcpServer', { mcpServerId: w.made['server'] }),
    operation: 'deleteMcpConnection',
    target: ofServer,
  },
  deleteUser: {
    run: () =>
      w.keep(
        'job',
        w.mutate('deleteUser', { userId: w.leaver.userId }, 'deletionJob { databaseId }', w.leaver.key),
        'deletionJob',
        'databaseId',
      ),
    target: ofJob,
    by: () => w.leaver,
  },
  cancelUserDeletion: {
    run: () => w.mutate('cancelUserDeletion', { deletionJobId: w.made['job'] }, '__typename', w.leaver.key),
    target: ofJob,
    by: () => w.leaver,
  },
  // The guest's own, which no other mutation is about.
  deleteOrganization: {
    run: () => w.mutate('deleteOrganization', { confirmSlug: w.guest.organization }, '__typename', w.guest.key),
    target: () => ['Organization', w.guest.organizationId],
    by: () => w.guest,
    organization: () => null,
  },
};

test('every mutation has its case here', () => {
  const names = Object.keys(schema.getMutationType()?.getFields() ?? {});
  expect(caseFaults('MUTATIONS in test/across/audit-of-mutations.test.ts', Object.keys(MUTATIONS), names)).toBe('');
});

test.each(Object.entries(MUTATIONS))('%s leaves exactly one entry', async (name, write) => {
  const { added, expected } = await w.record(name, write);
  expect(added).toEqual([expected]);
});

test('occurrences of several definitions in one call have no one target', async () => {
  for (const label of ['One', 'Two']) await w.mutate('createEventDefinition', { label, primaryObject: 'NO_OBJECT' });
  const before = await auditRows(w.gateway);
  await w.mutate('sendEventOccurrences', {
    inputs: ['one', 'two'].map((eventName) => ({ eventName, properties: {} })),
  });
  expect((await auditRows(w.gateway)).slice(before.length)).toMatchObject([
    { targetType: 'EventDefinition', targetId: null },
  ]);
});

test('what is sent again is not done again: neither an idempotent request nor a batch leaves another', async () => {
  const { gateway, admin } = w;
  const sessionId = await createSession(gateway, admin.key);
  const before = await auditRows(gateway);
  for (let time = 0; time < 2; time += 1) {
    const headers = { 'Idempotency-Key': 'once' };
    await gateway.rest('POST', '/v1/organizations', { key: admin.key, headers, body: { name: 'Once' } });
    await append(gateway, admin.key, sessionId, eventsOf(2), 'batch');
  }
  const operations = (await auditRows(gateway)).slice(before.length).map(({ operation }) => operation);
  expect(operations).toEqual(['createOrganization', 'appendSessionEvents']);
});

test('entries hold no input and no secret', async () => {
  const text = JSON.stringify(await auditRows(w.gateway));
  for (const word of ['Renamed', 'example.com', 'order_paid', w.admin.key, w.server.origin])
    expect(text).not.toContain(word);
});
