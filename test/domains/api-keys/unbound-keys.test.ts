import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { actingIn, createPerson } from '../../support/fixtures/api-keys.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { mutateOrganization } from '../../support/fixtures/organizations.ts';

/** Unbound keys of members, which act in the organizations of others. */

const gateway = useTestGateway();

/** A member of two organizations with an unbound key, and the administrator of the first. */
async function createMember() {
  const admin = await gateway.createKey();
  const person = await createPerson(gateway);
  await person.join(admin.organization);
  const other = await person.join(`org-${randomUUID().slice(0, 13)}`);
  return { admin, person, other };
}

const KEYS = `query($filter: ApiKeyFilter) { viewer { organization { apiKeys(filter: $filter) {
  nodes { databaseId isBound isBlockedHere viewerCanRevoke viewerCanUpdate owner { ... on User { email } } } } } } }`;
const keysOf = async (key: string, userId: string, filter: object = {}) => {
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { apiKeys: { nodes: object[] } } } }>(
    key,
    KEYS,
    { filter: { userIds: [userId], ...filter } },
  );
  return data?.viewer.organization.apiKeys.nodes ?? errors;
};
const revoke = (key: string, keyId: string) => gateway.rest('DELETE', `/v1/api-keys/${keyId}`, { key });
const UNBLOCK = `mutation($input: UnblockApiKeyInput!) { unblockApiKey(input: $input) {
  __typename ... on Error { code } ... on UnblockApiKeyPayload { apiKey { isBlockedHere } } } }`;
const unblock = (key: string, apiKeyId: string) => mutateOrganization(gateway, key, UNBLOCK, { apiKeyId });
const REMOVE = `mutation($input: RemoveOrganizationMemberInput!) { removeOrganizationMember(input: $input) { __typename } }`;
const LEAVE = `mutation($input: LeaveOrganizationInput!) { leaveOrganization(input: $input) { __typename } }`;

/** What a key gets in an organization. */
async function acting(key: string, organizationId: string): Promise<unknown> {
  const { status, body } = await gateway.rest<{ error?: string }>('GET', '/v1/sessions', {
    key,
    headers: actingIn(organizationId),
  });
  return status === 200 ? status : [status, body.error];
}
const blockedIn = (slug: string) => [403, `an administrator has blocked this credential in the organization ${slug}`];

test('an administrator sees the unbound keys of members, and others do not', async () => {
  const { admin, person } = await createMember();
  const unbound = {
    databaseId: person.keyId,
    isBound: false,
    isBlockedHere: false,
    viewerCanRevoke: true,
    viewerCanUpdate: false,
    owner: { email: person.email },
  };
  const listed = await keysOf(admin.key, person.userId);
  expect(listed).toHaveLength(2);
  expect(listed).toContainEqual(unbound);
  expect(await keysOf(admin.key, person.userId, { isBound: false })).toEqual([unbound]);
  expect(await keysOf(admin.key, person.userId, { isBound: true })).toHaveLength(1);
  const { body } = await gateway.rest<{ items: { id: string }[] }>('GET', '/v1/api-keys', { key: admin.key });
  expect(body.items.map(({ id }) => id)).toContain(person.keyId);
  const member = await gateway.createKey({ organization: admin.organization });
  expect(await keysOf(member.key, person.userId)).toEqual([]);
  const foreign = await gateway.createKey();
  expect(await keysOf(foreign.key, person.userId)).toEqual([]);
  expect((await revoke(foreign.key, person.keyId)).status).toBe(404);
  expect((await revoke(member.key, person.keyId)).status).toBe(404);
});

test('an administrator ends an unbound key for the organization only, and lets it act again', async () => {
  const { admin, person, other } = await createMember();
  expect((await revoke(admin.key, person.keyId)).status).toBe(200);
  expect((await revoke(admin.key, person.keyId)).status).toBe(200);
  expect(await acting(person.key, admin.organizationId)).toEqual(blockedIn(admin.organization));
  expect(await acting(person.key, other.organizationId)).toBe(200);
  expect(await keysOf(admin.key, person.userId)).toContainEqual(
    expect.objectContaining({ databaseId: person.keyId, isBlockedHere: true }),
  );
  const entries = await gateway.dependencies.sql.query(
    `select organization_id as "organizationId", detail from audit_entry where target_id = $1 and operation = 'revokeApiKey'`,
    [person.keyId],
  );
  expect(entries).toEqual([{ organizationId: admin.organizationId, detail: 'blocked' }]);
  const member = await gateway.createKey({ organization: admin.organization });
  expect(await unblock(member.key, person.keyId)).toMatchObject({ code: 'FORBIDDEN' });
  expect(await unblock(other.key, person.keyId)).toMatchObject({ code: 'NOT_FOUND' });
  expect(await unblock(admin.key, person.keyId)).toMatchObject({ apiKey: { isBlockedHere: false } });
  expect(await acting(person.key, admin.organizationId)).toBe(200);
});

test('a key that was blocked while a request was on its way changes nothing', async () => {
  const { admin, person } = await createMember();
  const holds = async () => {
    const values = [person.keyId, person.userId, admin.organizationId];
    const [row] = await gateway.dependencies.sql.query<{ holds: boolean }>(
      `select has_authority($1::uuid, $2::uuid, $3::uuid, 'member', now()) as holds`,
      values,
    );
    return row?.holds;
  };
  expect(await holds()).toBe(true);
  await revoke(admin.key, person.keyId);
  expect(await holds()).toBe(false);
});

test('a browser that was signed in with a key is blocked with it, before and after', async () => {
  const { admin, person } = await createMember();
  const signIn = async () => {
    const response = await gateway.fetch('/sign-in', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' },
      body: JSON.stringify({ key: person.key }),
    });
    return response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  };
  const statusOf = async (cookie: string) => {
    const headers = { Cookie: cookie, 'Sec-Fetch-Site': 'same-origin', ...actingIn(admin.organizationId) };
    return (await gateway.fetch('/v1/sessions', { headers })).status;
  };
  const before = await signIn();
  expect(await statusOf(before)).toBe(200);
  await revoke(admin.key, person.keyId);
  expect([await statusOf(before), await statusOf(await signIn())]).toEqual([403, 403]);
});

test('a removal blocks unbound keys, also when the person comes back; who leaves keeps them', async () => {
  const { admin, person } = await createMember();
  await mutateOrganization(gateway, admin.key, REMOVE, { userId: person.userId });
  expect(await acting(person.key, admin.organizationId)).toEqual([404, 'X-Organization-Id: organization not found']);
  await person.join(admin.organization);
  expect(await acting(person.key, admin.organizationId)).toEqual(blockedIn(admin.organization));
  await unblock(admin.key, person.keyId);
  expect(await acting(person.key, admin.organizationId)).toBe(200);
  const input = { organizationId: admin.organizationId };
  await gateway.graphql(person.key, LEAVE, { input }, actingIn(admin.organizationId));
  await person.join(admin.organization);
  expect(await acting(person.key, admin.organizationId)).toBe(200);
});
