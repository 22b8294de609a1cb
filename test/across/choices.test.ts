import { expect, test } from 'vitest';
import { indexSessions } from '../../src/domains/session-events/search-index.ts';
import { useOwnGateway } from '../support/fixtures/gateway.ts';
import { invite } from '../support/fixtures/invitations.ts';
import { append, createSession, mutate } from '../support/fixtures/sessions.ts';

/** Lists from which a front end offers choices: values of filters, and what the caller can accept or cancel. */

const gateway = useOwnGateway({ USER_DELETION_DELAY: '3600' });

interface Names {
  readonly nodes: { readonly name: string }[];
  readonly totalCount: number;
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

async function namesOf(key: string, list: 'agents' | 'eventTypes', args = ''): Promise<Names> {
  const { data, errors } = await gateway.graphql<{ viewer: { organization: Record<string, Names> } }>(
    key,
    `{ viewer { organization { ${list}${args} { nodes { name } totalCount pageInfo { hasNextPage endCursor } } } } }`,
  );
  expect(errors).toBeUndefined();
  const found = data?.viewer.organization[list];
  if (!found) throw new Error('no list');
  return found;
}
const shown = async (key: string, list: 'agents' | 'eventTypes', args = '') =>
  (await namesOf(key, list, args)).nodes.map(({ name }) => name);

const event = (eventType: string) => ({ eventType, provider: 'test', eventData: { type: 'x' } });

async function newSession(key: string, input: { agent?: string; visibility?: string }, ...eventTypes: string[]) {
  const id = await createSession(gateway, key, input);
  if (eventTypes.length > 0) await append(gateway, key, id, eventTypes.map(event));
  return id;
}
const index = async () => {
  while ((await indexSessions(gateway.dependencies.database.em)) > 0);
};

test('agents and event types are those of the sessions that the caller can read, each once', async () => {
  const admin = await gateway.createKey();
  const member = await gateway.createKey({ organization: admin.organization });
  const stranger = await gateway.createKey();
  await newSession(admin.key, { agent: 'claude', visibility: 'PUBLIC' }, 'text', 'tool', 'text');
  await newSession(admin.key, { agent: 'claude', visibility: 'PUBLIC' }, 'text');
  await newSession(admin.key, { visibility: 'PUBLIC' });
  await newSession(admin.key, { agent: 'secret agent' }, 'secret type');
  await newSession(member.key, { agent: 'codex' }, 'step');
  await newSession(stranger.key, { agent: 'foreign' }, 'foreign');
  await index();
  expect(await shown(admin.key, 'agents')).toEqual(['claude', 'codex', 'secret agent']);
  expect(await shown(admin.key, 'eventTypes')).toEqual(['secret type', 'step', 'text', 'tool']);
  expect(await shown(member.key, 'agents')).toEqual(['claude', 'codex']);
  expect(await shown(member.key, 'eventTypes')).toEqual(['step', 'text', 'tool']);
  expect(await shown(admin.key, 'agents', '(filter: { name: "CLAU" })')).toEqual(['claude']);
  expect(await shown(admin.key, 'eventTypes', '(filter: { name: "e" }, orderBy: { direction: DESC })')).toEqual([
    'text',
    'step',
    'secret type',
  ]);
  const first = await namesOf(admin.key, 'eventTypes', '(first: 3)');
  expect([first.nodes.length, first.totalCount, first.pageInfo.hasNextPage]).toEqual([3, 4, true]);
  expect(await shown(admin.key, 'eventTypes', `(after: "${first.pageInfo.endCursor}")`)).toEqual(['tool']);
});

test('new event types are added, and of one session at most 100 are listed', async () => {
  const { key } = await gateway.createKey();
  const id = await newSession(key, {}, 'a');
  await index();
  await append(gateway, key, id, ['b', 'a'].map(event));
  await index();
  expect(await shown(key, 'eventTypes')).toEqual(['a', 'b']);
  const many = Array.from({ length: 150 }, (_, number) => event(`type ${number}`));
  await append(gateway, key, id, many);
  await index();
  expect((await namesOf(key, 'eventTypes')).totalCount).toBe(100);
});

const INVITATIONS =
  '{ viewer { invitations { totalCount nodes { id email role organizationName organization { slug } invitedBy { email } viewerCanRevoke } } } }';
interface Invited {
  viewer: { invitations: { totalCount: number; nodes: { id: string }[] } | null };
}

test('invitations of the own address are listed, with the name of the organization, and nobody else sees them', async () => {
  const inviter = await gateway.createKey({ email: 'inviter@example.com' });
  const other = await gateway.createKey();
  const guest = await gateway.createKey({ email: 'guest@example.com' });
  const invitation = await invite(gateway, inviter.key, 'Guest@Example.com', { role: 'ADMIN' });
  const list = async (key: string) => gateway.graphql<Invited>(key, INVITATIONS);
  const { data } = await list(guest.key);
  const [found] = data?.viewer.invitations?.nodes ?? [];
  expect(data?.viewer.invitations).toEqual({
    totalCount: 1,
    nodes: [
      {
        id: expect.any(String),
        email: 'guest@example.com',
        role: 'ADMIN',
        organizationName: inviter.organization,
        organization: null,
        invitedBy: null,
        viewerCanRevoke: false,
      },
    ],
  });
  expect((await list(other.key)).data?.viewer.invitations).toEqual({ totalCount: 0, nodes: [] });
  const node = async (key: string) =>
    (await gateway.graphql<{ node: object | null }>(key, 'query($id: ID!) { node(id: $id) { id } }', { id: found?.id }))
      .data?.node;
  const narrow = await gateway.createKey({
    email: 'guest@example.com',
    organization: guest.organization,
    scopes: ['sessions.read'],
  });
  expect([await node(guest.key), await node(inviter.key)]).toEqual([{ id: found?.id }, { id: found?.id }]);
  expect([await node(other.key), await node(narrow.key)]).toEqual([null, null]);
  expect((await list(narrow.key)).errors).toMatchObject([
    { message: 'the API key lacks the scope organizations.write', path: ['viewer', 'invitations'] },
  ]);
  await mutate(gateway, guest.key, 'acceptOrganizationInvitation', { token: invitation.token });
  expect((await list(guest.key)).data?.viewer.invitations?.totalCount).toBe(0);
});

const JOBS = `query($filter: DeletionJobFilter) { viewer { deletionJobs(filter: $filter) {
  totalCount nodes { id state deletedOrganizationId } } } }`;
interface Jobs {
  viewer: { deletionJobs: { totalCount: number; nodes: { id: string; state: string }[] } };
}

test('deletions that the caller requested are listed, so that a pending one can be found and canceled', async () => {
  const { key, userId, organization } = await gateway.createKey();
  const other = await gateway.createKey({ organization, role: 'admin' });
  const requested = await mutate<{ deletionJob: { id: string } }>(
    gateway,
    key,
    'deleteUser',
    { userId },
    'deletionJob { id }',
  );
  const { id } = requested.deletionJob;
  const list = async (by: string, filter: object | null = null) =>
    (await gateway.graphql<Jobs>(by, JOBS, { filter })).data?.viewer.deletionJobs;
  expect(await list(key)).toEqual({ totalCount: 1, nodes: [{ id, state: 'QUEUED', deletedOrganizationId: null }] });
  expect(await list(other.key)).toEqual({ totalCount: 0, nodes: [] });
  await mutate(gateway, key, 'cancelUserDeletion', { deletionJobId: id });
  expect((await list(key, { states: ['CANCELLED'] }))?.nodes.map(({ state }) => state)).toEqual(['CANCELLED']);
  expect(await list(key, { states: ['QUEUED', 'RUNNING'] })).toEqual({ totalCount: 0, nodes: [] });
});

test('MCP connections can be listed by their current status', async () => {
  const { key } = await gateway.createKey();
  for (const name of ['stored', 'pending', 'late'])
    await mutate(gateway, key, 'createMcpServer', { stdio: { name, command: 'npx' } });
  const expireAt = (name: string, at: string) =>
    gateway.dependencies.sql.query(
      `update mcp_connection set status = 'PENDING_AUTHORIZATION', authorization_expires_at = $2 where name = $1`,
      [name, at],
    );
  await expireAt('pending', '2999-01-01T00:00:00Z');
  await expireAt('late', '2020-01-01T00:00:00Z');
  const { data } = await gateway.graphql<{
    viewer: { organization: Record<string, { nodes: { name: string; status: string }[] }> };
  }>(
    key,
    `{ viewer { organization {
      stored: mcpServers(filter: { statuses: [STORED] }) { nodes { name status } totalCount }
      pending: mcpServers(filter: { statuses: [PENDING_AUTHORIZATION] }) { nodes { name status } totalCount }
      others: mcpServers(filter: { statuses: [AUTHORIZATION_REQUIRED, UNREACHABLE] }) { nodes { name status } totalCount }
    } } }`,
  );
  const page = (name: string, status: string) => ({ nodes: [{ name, status }], totalCount: 1 });
  expect(data?.viewer.organization).toEqual({
    stored: page('stored', 'STORED'),
    pending: page('pending', 'PENDING_AUTHORIZATION'),
    others: page('late', 'AUTHORIZATION_REQUIRED'),
  });
});

test('event definitions can be found by their label', async () => {
  const { key } = await gateway.createKey();
  await mutate(gateway, key, 'createEventDefinition', { label: 'Order paid', name: 'billing_7' });
  await mutate(gateway, key, 'createEventDefinition', { label: 'Seen 100 %', name: 'order_seen' });
  const { data } = await gateway.graphql<{
    viewer: { organization: Record<string, { nodes: { name: string }[]; totalCount: number }> };
  }>(
    key,
    `{ viewer { organization {
      byLabel: eventDefinitions(filter: { label: "ORDER" }) { nodes { name } totalCount }
      byBoth: eventDefinitions(filter: { label: "%", search: "order" }) { nodes { name } totalCount }
      empty: eventDefinitions(filter: { label: "" }) { totalCount }
    } } }`,
  );
  expect(data?.viewer.organization).toEqual({
    byLabel: { nodes: [{ name: 'billing_7' }], totalCount: 1 },
    byBoth: { nodes: [{ name: 'order_seen' }], totalCount: 1 },
    empty: { totalCount: 2 },
  });
});
