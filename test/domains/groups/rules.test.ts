import { expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { type Group, createGroup } from '../../support/fixtures/groups.ts';
import { createServiceAccount } from '../../support/fixtures/service-accounts.ts';
import { createSession, mutate } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();

const list = (key: string) => gateway.rest<{ items: Group[] }>('GET', '/v1/groups', { key });

test('a group has people and service accounts, on both APIs', async () => {
  const { key, organization } = await gateway.createKey();
  const { userId, email } = await gateway.createKey({ organization, role: 'member' });
  const account = await createServiceAccount(gateway, key);
  const made = await createGroup(gateway, key, { name: 'Platform', externalName: 'plat', memberIds: [userId] });
  const at = expect.stringMatching(/^\d{4}-.*Z$/) as string;
  const whole = { id: expect.any(String) as string, isManagedBySCIM: false, createdAt: at, updatedAt: at };
  expect(made).toEqual({ ...whole, name: 'Platform', externalName: 'plat', memberIds: [userId] });
  const fields = `group { databaseId name externalName isManagedBySCIM members(orderBy: { field: CREATED_AT, direction: ASC }) {
    totalCount nodes { __typename ... on User { email } ... on ServiceAccount { name } } } }`;
  const input = { groupId: made.id, name: 'Engineers', externalName: null, memberIds: [userId, account.id] };
  expect(await mutate(gateway, key, 'updateGroup', input, fields)).toMatchObject({
    group: {
      databaseId: made.id,
      name: 'Engineers',
      externalName: null,
      isManagedBySCIM: false,
      members: {
        totalCount: 2,
        nodes: [
          { __typename: 'User', email },
          { __typename: 'ServiceAccount', name: account.name },
        ],
      },
    },
  });
  expect((await list(key)).body.items).toMatchObject([{ id: made.id, memberIds: [userId, account.id].toSorted() }]);
  const stale = { key, body: { name: 'Other', expectedUpdatedAt: '2020-01-01T00:00:00.000Z' } };
  expect((await gateway.rest('PATCH', `/v1/groups/${made.id}`, stale)).status).toBe(409);
  expect((await gateway.rest('DELETE', `/v1/groups/${made.id}`, { key })).status).toBe(204);
  expect((await list(key)).body.items).toEqual([]);
});

test('only administrators see groups, names are used once, and members are of the organization', async () => {
  const { key, organization } = await gateway.createKey();
  const member = await gateway.createKey({ organization, role: 'member' });
  const stranger = await gateway.createKey();
  expect((await list(member.key)).status).toBe(403);
  await createGroup(gateway, key, { name: 'Platform', externalName: 'plat' });
  const post = (body: object) => gateway.rest<{ error: string }>('POST', '/v1/groups', { key, body });
  expect((await post({ name: 'Platform' })).status).toBe(409);
  expect((await post({ name: 'Other', externalName: 'plat' })).status).toBe(409);
  expect((await post({ name: 'Other', memberIds: [member.userId, stranger.userId] })).body).toEqual({
    error: 'memberIds.1: must be a member or a service account of the organization',
  });
});

test('who is removed is in no group any more, also after coming back', async () => {
  const { key, organization } = await gateway.createKey();
  const { userId, email } = await gateway.createKey({ organization, role: 'member' });
  await createGroup(gateway, key, { name: 'Platform', memberIds: [userId] });
  await mutate(gateway, key, 'removeOrganizationMember', { userId }, 'removedUserId');
  await gateway.createKey({ organization, email, role: 'member' });
  expect((await list(key)).body.items).toMatchObject([{ memberIds: [] }]);
});

test('sessions and the usage report by the groups of their creators, without showing more', async () => {
  const admin = await gateway.createKey();
  const member = await gateway.createKey({ organization: admin.organization, role: 'member' });
  const other = await gateway.createKey({ organization: admin.organization, role: 'member' });
  await createSession(gateway, member.key, { title: 'theirs', visibility: 'PUBLIC' });
  await createSession(gateway, member.key, { title: 'private', visibility: 'PRIVATE' });
  await createSession(gateway, admin.key, { title: 'mine' });
  const { id } = await createGroup(gateway, admin.key, { name: 'Platform', memberIds: [member.userId] });
  const query = `query($id: ID!) { viewer { organization {
    sessions(filter: { creatorGroupIds: [$id] }, orderBy: { field: CREATED_AT, direction: ASC }) { nodes { title } }
    usageReport(from: "2020-01-01", until: "2020-12-31", filter: { creatorGroupIds: [$id] }) { totals { sessions } } } } }`;
  const read = async (key: string) =>
    (await gateway.graphql<{ viewer: { organization: object } }>(key, query, { id })).data?.viewer.organization;
  expect(await read(admin.key)).toMatchObject({ sessions: { nodes: [{ title: 'theirs' }, { title: 'private' }] } });
  expect(await read(other.key)).toMatchObject({ sessions: { nodes: [{ title: 'theirs' }] } });
  const day = new Date();
  const from = day.toISOString().slice(0, 10);
  const until = new Date(day.getTime() + 86_400_000).toISOString().slice(0, 10);
  const report = await gateway.rest<{ totals: { sessions: number } }>(
    'GET',
    `/v1/usage-report?from=${from}&until=${until}&creatorGroupIds=${id}`,
    { key: admin.key },
  );
  expect(report.body.totals.sessions).toBe(2);
});
