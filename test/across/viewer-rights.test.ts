// The fields `viewerCan…` compared with what the operations then do.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SCOPES, type Scope } from '../../src/core/access.ts';
import { issueKey } from '../../src/operator/issue-key.ts';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { invite } from '../support/fixtures/invitations.ts';
import { createConnection } from '../support/fixtures/mcp-connections.ts';
import { createSession, mutate } from '../support/fixtures/sessions.ts';
import { type Peer, mcpHandler, startPeer } from '../support/peers/mcp-server.ts';
import { full } from '../support/proof.ts';
import { sampledRuns } from '../support/sample.ts';

const READING = ['sessions.read', 'mcp_connections.read', 'api_keys.read'] as const satisfies readonly Scope[];
const CHANGING = SCOPES.filter((scope) => !READING.some((other) => other === scope));

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let peer: Peer;
let organization: string;
let admin: string;
let member: { key: string; email: string };

beforeAll(async () => {
  peer = await startPeer(mcpHandler());
  ({ organization, key: admin } = await gateway.createKey());
  member = await gateway.createKey({ organization, role: 'member' });
});
afterAll(() => peer.stop());

interface Right {
  readonly type: string;
  readonly field: string;
  /** Creates an object that the member may see. Returns its id. */
  readonly make: () => Promise<string>;
  readonly mutation: string;
  readonly inputOf: (id: string) => object;
  /** The type of the answer to callers who have the right, if it is not the payload. */
  readonly outcome?: string;
}

const connectionOf = (body: object) => async () => {
  const name = `connection ${Math.random()}`;
  const { body: answer } = await createConnection(gateway, admin, { name, visibility: 'shared', ...body });
  return answer.connection.id;
};
const stdio = connectionOf({ type: 'stdio', command: 'npx' });
const remote = () => connectionOf({ serverUrl: `${peer.origin}/mcp` })();
const organizationIdOf = async () => {
  const { data } = await gateway.graphql<{ viewer: { organization: { databaseId: string } } }>(
    admin,
    '{ viewer { organization { databaseId } } }',
  );
  return data?.viewer.organization.databaseId ?? '';
};
const keyOf = (creatorKey: () => string) => async () => {
  const payload = await mutate<{ apiKey: { databaseId: string } }>(
    gateway,
    creatorKey(),
    'createApiKey',
    { name: 'Made', scopes: ['SESSIONS_READ'] },
    'apiKey { databaseId }',
  );
  const id = payload.apiKey.databaseId;
  keys.push([creatorKey(), id]);
  return id;
};
const keys: [creatorKey: string, id: string][] = [];
const sessionOf = (creatorKey: () => string) => () => createSession(gateway, creatorKey(), { visibility: 'PUBLIC' });

/** The id of a new member: organization and user. */
const memberKey = async () => {
  const { organizationId, userId } = await gateway.createKey({ organization, role: 'member' });
  return `${organizationId}:${userId}`;
};

const RIGHTS: readonly Right[] = [
  ...[() => admin, () => member.key].flatMap((creatorKey): Right[] => [
    {
      type: 'Session',
      field: 'viewerCanUpdate',
      make: sessionOf(creatorKey),
      mutation: 'updateSession',
      inputOf: (sessionId) => ({ sessionId, title: 'Renamed' }),
    },
    {
      type: 'Session',
      field: 'viewerCanRecord',
      make: sessionOf(creatorKey),
      mutation: 'recordArtifact',
      inputOf: (sessionId) => ({ sessionId, type: 'PLAN' }),
    },
    {
      type: 'ApiKey',
      field: 'viewerCanUpdate',
      make: keyOf(creatorKey),
      mutation: 'renameApiKey',
      inputOf: (apiKeyId) => ({ apiKeyId, name: 'Renamed' }),
    },
    {
      type: 'ApiKey',
      field: 'viewerCanRevoke',
      make: keyOf(creatorKey),
      mutation: 'revokeApiKey',
      inputOf: (apiKeyId) => ({ apiKeyId }),
    },
  ]),
  ...[stdio, remote].flatMap((make): Right[] => [
    {
      type: 'McpServer',
      field: 'viewerCanDelete',
      make,
      mutation: 'deleteMcpServer',
      inputOf: (mcpServerId) => ({ mcpServerId }),
    },
    {
      type: 'McpServer',
      field: 'viewerCanAuthorize',
      make,
      mutation: 'authorizeMcpServer',
      inputOf: (mcpServerId) => ({ mcpServerId }),
    },
  ]),
  {
    type: 'McpServer',
    field: 'viewerCanUpdate',
    make: stdio,
    mutation: 'updateMcpServer',
    inputOf: (mcpServerId) => ({ mcpServerId, name: `renamed ${Math.random()}` }),
  },
  {
    type: 'OrganizationInvitation',
    field: 'viewerCanRevoke',
    make: async () => (await invite(gateway, admin, 'guest@example.com')).id,
    mutation: 'revokeOrganizationInvitation',
    inputOf: (invitationId) => ({ invitationId }),
  },
  {
    type: 'Organization',
    field: 'viewerCanDelete',
    make: organizationIdOf,
    mutation: 'deleteOrganization',
    inputOf: (organizationId) => ({ organizationId, confirmSlug: 'another' }),
    // A wrong confirmation is reported to those who may delete it.
    outcome: 'ValidationError',
  },
  {
    type: 'OrganizationMember',
    field: 'viewerCanUpdate',
    make: memberKey,
    mutation: 'changeOrganizationMemberRole',
    inputOf: (id) => ({ userId: id.split(':')[1], role: 'MEMBER' }),
  },
  {
    type: 'OrganizationMember',
    field: 'viewerCanDelete',
    make: memberKey,
    mutation: 'removeOrganizationMember',
    inputOf: (id) => ({ userId: id.split(':')[1] }),
  },
  {
    type: 'Organization',
    field: 'viewerCanAdminister',
    make: organizationIdOf,
    mutation: 'updateOrganization',
    inputOf: (organizationId) => ({ organizationId, name: 'Renamed' }),
  },
];

