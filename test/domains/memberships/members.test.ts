import { describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { grantTo } from '../../support/fixtures/oauth-grants.ts';
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

  test('administrators see when a member was last seen here, and with which identities they sign in; members do not', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization, role: 'member' });
    const elsewhere = await gateway.createKey({ email: member.email });
    const query =
      '{ viewer { organization { members { nodes { user { email } lastSeenAt identities { issuer lastSignedInAt } } } } } }';
    interface Answer {
      viewer: { organization: { members: { nodes: { lastSeenAt: string | null; identities: object[] | null }[] } } };
    }
    const read = async (key: string) => {
      const { data, errors } = await gateway.graphql<Answer>(key, query);
      return { nodes: data?.viewer.organization.members.nodes, errors: errors?.map(({ message }) => message) };
    };
    const at = '2026-03-01T10:20:30.000Z';
    await gateway.dependencies.sql.query(
      `insert into identity (id, issuer, subject, user_id, created_at, last_signed_in_at) values (gen_random_uuid(), 'https://id.example.com', $1::text, $1::uuid, $2, $2)`,
      [member.userId, at],
    );
    gateway.setClock(new Date(at));
    expect((await gateway.rest('GET', '/v1/users/me', { key: elsewhere.key })).status).toBe(200);
    expect((await read(admin.key)).nodes?.[1]).toMatchObject({ lastSeenAt: null });
    const refusals = await read(member.key);
    expect(refusals.errors).toContain('only administrators of the organization can do this');
    expect(refusals.nodes?.[0]).toMatchObject({ lastSeenAt: null, identities: null });
    gateway.setClock(undefined);
    expect((await read(admin.key)).nodes?.[1]).toMatchObject({
      user: { email: member.email },
      lastSeenAt: at,
      identities: [{ issuer: 'https://id.example.com', lastSignedInAt: at }],
    });
  });

  test('administrators see the sign-ins and apps of a member, and end them: here, or altogether for somebody in no other organization', async () => {
    const admin = await gateway.createKey();
    const { organization } = admin;
    const here = await gateway.createKey({ organization, role: 'member' });
    const also = await gateway.createKey({ organization, role: 'member' });
    const elsewhere = await gateway.createKey({ email: also.email });
    const { sql } = gateway.dependencies;
    const signIn = async ({ userId }: { userId: string }) =>
      (
        await sql.query<{ id: string }>(
          `insert into api_key (id, kind, user_id, name, preview, scopes, created_at, expires_at)
           values (gen_random_uuid(), 'SIGN_IN', $1, 'Sign-in with Example', '', '{sessions.read}', now(), now() + interval '1 hour') returning id`,
          [userId],
        )
      )[0]?.id;
    const ids = [await signIn(here), await signIn(also)];
    await grantTo(gateway, also, { path: '/mcp', clientName: 'Claude' });
    const list = '{ viewer { organization { members { nodes { signIns { name } connectedApps { name } } } } } }';
    const read = async () =>
      (
        await gateway.graphql<{ viewer: { organization: { members: { nodes: object[] } } } }>(admin.key, list)
      ).data?.viewer.organization.members.nodes.slice(1);
    const signIns = [{ name: 'Sign-in with Example' }];
    expect(await read()).toEqual([
      { signIns, connectedApps: [] },
      { signIns, connectedApps: [{ name: 'Claude' }] },
    ]);
    const END = `mutation($input: EndOrganizationMemberSignInsInput!) { endOrganizationMemberSignIns(input: $input) { __typename ... on Error { message } } }`;
    for (const { userId } of [here, also]) await mutate(admin.key, END, { userId });
    const gone = { signIns: [], connectedApps: [] };
    expect(await read()).toEqual([gone, gone]);
    const rows = await sql.query(
      `select revoked_at is not null as ended, blocked_in::text[] as blocked from api_key where id = any($1) order by array_position($1::uuid[], id)`,
      [ids],
    );
    expect(rows).toEqual([
      { ended: true, blocked: [] },
      { ended: false, blocked: [admin.organizationId] },
    ]);
    for (const { key } of [here, also, elsewhere])
      expect((await gateway.rest('GET', '/v1/users/me', { key })).status).toBe(200);
    expect(await mutate(here.key, END, { userId: also.userId })).toMatchObject({ __typename: 'ForbiddenError' });
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
