import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { actingIn, createPerson } from '../../support/fixtures/api-keys.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { STDIO, createConnection } from '../../support/fixtures/mcp-connections.ts';
import { CHANGE, mutateOrganization, refused } from '../../support/fixtures/organizations.ts';
import { startSecondGateway } from '../../support/fixtures/second-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const LEAVE = `mutation($input: LeaveOrganizationInput!) { leaveOrganization(input: $input) { __typename
  ... on Error { message code path } ... on LeaveOrganizationPayload { leftOrganizationId } } }`;
const leave = async (key: string, input: object = {}, header?: string) => {
  const { data } = await gateway.graphql<Record<string, unknown>>(key, LEAVE, { input }, actingIn(header));
  return data?.['leaveOrganization'];
};
const globalId = (id: string) => Buffer.from(`Organization:${id}`).toString('base64');
const LAST_ADMINISTRATOR =
  'the organization must have at least one administrator; make another member an administrator first, or delete the organization';
const membersOf = (organizationId: string) =>
  gateway.dependencies.sql.query<{ user_id: string; role: string }>(
    'select user_id, role from membership where organization_id = $1',
    [organizationId],
  );
const slug = () => `org-${randomUUID().slice(0, 13)}`;

describe('leaving an organization', () => {
  test('ends the membership, its bound keys and its personal connections; unbound keys keep working elsewhere', async () => {
    const admin = await gateway.createKey();
    const person = await createPerson(gateway);
    const bound = await person.join(admin.organization);
    const other = await person.join(slug());
    await createConnection(gateway, bound.key, { ...STDIO, visibility: 'personal' });
    expect(await leave(person.key, {}, admin.organizationId)).toEqual({
      __typename: 'LeaveOrganizationPayload',
      leftOrganizationId: globalId(admin.organizationId),
    });
    expect((await membersOf(admin.organizationId)).map(({ user_id }) => user_id)).toEqual([admin.userId]);
    const statusOf = async (key: string, header?: string) =>
      (await gateway.rest('GET', '/v1/api-keys', { key, headers: actingIn(header) })).status;
    expect([await statusOf(bound.key), await statusOf(other.key)]).toEqual([401, 200]);
    expect(await statusOf(person.key, admin.organizationId)).toBe(404);
    expect(await statusOf(person.key, other.organizationId)).toBe(200);
    const rows = await gateway.dependencies.sql.query('select 1 from mcp_connection where organization_id = $1', [
      admin.organizationId,
    ]);
    expect(rows).toEqual([]);
  });

  test('is possible with a bound key, which is revoked after the answer; the input accepts the database id and the global id', async () => {
    const admin = await gateway.createKey();
    for (const idOf of [(id: string) => id, globalId]) {
      const member = await gateway.createKey({ organization: admin.organization });
      expect(await leave(member.key, { organizationId: idOf(admin.organizationId) })).toMatchObject({
        leftOrganizationId: globalId(admin.organizationId),
      });
      expect((await gateway.rest('GET', '/v1/api-keys', { key: member.key })).status).toBe(401);
    }
  });

  test('is 409 for the last administrator, and possible after another member became administrator', async () => {
    const admin = await gateway.createKey();
    expect(await leave(admin.key)).toEqual(refused('Conflict', LAST_ADMINISTRATOR));
    const member = await gateway.createKey({ organization: admin.organization });
    expect(await leave(admin.key)).toEqual(refused('Conflict', LAST_ADMINISTRATOR));
    await mutateOrganization(gateway, admin.key, CHANGE, { userId: member.userId, role: 'ADMIN' });
    expect(await leave(admin.key)).toMatchObject({ __typename: 'LeaveOrganizationPayload' });
    expect(await leave(member.key)).toEqual(refused('Conflict', LAST_ADMINISTRATOR));
  });

  test('is 404 for any organization other than the acting one, and 400 without an acting one', async () => {
    const person = await createPerson(gateway);
    const home = await person.join(slug());
    const away = await person.join(slug());
    const foreign = await gateway.createKey();
    for (const organizationId of [away.organizationId, foreign.organizationId, randomUUID()])
      expect(await leave(home.key, { organizationId })).toEqual(refused('NotFound', 'organization not found'));
    expect(await leave(person.key)).toMatchObject({
      __typename: 'ValidationError',
      message: expect.stringContaining('missing required organization information'),
    });
    expect(await membersOf(home.organizationId)).toHaveLength(1);
  });

  test('two administrators who concurrently leave and demote each other on two gateways: one administrator remains', async () => {
    const peer = await startSecondGateway(gateway);
    const send = (fetch: TestGateway['fetch'], key: string, query: string, input: object) =>
      fetch(
        new Request('http://gateway/graphql', {
          method: 'POST',
          headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
          body: JSON.stringify({ query, variables: { input } }),
        }),
      );
    try {
      for (let round = 0; round < 10; round += 1) {
        const one = await gateway.createKey();
        const two = await gateway.createKey({ organization: one.organization, role: 'admin' });
        await Promise.all([
          send(gateway.fetch, one.key, LEAVE, {}),
          send(peer.fetch, two.key, CHANGE, { userId: one.userId, role: 'MEMBER' }),
          send(peer.fetch, two.key, LEAVE, {}),
          send(gateway.fetch, one.key, CHANGE, { userId: two.userId, role: 'MEMBER' }),
        ]);
        const admins = (await membersOf(one.organizationId)).filter(({ role }) => role === 'admin');
        expect(admins).toHaveLength(1);
      }
    } finally {
      await peer.close();
    }
  });
});

describe('updateViewer', () => {
  const UPDATE = `mutation($input: UpdateViewerInput!) { updateViewer(input: $input) { __typename
    ... on Error { message code path } ... on UpdateViewerPayload { user { name email } } } }`;
  const update = (key: string, input: object) => mutateOrganization(gateway, key, UPDATE, input);

  test('keeps the name if none is given', async () => {
    const { key, email } = await gateway.createKey();
    await update(key, { name: 'Mae' });
    expect(await update(key, {})).toEqual({ __typename: 'UpdateViewerPayload', user: { name: 'Mae', email } });
  });

  test('changes the name of the caller, which other members also see; null removes it', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    expect(await update(member.key, { name: 'Mae' })).toEqual({
      __typename: 'UpdateViewerPayload',
      user: { name: 'Mae', email: member.email },
    });
    const { body } = await gateway.rest('GET', '/v1/users/me', { key: member.key });
    expect(body).toEqual({
      id: member.userId,
      email: member.email,
      name: 'Mae',
      createdAt: expect.stringMatching(/^20.*Z$/),
    });
    const list = '{ viewer { organization { members { nodes { user { name } } } } } }';
    expect((await gateway.graphql(admin.key, list)).data).toEqual({
      viewer: { organization: { members: { nodes: [{ user: { name: null } }, { user: { name: 'Mae' } }] } } },
    });
    expect(await update(member.key, { name: null })).toMatchObject({ user: { name: null } });
  });

  test.each([
    [{ name: '' }, 'name: must not be empty'],
    [{ name: 'n'.repeat(101) }, 'name: must be at most 100 characters'],
  ])('%j is 400', async (input, message) => {
    const { key } = await gateway.createKey();
    expect(await update(key, input)).toEqual(refused('Validation', message, ['name']));
  });

  test('needs organizations.write', async () => {
    const { key } = await gateway.createKey({ scopes: ['sessions.read'] });
    expect(await update(key, { name: 'X' })).toEqual(
      refused('Forbidden', 'the API key lacks the scope organizations.write'),
    );
  });
});

describe('names and addresses of other users need a scope of the workspace API (security review, L2)', () => {
  const LIST = '{ viewer { user { email } organization { memberCount members { nodes { user { email } } } } } }';
  const NODE = 'query($id: ID!) { node(id: $id) { ... on User { email } } }';
  const NODES = 'query($ids: [ID!]!) { nodes(ids: $ids) { ... on User { email } } }';

  test.each(['social', 'analytics.behavioral_events.send', 'behavioral_events.event_definitions.read_write'] as const)(
    'with only %s, a key can read neither members nor other users by id, but its own user',
    async (scope) => {
      const admin = await gateway.createKey();
      const { key, email, userId } = await gateway.createKey({ organization: admin.organization, scopes: [scope] });
      const { data, errors } = await gateway.graphql(key, LIST);
      expect(data).toEqual({ viewer: { user: { email }, organization: { memberCount: 2, members: null } } });
      expect(errors).toMatchObject([
        {
          path: ['viewer', 'organization', 'members'],
          message: 'the API key lacks every scope of the workspace API; one of them is enough',
          extensions: { code: 'FORBIDDEN' },
        },
      ]);
      const [other, self] = [admin.userId, userId].map((id) => Buffer.from(`User:${id}`).toString('base64'));
      expect((await gateway.graphql(key, NODE, { id: other })).data).toEqual({ node: null });
      // A request for another user does not hide the own user.
      expect((await gateway.graphql(key, NODES, { ids: [other, self] })).data).toEqual({ nodes: [null, { email }] });
    },
  );

  test('any scope of the workspace API is enough', async () => {
    const admin = await gateway.createKey();
    const { key } = await gateway.createKey({
      organization: admin.organization,
      scopes: ['sessions.record', 'social'],
    });
    const { data, errors } = await gateway.graphql(key, LIST);
    expect(errors).toBe(undefined);
    expect(data).toMatchObject({
      viewer: { organization: { members: { nodes: [{ user: { email: admin.email } }, {}] } } },
    });
  });
});