test('viewerCan… is true exactly when the operation succeeds: administrator, member, creator, with any scopes', async () => {
  const caller = fc.record({
    right: fc.constantFrom(...RIGHTS),
    isAdmin: fc.boolean(),
    scopes: fc.subarray(CHANGING),
  });
  await fc.assert(
    fc.asyncProperty(caller, async ({ right, isAdmin, scopes }) => {
      const id = await right.make();
      const { key, keyId } = await gateway.createKey({
        organization,
        ...(!isAdmin && { email: member.email }),
        ...(isAdmin && { role: 'admin' as const }),
        scopes: [...READING, ...scopes],
      });
      const globalId = btoa(`${right.type}:${id}`);
      const { data } = await gateway.graphql<{ node: Record<string, boolean> | null }>(
        key,
        `query($id: ID!) { node(id: $id) { ... on ${right.type} { right: ${right.field} } } }`,
        { id: globalId },
      );
      const { __typename: outcome } = await mutate(gateway, key, right.mutation, right.inputOf(id));
      // The member cannot see a key of another user, so `node` is null.
      expect({ right: data?.node?.['right'] ?? false, outcome }).toEqual({
        right: right.outcome === undefined ? outcome.endsWith('Payload') : outcome === right.outcome,
        outcome,
      });
      await mutate(gateway, admin, 'revokeApiKey', { apiKeyId: keyId });
      for (const [creatorKey, made] of keys.splice(0))
        await mutate(gateway, creatorKey, 'revokeApiKey', { apiKeyId: made });
    }),
    { numRuns: full ? 1000 : sampledRuns(60, 10) },
  );
});

test('event definitions: with the scope and the subscription the rights are true, and the operations succeed', async () => {
  const created = await gateway.rest<{ name: string }>('POST', '/events/2026-03/event-definitions', {
    key: admin,
    body: { label: 'Judged', propertyDefinitions: [{ label: 'Own', type: 'string' }] },
  });
  const { data } = await gateway.graphql<{ eventDefinition: object }>(
    member.key,
    `{ eventDefinition(name: "${created.body.name}") { viewerCanUpdate viewerCanDelete properties { isDefault viewerCanUpdate viewerCanDelete } } }`,
  );
  const ofDefault = { isDefault: true, viewerCanUpdate: false, viewerCanDelete: false };
  const ofCustom = { isDefault: false, viewerCanUpdate: true, viewerCanDelete: true };
  expect(data?.eventDefinition).toEqual({
    viewerCanUpdate: true,
    viewerCanDelete: true,
    properties: [...Array.from({ length: 32 }, () => ofDefault), ofCustom],
  });
  const input = { eventName: created.body.name };
  expect(await mutate(gateway, member.key, 'updateEventDefinition', { ...input, label: 'Other' })).toMatchObject({
    __typename: 'UpdateEventDefinitionPayload',
  });
  expect(await mutate(gateway, member.key, 'deleteEventDefinition', input)).toMatchObject({
    __typename: 'DeleteEventDefinitionPayload',
  });
});

test("an organization shows the caller's role and its subscriptions, even to a request that acts in another organization", async () => {
  const other = await gateway.createKey({ email: member.email });
  const { key } = await issueKey(gateway.dependencies, { email: member.email });
  const { data } = await gateway.graphql<{ viewer: { organizations: { nodes: object[] } } }>(
    key,
    '{ viewer { organizations { nodes { slug viewerRole viewerCanAdminister subscriptions { family level } } } } }',
    {},
    { 'X-Organization-Id': other.organization },
  );
  const subscriptions = [{ family: 'MARKETING', level: 'PROFESSIONAL' }];
  expect(data?.viewer.organizations.nodes).toEqual([
    { slug: organization, viewerRole: 'MEMBER', viewerCanAdminister: false, subscriptions },
    { slug: other.organization, viewerRole: 'ADMIN', viewerCanAdminister: true, subscriptions },
  ]);
});
