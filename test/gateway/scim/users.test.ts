import { afterAll, expect, test } from 'vitest';
import { CookieJar, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { invite } from '../../support/fixtures/invitations.ts';
import { createServiceAccount, createServiceAccountKey } from '../../support/fixtures/service-accounts.ts';
import { mutate } from '../../support/fixtures/sessions.ts';
import { startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** The requests as the documentation of Okta and Entra has them. */

const issuer = await startForgingIssuer();
const settings = {
  OIDC_ORGANIZATION: 'company',
  OIDC_ADMIN_GROUPS: 'Admins',
  OIDC_VIEWER_GROUPS: 'g-auditors',
  OIDC_GROUPS_CLAIM: 'groups',
};
const gateway = await startTestGateway({ ...issuer.env, ...settings });
const admin = await gateway.createKey({ organization: 'company', email: 'owner@elsewhere.example' });
const { key } = await createServiceAccountKey(gateway, admin.key, { role: 'admin', scopes: ['scim'] });

afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});

interface Body {
  readonly id: string;
  readonly active: boolean;
  readonly userName: string;
  readonly emails: readonly { readonly value: string }[];
  readonly totalResults: number;
  readonly detail: string;
  readonly Resources: readonly Body[];
  readonly members: readonly { readonly value: string }[];
}

