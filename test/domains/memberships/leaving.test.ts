import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { actingIn, createPerson } from '../../support/fixtures/api-keys.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { STDIO, createConnection } from '../../support/fixtures/mcp-connections.ts';
import { CHANGE, LEAVE, mutateOrganization, refused } from '../../support/fixtures/organizations.ts';

const gateway = useTestGateway();

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
});
