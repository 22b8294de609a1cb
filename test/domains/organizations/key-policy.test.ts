import { expect, test } from 'vitest';
import { createPerson } from '../../support/fixtures/api-keys.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { acceptWithoutKey, invite } from '../../support/fixtures/invitations.ts';
import { createServiceAccount } from '../../support/fixtures/service-accounts.ts';
import { mutate } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();
const DAY_MS = 86_400_000;
const NOW = new Date('2026-03-01T10:00:00.000Z');
const inDays = (days: number) => new Date(NOW.getTime() + days * DAY_MS).toISOString();
const scopes = ['sessions.read'];

type Admin = Awaited<ReturnType<typeof gateway.createKey>>;
const set = ({ key, organizationId }: Admin, body: object) =>
  gateway.rest<{ maxDays: number | null; boundOnly: boolean }>(
    'PATCH',
    `/v1/organizations/${organizationId}/key-policy`,
    { key, body },
  );
const create = (key: string, body: object, path = '/v1/api-keys', headers = {}) =>
  gateway.rest<{ id: string; key: string; expiresAt: string | null; error: string }>('POST', path, {
    key,
    headers,
    body: { name: 'k', scopes, ...body },
  });

test('administrators set the policy in both APIs; members and others do not see it, and each change is in the audit log', async () => {
  const admin = await gateway.createKey();
  const path = `/v1/organizations/${admin.organizationId}/key-policy`;
  const read = async (key: string) => {
    const { status, body } = await gateway.rest('GET', path, { key });
    return [status, body];
  };
  expect(await read(admin.key)).toEqual([200, { maxDays: null, boundOnly: false }]);
  expect((await set(admin, { maxDays: 90 })).body).toEqual({ maxDays: 90, boundOnly: false });
  expect((await set(admin, { boundOnly: true })).body).toEqual({ maxDays: 90, boundOnly: true });
  const cleared = { organizationId: admin.organizationId, maxDays: null };
  const selection = 'keyPolicy { maxDays boundOnly } organization { keyPolicy { maxDays } }';
  expect(await mutate(gateway, admin.key, 'updateOrganizationKeyPolicy', cleared, selection)).toMatchObject({
    keyPolicy: { maxDays: null, boundOnly: true },
    organization: { keyPolicy: { maxDays: null } },
  });
  const member = await gateway.createKey({ organization: admin.organization, role: 'member' });
  expect((await read(member.key))[0]).toBe(403);
  expect((await read((await gateway.createKey()).key))[0]).toBe(404);
  for (const maxDays of [0, 3651, 1.5]) expect((await set(admin, { maxDays })).status).toBe(400);
  const details = await gateway.dependencies.sql.query<{ detail: string }>(
    `select detail from audit_entry where organization_id = $1 and operation = 'updateOrganizationKeyPolicy' order by occurred_at, id`,
    [admin.organizationId],
  );
  expect(details.map(({ detail }) => detail)).toEqual(['90', 'true', 'null']);
});

test('new keys of people and service accounts end in time: one without expiry is shortened, and a later one is 400', async () => {
  gateway.setClock(NOW);
  const admin = await gateway.createKey();
  await set(admin, { maxDays: 30 });
  const account = await createServiceAccount(gateway, admin.key);
  for (const path of ['/v1/api-keys', `/v1/service-accounts/${account.id}/api-keys`]) {
    expect((await create(admin.key, {}, path)).body.expiresAt).toBe(inDays(30));
    expect((await create(admin.key, { expiresAt: inDays(7) }, path)).body.expiresAt).toBe(inDays(7));
    const refused = await create(admin.key, { expiresAt: inDays(31) }, path);
    expect([refused.status, refused.body.error]).toEqual([
      400,
      'expiresAt: must be at most 30 days ahead, as the organization has set',
    ]);
  }
  gateway.setClock(undefined);
});

test('keys that exist act there no longer after the days of the policy, unbound ones elsewhere still', async () => {
  gateway.setClock(NOW);
  const admin = await gateway.createKey();
  const person = await createPerson(gateway);
  const bound = await person.join(admin.organization, 'member');
  const other = await person.join('elsewhere-of-policy', 'admin');
  const act = async (key: string, id: string) =>
    (await gateway.rest('GET', '/v1/sessions', { key, headers: { 'X-Organization-Id': id } })).status;
  await set(admin, { maxDays: 30 });
  const all = async () => [
    await act(bound.key, admin.organizationId),
    await act(person.key, admin.organizationId),
    await act(person.key, other.organizationId),
  ];
  gateway.setClock(new Date(inDays(30)));
  expect(await all()).toEqual([200, 200, 200]);
  gateway.setClock(new Date(inDays(30.01)));
  expect(await all()).toEqual([401, 403, 200]);
  gateway.setClock(undefined);
});

test('where only bound keys are allowed, its people create no unbound one, and the first key of an invited person is bound and ends', async () => {
  const admin = await gateway.createKey();
  const person = await createPerson(gateway);
  await person.join(admin.organization, 'member');
  await person.join('second-of-policy', 'admin');
  await set(admin, { boundOnly: true, maxDays: 30 });
  const refused = await create(person.key, { allOrganizations: true });
  expect([refused.status, refused.body.error]).toEqual([
    400,
    `allOrganizations: must be false: the organization ${admin.organization} allows bound keys only`,
  ]);
  const { token } = await invite(gateway, admin.key, 'invited-to-policy@example.com');
  const { body } = await acceptWithoutKey(gateway, { token });
  const { data } = await gateway.graphql(body.apiKey.key, '{ viewer { apiKey { isBound expiresAt } } }');
  expect(data).toEqual({ viewer: { apiKey: { isBound: true, expiresAt: expect.any(String) } } });
});
