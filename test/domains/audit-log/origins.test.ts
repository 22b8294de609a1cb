import { afterAll, expect, test } from 'vitest';
import { CookieJar, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { createPerson, postKey } from '../../support/fixtures/api-keys.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { runJobs } from '../../support/processes/jobs.ts';
import { startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** From where sign-ins, new keys and exports came, in the audit log. */

const issuer = await startForgingIssuer();
const COMPANY = { OIDC_ORGANIZATION: 'company', OIDC_GROUPS_CLAIM: 'groups', OIDC_ALLOWED_GROUPS: 'all' };
const GROUPS = { groups: ['all'] };
const gateway = await startTestGateway({ ...issuer.env, TRUSTED_PROXIES: '10.0.0.1', ...COMPANY });
afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});

const AGENT = 'Browser/1';
const ADDRESS = '192.0.2.7';
const FROM = { 'User-Agent': AGENT, 'X-Forwarded-For': ADDRESS };

/** Requests that come through the proxy. */
const through: Pick<TestGateway, 'fetch'> = {
  fetch: (target, init) => {
    const request = typeof target === 'string' ? new Request(new URL(target, 'http://gateway'), init) : target;
    const headers = new Headers(request.headers);
    for (const [name, value] of Object.entries(FROM)) headers.set(name, value);
    const sent = new Request(request, { headers });
    return gateway.fetch(Object.assign(sent, { peerAddress: '10.0.0.1', hasArrived: true }));
  },
};

const LOG = `query($operations: [String!]) { viewer { organization { auditLog(first: 20, filter: { operations: $operations }) {
  nodes { operation clientAddress userAgent actor { ... on User { email } } } } } } }`;
async function logOf(key: string, ...operations: string[]): Promise<unknown> {
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { auditLog: { nodes: object[] } } } }>(
    key,
    LOG,
    { operations },
  );
  return data?.viewer.organization.auditLog.nodes ?? errors;
}
const at = { clientAddress: ADDRESS, userAgent: AGENT };

test('a sign-in is in the audit log of each organization of the person, with address and browser', async () => {
  const [one, two] = [await gateway.createKey(), await gateway.createKey()];
  const person = await createPerson(gateway, 'ada@example.com');
  for (const { organization } of [one, two]) await person.join(organization);
  const jar = new CookieJar(through);
  await signInAs(jar, issuer, { sub: 'ada', email: person.email, email_verified: true, ...GROUPS });
  const signIn = { operation: 'signIn', ...at, actor: { email: person.email } };
  for (const { key } of [one, two]) expect(await logOf(key, 'signIn')).toEqual([signIn]);
});

test('new keys and exports have it, other operations do not, and it is erased with the account alone', async () => {
  const admin = await gateway.createKey();
  const email = 'bea@example.com';
  const { key, userId } = await gateway.createKey({ email, organization: admin.organization, role: 'admin' });
  const send = (method: string, path: string, body?: object) =>
    through.fetch(path, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  expect((await send('POST', '/v1/api-keys', { name: 'CI', scopes: ['social'] })).status).toBe(201);
  await (await send('GET', `/v1/organizations/${admin.organizationId}/export`)).text();
  expect((await send('POST', '/v1/sessions', { title: 'One' })).status).toBe(201);
  const nowhere = { clientAddress: null, userAgent: null };
  const actor = { email };
  const [created, exported, other] = ['createApiKey', 'exportOrganization', 'createSession'];
  // The first key of both is from the command line.
  expect(await logOf(admin.key, created, exported, other)).toEqual([
    { operation: other, ...nowhere, actor },
    { operation: exported, ...at, actor },
    { operation: created, ...at, actor },
    { operation: created, ...nowhere, actor: null },
    { operation: created, ...nowhere, actor: null },
  ]);
  expect((await send('DELETE', `/v1/users/${userId}`)).status).toBe(202);
  await runJobs(gateway);
  expect(await logOf(admin.key, exported)).toEqual([{ operation: exported, ...nowhere, actor: null }]);
  const kept = await gateway.dependencies.sql.query(
    'select 1 from audit_origin where key_id is not null and client_address is null',
    [],
  );
  expect(kept).toEqual([]);
  expect(await postKey(gateway, admin.key)).toMatchObject({ status: 201 });
});

test('a refused sign-in is in the log of the company, that of a known person in their organizations, until the account is erased', async () => {
  const company = await gateway.createKey({ organization: 'company' });
  const { key, organization } = await gateway.createKey();
  const person = await createPerson(gateway, 'eve@example.com');
  await person.join(organization);
  const signIn = (claims: object) => signInAs(new CookieJar(through), issuer, { email_verified: true, ...claims });
  await signIn({ sub: 'mallory', email: 'mallory@elsewhere.test', ...GROUPS });
  await signIn({ sub: 'eve', email: person.email, ...GROUPS });
  await signIn({ sub: 'eve', email: person.email });
  const REFUSED = `{ viewer { organization { auditLog(filter: { operations: ["signIn"], isRefused: true }) {
    nodes { targetLabel detail refusal clientAddress userAgent } } } } }`;
  const refusedIn = async (reader: string) =>
    (await gateway.graphql<{ viewer: { organization: { auditLog: { nodes: object[] } } } }>(reader, REFUSED)).data
      ?.viewer.organization.auditLog.nodes;
  const entry = (targetLabel: string | null, reason: string, from: object) => ({
    targetLabel,
    detail: expect.stringContaining(reason) as unknown,
    refusal: 'FORBIDDEN',
    ...from,
  });
  expect(await refusedIn(company.key)).toEqual([entry(null, 'OIDC_DOMAINS', at)]);
  expect(await refusedIn(key)).toEqual([entry(person.email, 'none of the groups', at)]);
  const eve = await gateway.createKey({ email: person.email, organization });
  expect((await gateway.rest('DELETE', `/v1/users/${eve.userId}`, { key: eve.key })).status).toBe(202);
  await runJobs(gateway);
  expect(await refusedIn(key)).toEqual([entry(null, 'none of the groups', { clientAddress: null, userAgent: null })]);
});
