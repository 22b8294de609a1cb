import { expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { createSession, mutate } from '../../support/fixtures/sessions.ts';

const gateway = useOwnGateway();

interface Entry {
  readonly operation: string;
  readonly targetType: string;
  readonly targetId: string | null;
  readonly target: ({ readonly __typename: string; readonly id: string } & Record<string, unknown>) | null;
}

async function logOf(key: string, target = '{ __typename id }', filter: object = {}): Promise<Entry[]> {
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { auditLog: { nodes: Entry[] } } } }>(
    key,
    `query($filter: AuditEntryFilter) { viewer { organization { auditLog(first: 100, filter: $filter) {
      nodes { operation targetType targetId target ${target} } } } } }`,
    { filter },
  );
  expect(errors).toBeUndefined();
  return data?.viewer.organization.auditLog.nodes ?? [];
}

/** Changes one object of each of these types: event definition, invitation, key, MCP connection, organization, session and user. */
async function changeOneOfEach(key: string, organizationId: string, name: string): Promise<void> {
  const run = (mutation: string, input: object) => mutate(gateway, key, mutation, input);
  await createSession(gateway, key, { title: name });
  await run('createApiKey', { name, scopes: ['SESSIONS_READ'] });
  await run('createEventDefinition', { label: name });
  await run('createMcpServer', { stdio: { name, command: 'npx' } });
  await run('inviteOrganizationMember', { email: `${name}@example.com` });
  await run('updateOrganization', { organizationId, name });
}

test('the target of an entry is the object, for each type that is a node; null when it is deleted', async () => {
  const { key, organization, organizationId, userId } = await gateway.createKey();
  await changeOneOfEach(key, organizationId, 'one');
  const member = await gateway.createKey({ organization });
  await mutate(gateway, key, 'changeOrganizationMemberRole', { userId: member.userId, role: 'ADMIN' });
  const deleted = await mutate<{ mcpServer: { id: string } }>(
    gateway,
    key,
    'createMcpServer',
    { stdio: { name: 'two', command: 'npx' } },
    'mcpServer { id }',
  );
  await mutate(gateway, key, 'deleteMcpServer', { mcpServerId: deleted.mcpServer.id });
  const entries = await logOf(key);
  for (const { operation, targetType, targetId, target } of entries) {
    const isDeleted = targetId === deleted.mcpServer.id;
    expect([operation, target]).toEqual([operation, isDeleted ? null : { __typename: targetType, id: targetId }]);
  }
  expect(new Set(entries.map(({ targetType }) => targetType))).toEqual(
    new Set(['ApiKey', 'EventDefinition', 'McpServer', 'Organization', 'OrganizationInvitation', 'Session', 'User']),
  );
  // Two selections of the same objects are read separately.
  const { data } = await gateway.graphql<{ viewer: { organization: { auditLog: { nodes: object[] } } } }>(
    key,
    `{ viewer { organization { auditLog(filter: { operations: ["createSession"] }) { nodes {
      id: target { id } session: target { ... on Session { title creator { ... on User { databaseId } } } ... on ApiKey { name } }
    } } } } }`,
  );
  expect(data?.viewer.organization.auditLog.nodes).toEqual([
    { id: { id: expect.any(String) }, session: { title: 'one', creator: { databaseId: userId } } },
  ]);
});

test('a target that the key may not read is null, without an error and without a refused attempt', async () => {
  const { key, organization, organizationId, email } = await gateway.createKey();
  await changeOneOfEach(key, organizationId, 'one');
  const narrow = await gateway.createKey({ organization, email, scopes: ['organizations.write', 'sessions.read'] });
  const readable = (await logOf(narrow.key)).flatMap(({ target }) => target?.__typename ?? []);
  expect(new Set(readable)).toEqual(new Set(['Organization', 'OrganizationInvitation', 'Session']));
  expect(await logOf(key, '{ id }', { isRefused: true })).toEqual([]);
});

test('the statements depend on the types of the objects, not on their number', async () => {
  const { key, organizationId } = await gateway.createKey();
  const count = async () => {
    gateway.statements.length = 0;
    const entries = await logOf(key, '{ id ... on Session { title } ... on EventDefinition { label } }');
    const types = new Set(entries.map(({ targetType }) => targetType)).size;
    return { entries: entries.length, types, statements: gateway.statements.length };
  };
  await changeOneOfEach(key, organizationId, 'one');
  const few = await count();
  for (const name of ['two', 'three', 'four', 'five', 'six']) await changeOneOfEach(key, organizationId, name);
  const many = await count();
  expect(many).toEqual({ ...few, entries: few.entries * 6 - 5 });
  // The key, the entries, and one for each type.
  expect(few.statements).toBeLessThanOrEqual(few.types + 3);
});
