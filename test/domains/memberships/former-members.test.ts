import { expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { createSession, mutate } from '../../support/fixtures/sessions.ts';
import { suspendMember } from '../../support/fixtures/suspended-members.ts';
import { runJobs } from '../../support/processes/jobs.ts';

/** People who have left stay known to administrators, until what is of them here is erased. */

const gateway = useOwnGateway();
const MIGRATION = 'Migration20261201123222';

type Key = Awaited<ReturnType<typeof gateway.createKey>>;
const LIST = `query($filter: FormerMemberFilter) { viewer { organization { formerMembers(filter: $filter) { nodes { userDatabaseId label leftAt } } } } }`;
interface Listed {
  viewer: {
    organization: { formerMembers: { nodes: { userDatabaseId: string; label: string | null; leftAt: string }[] } };
  };
}
const leftOf = async (admin: Key, filter: object = {}) =>
  (await gateway.graphql<Listed>(admin.key, LIST, { filter })).data?.viewer.organization.formerMembers.nodes ?? [];
const idsOf = async (admin: Key, filter?: object) => (await leftOf(admin, filter)).map((each) => each.userDatabaseId);
const exportOf = async (admin: Key, userId: string) => {
  const path = `/v1/organizations/${admin.organizationId}/members/${userId}/export`;
  const response = await gateway.fetch(path, { headers: { Authorization: `Bearer ${admin.key}` } });
  return { status: response.status, text: await response.text() };
};

test('who left, was removed or was suspended before is listed by the name of then, handed out, and gone once erased', async () => {
  const admin = await gateway.createKey();
  const { organization } = admin;
  const [leaver, removed, stranger] = [
    await gateway.createKey({ organization, role: 'member' }),
    await gateway.createKey({ organization, role: 'member' }),
    await gateway.createKey(),
  ];
  const suspendedId = await suspendMember(gateway, organization, 'suspended-and-left@example.com');
  await mutate(gateway, removed.key, 'updateViewer', { name: 'Wilma' });
  await createSession(gateway, removed.key, { title: 'Private plan', visibility: 'PRIVATE' });
  expect(await leftOf(admin)).toEqual([]);
  await mutate(gateway, leaver.key, 'leaveOrganization', {}, 'leftOrganizationId');
  for (const userId of [suspendedId, removed.userId])
    await mutate(gateway, admin.key, 'removeOrganizationMember', { userId });
  await gateway.dependencies.sql.query(`update user_account set email = 'new-' || email where id = $1`, [
    removed.userId,
  ]);
  expect(await leftOf(admin)).toEqual([
    { userDatabaseId: removed.userId, label: `Wilma (${removed.email})`, leftAt: expect.any(String) as string },
    { userDatabaseId: suspendedId, label: 'suspended-and-left@example.com', leftAt: expect.any(String) as string },
    { userDatabaseId: leaver.userId, label: leaver.email, leftAt: expect.any(String) as string },
  ]);
  expect(await idsOf(admin, { search: 'wilm' })).toEqual([removed.userId]);
  const latest = (await leftOf(admin))[0]?.leftAt;
  expect([await idsOf(admin, { leftFrom: latest }), (await idsOf(admin, { leftBefore: latest })).length]).toEqual([
    [removed.userId],
    2,
  ]);
  const exported = await exportOf(admin, removed.userId);
  expect(exported.text).toContain('Private plan');
  expect(exported.text.split('\n')[0]).not.toContain(`new-${removed.email}`);
  expect((await exportOf(admin, stranger.userId)).status).toBe(404);
  expect(await idsOf(stranger)).toEqual([]);

  await gateway.createKey({ organization, email: leaver.email, role: 'member' });
  expect(await idsOf(admin)).toEqual([removed.userId, suspendedId]);
  const member = await gateway.createKey({ organization, role: 'member' });
  expect((await gateway.graphql(member.key, LIST)).errors?.[0]?.message).toContain('administrator');
  const at = `/v1/organizations/${admin.organizationId}/members`;
  for (const userId of [removed.userId, suspendedId])
    expect((await gateway.rest('DELETE', `${at}/${userId}/data`, { key: admin.key })).status).toBe(202);
  await runJobs(gateway);
  expect(await idsOf(admin)).toEqual([]);
  expect((await exportOf(admin, removed.userId)).status).toBe(404);
});

test('of those who left before, the audit log and the sessions tell', async () => {
  const admin = await gateway.createKey();
  const { organization } = admin;
  const people = await Promise.all(
    ['logged', 'recorded', 'back'].map((name) =>
      gateway.createKey({ organization, role: 'member', email: `${name}-${organization}@example.com` }),
    ),
  );
  const [logged, recorded, back] = people as [Key, Key, Key];
  await createSession(gateway, recorded.key, { title: 'Of before' });
  for (const { userId } of people) await mutate(gateway, admin.key, 'removeOrganizationMember', { userId });
  await gateway.createKey({ organization, email: back.email, role: 'member' });
  const { sql, database } = gateway.dependencies;
  await sql.query('delete from audit_entry where target_id = $1', [recorded.userId]);
  const names = (await database.migrator.getExecuted()).map(({ name }) => name);
  for (const name of names.slice(names.indexOf(MIGRATION)).toReversed())
    expect(name && (await database.migrator.down())).toBeTruthy();
  await database.migrator.up();
  expect(await leftOf(admin)).toEqual([
    { userDatabaseId: logged.userId, label: logged.email, leftAt: expect.any(String) as string },
    { userDatabaseId: recorded.userId, label: null, leftAt: null },
  ]);
});
