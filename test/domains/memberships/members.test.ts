import { describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { CHANGE, REMOVE, mutateOrganization, refused } from '../../support/fixtures/organizations.ts';

const gateway = useTestGateway();
const mutate = (key: string, query: string, input: object) => mutateOrganization(gateway, key, query, input);

describe('members', () => {
  test('an admin can change and remove members, and the list and memberCount show it', async () => {
    const admin = await gateway.createKey();
    const { organization } = admin;
    const other = await gateway.createKey({ organization });
    const known = await gateway.createKey({ organization, role: 'admin' });
    expect(await mutate(admin.key, CHANGE, { userId: known.userId, role: 'MEMBER' })).toMatchObject({
      member: { user: { email: known.email }, role: 'MEMBER' },
    });
    const list = '{ viewer { organization { memberCount members { nodes { user { email } role } } } } }';
    expect((await gateway.graphql(admin.key, list)).data).toEqual({
      viewer: {
        organization: {
          memberCount: 3,
          members: {
            nodes: [
              { user: { email: admin.email }, role: 'ADMIN' },
              { user: { email: other.email }, role: 'MEMBER' },
              { user: { email: known.email }, role: 'MEMBER' },
            ],
          },
        },
      },
    });
    const globalId = Buffer.from(`User:${known.userId}`).toString('base64');
    expect(await mutate(admin.key, REMOVE, { userId: globalId })).toEqual({
      __typename: 'RemoveOrganizationMemberPayload',
      removedUserId: globalId,
    });
    expect(await mutate(admin.key, REMOVE, { userId: known.userId })).toEqual(refused('NotFound', 'member not found'));
    expect((await gateway.graphql(admin.key, '{ viewer { organization { memberCount } } }')).data).toEqual({
      viewer: { organization: { memberCount: 2 } },
    });
  });

  test('only an admin with the scope can change or remove members', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    const bare = await gateway.createKey({ organization: admin.organization, role: 'admin', scopes: ['social'] });
    const tries: [string, object][] = [
      [CHANGE, { userId: member.userId, role: 'ADMIN' }],
      [REMOVE, { userId: admin.userId }],
    ];
    for (const [query, input] of tries) {
      expect(await mutate(member.key, query, input)).toEqual(
        refused('Forbidden', 'only administrators of the organization can do this'),
      );
      expect(await mutate(bare.key, query, input)).toEqual(
        refused('Forbidden', 'the API key lacks the scope organizations.write'),
      );
    }
    expect((await gateway.graphql(admin.key, '{ viewer { organization { memberCount } } }')).data).toEqual({
      viewer: { organization: { memberCount: 3 } },
    });
  });

  test('409 to demote or remove the last admin, even by themselves', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    const message =
      'the organization must have at least one administrator; make another member an administrator first, or delete the organization';
    expect(await mutate(admin.key, CHANGE, { userId: admin.userId, role: 'MEMBER' })).toEqual(
      refused('Conflict', message),
    );
    expect(await mutate(admin.key, REMOVE, { userId: admin.userId })).toEqual(refused('Conflict', message));
    expect(await mutate(admin.key, CHANGE, { userId: admin.userId, role: 'ADMIN' })).toMatchObject({
      member: { role: 'ADMIN' },
    });
    await mutate(admin.key, CHANGE, { userId: member.userId, role: 'ADMIN' });
    expect(await mutate(admin.key, REMOVE, { userId: admin.userId })).toMatchObject({
      __typename: 'RemoveOrganizationMemberPayload',
    });
    expect((await gateway.rest('POST', '/v1/organizations', { key: admin.key, body: { name: 'A' } })).status).toBe(401);
  });
});
