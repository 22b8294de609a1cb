import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { issueKey } from '../../../src/operator/issue-key.ts';
import { CookieJar, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { acceptWithoutKey, invite } from '../../support/fixtures/invitations.ts';
import { type ForgingIssuer, startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** Accounts that existed before the person with their e-mail address signed in with the identity provider. */

const issuer: ForgingIssuer = await startForgingIssuer();
const gateway = await startTestGateway(issuer.env, { bounds: { requestsOfClient: Infinity } });
const { key: inviterKey } = await gateway.createKey({ email: 'inviter@elsewhere.example' });

afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});

let number = 0;
let email: string;
beforeEach(() => {
  number += 1;
  email = `victim-${number}@example.com`;
});

const signIn = async (jar = new CookieJar(gateway), claims = {}) => {
  const response = await signInAs(jar, issuer, { sub: email, email, email_verified: true, ...claims });
  return { jar, status: response.status, html: await response.text() };
};
const statusOf = async (key: string) => (await gateway.rest('GET', '/v1/users/me', { key })).status;
const createKey = async (key: string, body: object) =>
  (await gateway.rest<{ key: string }>('POST', '/v1/api-keys', { key, body: { ...body, scopes: ['social'] } })).body
    .key;

describe('an account that was created with an invitation', () => {
  const accept = async () => {
    const { token } = await invite(gateway, inviterKey, email);
    const { apiKey, organization } = (await acceptWithoutKey(gateway, { token })).body;
    return { token, key: apiKey.key, organizationId: organization.id };
  };

  test('loses all keys and sign-ins when an identity is joined to it, and the page says so', async () => {
    const { key, organizationId } = await accept();
    const bound = await createKey(key, { name: 'bound', organizationId });
    const unbound = await createKey(key, { name: 'unbound', allOrganizations: true });
    const other = new CookieJar(gateway);
    await other.open('/sign-in', { method: 'POST', body: new URLSearchParams({ key: unbound }) });
    expect((await other.open('/v1/users/me')).status).toBe(200);
    const { jar, html } = await signIn();
    expect(html).toContain('created with an invitation');
    expect((await jar.viewer<{ user: object }>('user { email }')).user).toEqual({ email });
    expect(await Promise.all([key, bound, unbound].map(statusOf))).toEqual([401, 401, 401]);
    expect((await other.open('/v1/users/me')).status).toBe(401);
    const [entry] = await gateway.dependencies.sql.query<{ detail: string }>(
      `select detail from audit_entry where operation = 'joinIdentity' and target_label = $1`,
      [email],
    );
    expect(entry?.detail).toBe(`joined: ${issuer.issuer}; revoked 4 credentials`);
  });

  test('does so after the invitation has been deleted, too', async () => {
    const { key } = await accept();
    await gateway.dependencies.sql.query('delete from invitation where email = $1', [email]);
    await signIn();
    expect(await statusOf(key)).toBe(401);
  });

  test('gets the name of the provider, and keeps its memberships, which the page asks to check', async () => {
    const { token } = await invite(gateway, inviterKey, email);
    await acceptWithoutKey(gateway, { token, name: 'Somebody else' });
    const named = await signIn(new CookieJar(gateway), { name: 'The person' });
    expect(named.html).toContain('check the organizations and the personal MCP connections');
    const fields = 'user { name } organizations { totalCount }';
    expect(await named.jar.viewer(fields)).toEqual({ user: { name: 'The person' }, organizations: { totalCount: 1 } });
    const again = await signIn(new CookieJar(gateway), { name: 'Another name' });
    expect(await again.jar.viewer(fields)).toEqual({ user: { name: 'The person' }, organizations: { totalCount: 1 } });
  });

  test('gets no other first key with the token afterwards', async () => {
    const { token } = await accept();
    await signIn();
    expect(await acceptWithoutKey(gateway, { token })).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('sign in on the page /sign-in') },
    });
  });

  test('keeps what the person creates after that', async () => {
    await accept();
    const { jar } = await signIn();
    const response = await jar.open('/v1/api-keys', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'mine', scopes: ['social'], allOrganizations: true }),
    });
    const { key } = (await response.json()) as { key: string };
    expect((await signIn()).html).not.toContain('created with an invitation');
    expect(await statusOf(key)).toBe(200);
  });
});

test.each([
  ['bound', { organization: 'company' }],
  ['unbound', {}],
])('an account that the operator has created keeps its %s key', async (_, wanted) => {
  const { key } = await issueKey(gateway.dependencies, { email, ...wanted });
  const { status, html } = await signIn();
  expect([status, html.includes('class="notice"')]).toEqual([200, false]);
  expect(await statusOf(key)).toBe(200);
});