async function scim(method: string, path: string, body?: object, headers: object = {}, by = key) {
  const response = await gateway.fetch(`/scim/v2${path}`, {
    method,
    headers: { Authorization: `Bearer ${by}`, 'Content-Type': 'application/scim+json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: (text === '' ? {} : JSON.parse(text)) as Body };
}

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
const PATCH = { schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'] };
const okta = (name: string, more: object = {}) => ({
  schemas: [USER],
  userName: `${name}@example.com`,
  name: { givenName: 'Test', familyName: 'User' },
  emails: [{ primary: true, value: `${name}@example.com`, type: 'work' }],
  displayName: 'Test User',
  locale: 'en-US',
  externalId: `okta-${name}`,
  groups: [],
  password: '1mz050nq',
  active: true,
  ...more,
});
const create = async (name: string, more?: object) => (await scim('POST', '/Users', okta(name, more))).body;
const find = (filter: string, path = '/Users') =>
  scim('GET', `${path}?filter=${encodeURIComponent(filter)}&startIndex=1&count=100`);

test('Okta creates, finds, replaces and deactivates a person', async () => {
  expect((await find('userName eq "ann@example.com"')).body).toMatchObject({ totalResults: 0, Resources: [] });
  const created = await scim('POST', '/Users', okta('ann'));
  expect([created.status, created.headers.get('content-type')]).toEqual([
    201,
    expect.stringContaining('application/scim+json'),
  ]);
  const { id } = created.body;
  expect(created.body).toEqual({
    schemas: [USER],
    id,
    externalId: 'okta-ann',
    userName: 'ann@example.com',
    name: { givenName: 'Test', familyName: 'User' },
    displayName: 'Test User',
    emails: [{ value: 'ann@example.com', type: 'work', primary: true }],
    active: true,
    meta: expect.objectContaining({ resourceType: 'User', version: created.headers.get('etag') }) as object,
  });
  expect(created.headers.get('location')).toMatch(new RegExp(`/scim/v2/Users/${id}$`));
  for (const filter of [
    'userName eq "ANN@example.com"',
    'externalId eq "okta-ann"',
    'emails[type eq "work"].value eq "ann@example.com"',
  ])
    expect((await find(filter)).body).toMatchObject({ totalResults: 1, Resources: [{ id }] });
  expect((await scim('POST', '/Users', okta('ann'))).body).toMatchObject({ status: '409', scimType: 'uniqueness' });
  const replaced = await scim('PUT', `/Users/${id}`, { ...okta('ann'), displayName: 'Ann', active: undefined });
  expect(replaced.body).toMatchObject({ displayName: 'Ann', active: true });
  const off = await scim('PATCH', `/Users/${id}`, {
    ...PATCH,
    Operations: [{ op: 'replace', value: { active: false } }],
  });
  expect([off.status, off.body.active]).toEqual([200, false]);
});

test('Entra patches with paths, text for booleans and parts that nobody knows', async () => {
  const { id } = await create('bea', { externalId: undefined });
  const Operations = [
    { op: 'Replace', path: 'displayName', value: 'Bea' },
    { op: 'Add', path: 'name.givenName', value: 'Beatrix' },
    { op: 'Add', path: 'emails[type eq "work"].value', value: 'beatrix@example.com' },
    { op: 'Replace', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department', value: 'R&D' },
    { op: 'Add', path: 'externalId', value: 'b-1' },
    { op: 'Replace', path: 'active', value: 'False' },
  ];
  const changed = await scim('PATCH', `/Users/${id}`, { ...PATCH, Operations });
  expect(changed.body).toMatchObject({
    displayName: 'Bea',
    name: { givenName: 'Beatrix', familyName: 'User' },
    emails: [{ value: 'beatrix@example.com' }],
    externalId: 'b-1',
    active: false,
  });
  const pathless = { ...PATCH, Operations: [{ op: 'Add', value: { 'name.familyName': 'Lee', active: 'True' } }] };
  expect((await scim('PATCH', `/Users/${id}`, pathless)).body).toMatchObject({
    name: { familyName: 'Lee' },
    active: true,
  });
});

test('a suspended person has nothing here any more, is in one list, and gets back only the membership', async () => {
  const { id } = await create('cid');
  const bound = await gateway.createKey({ organization: 'company', email: 'cid@example.com' });
  const unbound = await gateway.createKey({ organization: 'company', email: 'cid@example.com' });
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [unbound.keyId]);
  const jar = new CookieJar(gateway);
  const claims = { sub: 'cid', email: 'cid@example.com', email_verified: true };
  await signInAs(jar, issuer, claims);
  const { token } = await invite(gateway, admin.key, 'dan@example.com');
  const active = (value: boolean) =>
    scim('PATCH', `/Users/${id}`, { ...PATCH, Operations: [{ op: 'replace', path: 'active', value }] });
  const statusOf = async (by: string) => (await gateway.rest('GET', '/v1/sessions', { key: by })).status;
  expect([await statusOf(bound.key), await statusOf(unbound.key)]).toEqual([200, 200]);
  await active(false);
  expect([await statusOf(bound.key), await statusOf(unbound.key)]).toEqual([401, 401]);
  await expect(jar.viewer('id')).rejects.toThrow('401');
  const lists = `{ viewer { organization { members { nodes { user { email } } } suspendedMembers { nodes { user { email } role suspendedAt } } } } }`;
  const read = async () =>
    (await gateway.graphql<{ viewer: { organization: object } }>(admin.key, lists)).data?.viewer.organization;
  const gone = { user: { email: 'cid@example.com' }, role: 'MEMBER', suspendedAt: expect.any(String) as string };
  const before = (await read()) as { suspendedMembers: { nodes: object[] }; members: { nodes: object[] } };
  expect(before.suspendedMembers.nodes).toContainEqual(gone);
  expect(before.members.nodes).not.toContainEqual({ user: { email: 'cid@example.com' } });
  await signInAs(jar, issuer, { ...claims, groups: ['Admins'] });
  expect(await jar.viewer('organization { slug }')).toEqual({ organization: null });
  await expect(gateway.createKey({ organization: 'company', email: 'cid@example.com' })).rejects.toThrow('suspended');
  await mutate(gateway, admin.key, 'reactivateOrganizationMember', { userId: id }, 'member { role }');
  expect((await scim('GET', `/Users/${id}`)).body.active).toBe(true);
  expect([await statusOf(bound.key), await statusOf(unbound.key)]).toEqual([401, 401]);
  expect(token).toMatch(/^wgi_/);
});

test('an administrator removes a suspended person, whom SCIM and an invitation can then add anew', async () => {
  const { id } = await create('dot');
  await scim('PATCH', `/Users/${id}`, { ...PATCH, Operations: [{ op: 'replace', path: 'active', value: false }] });
  const removed = await mutate(gateway, admin.key, 'removeOrganizationMember', { userId: id }, 'removedUserId');
  expect(removed.__typename).toBe('RemoveOrganizationMemberPayload');
  expect((await scim('GET', `/Users/${id}`)).status).toBe(404);
  expect((await mutate(gateway, admin.key, 'removeOrganizationMember', { userId: id })).__typename).toBe(
    'NotFoundError',
  );
  expect(await create('dot')).toMatchObject({ id, active: true });
});

test('groups of SCIM decide the role, take a tied group over, and keep the last administrator', async () => {
  const tied = await gateway.rest<{ id: string }>('POST', '/v1/groups', {
    key: admin.key,
    body: { name: 'Root', externalName: 'Admins' },
  });
  const { id } = await create('eve');
  const group = await scim('POST', '/Groups', {
    schemas: [],
    displayName: 'Admins',
    externalId: 'g-1',
    members: [{ value: id }],
  });
  expect([group.status, group.body.id]).toEqual([201, tied.body.id]);
  const roleOf = async () =>
    (await gateway.dependencies.sql.query<{ role: string }>('select role from membership where user_id = $1', [id]))[0]
      ?.role;
  expect(await roleOf()).toBe('admin');
  const path = `/Groups/${group.body.id}`;
  const remove = { ...PATCH, Operations: [{ op: 'remove', path: `members[value eq "${id}"]` }] };
  expect((await scim('PATCH', path, remove)).body.members).toEqual([]);
  expect(await roleOf()).toBe('member');
  const add = { ...PATCH, Operations: [{ op: 'Add', path: 'members', value: [{ value: id }] }] };
  expect((await scim('PATCH', path, add)).body.members).toMatchObject([{ value: id }]);
  const jar = new CookieJar(gateway);
  await signInAs(jar, issuer, { sub: 'eve', email: 'eve@example.com', email_verified: true, groups: [] });
  expect(await roleOf()).toBe('admin');
  const listed = await scim(
    'GET',
    `/Groups?excludedAttributes=members&filter=${encodeURIComponent('displayName eq "Admins"')}`,
  );
  expect(listed.body).toMatchObject({ totalResults: 1 });
  expect(listed.body.Resources[0]).not.toHaveProperty('members');
  const byHand = await gateway.rest('PATCH', `/v1/groups/${group.body.id}`, {
    key: admin.key,
    body: { memberIds: [] },
  });
  expect(byHand.status).toBe(409);
  const auditors = { schemas: [], displayName: 'Auditors', externalId: 'g-auditors', members: [{ value: id }] };
  const viewing = await scim('POST', '/Groups', auditors);
  expect(await roleOf()).toBe('admin');
  expect((await scim('PATCH', path, remove)).status).toBe(200);
  expect(await roleOf()).toBe('viewer');
  expect((await scim('DELETE', `/Groups/${viewing.body.id}`)).status).toBe(204);
  expect(await roleOf()).toBe('member');
  const off = { ...PATCH, Operations: [{ op: 'replace', path: 'active', value: false }] };
  await mutate(gateway, admin.key, 'changeOrganizationMemberRole', { userId: id, role: 'ADMIN' }, 'member { role }');
  await gateway.dependencies.sql.query(`update membership set role = 'member' where user_id = $1`, [admin.userId]);
  expect((await scim('PATCH', `/Users/${id}`, off)).status).toBe(400);
  expect((await scim('DELETE', `/Users/${id}`)).status).toBe(400);
  await gateway.dependencies.sql.query(`update membership set role = 'admin' where user_id = $1`, [admin.userId]);
  expect((await scim('DELETE', `/Users/${id}`)).status).toBe(204);
  expect([(await scim('DELETE', `/Users/${id}`)).status, await roleOf()]).toEqual([404, undefined]);
  expect((await scim('DELETE', path)).status).toBe(204);
});

test('versions, discovery and errors are as the RFC has them', async () => {
  const { id } = await create('fay');
  const read = await scim('GET', `/Users/${id}`);
  const etag = read.headers.get('etag') ?? '';
  expect((await scim('GET', `/Users/${id}`, undefined, { 'If-None-Match': etag })).status).toBe(304);
  const patch = { ...PATCH, Operations: [{ op: 'replace', path: 'displayName', value: 'Fay' }] };
  expect((await scim('PATCH', `/Users/${id}`, patch, { 'If-Match': 'W/"other"' })).status).toBe(412);
  expect((await scim('PATCH', `/Users/${id}`, patch, { 'If-Match': etag })).status).toBe(200);
  for (const path of [
    '/ServiceProviderConfig',
    '/ResourceTypes',
    '/ResourceTypes/User',
    '/Schemas',
    `/Schemas/${USER}`,
  ])
    expect((await scim('GET', path)).status).toBe(200);
  const ERROR = { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'] };
  const other = await scim('POST', '/Users', okta('gil', { userName: 'gil@other.example', emails: [] }));
  expect(other.body).toEqual({
    ...ERROR,
    status: '400',
    scimType: 'invalidValue',
    detail: expect.stringContaining('example.com') as string,
  });
  expect((await find('title eq "x"')).body).toMatchObject({ ...ERROR, status: '400', scimType: 'invalidFilter' });
  expect((await scim('GET', '/Users', undefined, {}, 'wrong')).body).toMatchObject({ ...ERROR, status: '401' });
  expect((await scim('GET', '/Users', undefined, {}, admin.key)).body).toMatchObject({ ...ERROR, status: '403' });
  expect((await scim('GET', '/Users/none')).body).toMatchObject({ ...ERROR, status: '404' });
});

test('the scope is for service accounts that are administrators, whose organization is that of the company', async () => {
  const { id } = await createServiceAccount(gateway, admin.key, { role: 'member' });
  const body = { name: 'SCIM', scopes: ['scim'] };
  expect((await gateway.rest('POST', `/v1/service-accounts/${id}/api-keys`, { key: admin.key, body })).status).toBe(
    403,
  );
  expect((await gateway.rest('POST', '/v1/api-keys', { key: admin.key, body })).status).toBe(403);
  const elsewhere = await gateway.createKey();
  const { key: foreign } = await createServiceAccountKey(gateway, elsewhere.key, { role: 'admin', scopes: ['scim'] });
  expect((await scim('GET', '/Users', undefined, {}, foreign)).status).toBe(403);
  const limited = await startTestGateway(
    { ...issuer.env, ...settings, RATE_LIMIT_PER_MINUTE: '10' },
    { beside: gateway },
  );
  const counted = await limited.fetch('/scim/v2/Users', { headers: { Authorization: `Bearer ${key}` } });
  expect([counted.status, counted.headers.get('ratelimit-limit')]).toEqual([200, '1000']);
  await limited.close();
});
