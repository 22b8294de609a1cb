import { describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { mutateOrganization, refused } from '../../support/fixtures/organizations.ts';

const gateway = useTestGateway();

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

test('displayName is the name, else the e-mail address', async () => {
  const { key, email } = await gateway.createKey();
  const read = async () =>
    (await gateway.graphql<{ viewer: { user: object } }>(key, '{ viewer { user { displayName } } }')).data?.viewer.user;
  await gateway.graphql(key, 'mutation { updateViewer(input: { name: null }) { __typename } }');
  expect(await read()).toEqual({ displayName: email });
  await gateway.graphql(key, 'mutation { updateViewer(input: { name: "Mae" }) { __typename } }');
  expect(await read()).toEqual({ displayName: 'Mae' });
});
