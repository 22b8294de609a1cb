import { afterAll, describe, expect, test } from 'vitest';
import { CookieJar, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { type ForgingIssuer, startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** A provider that says a part in the ID token, and another part at the userinfo endpoint. */

const issuer: ForgingIssuer = await startForgingIssuer();
issuer.userinfo = {};
const options = { bounds: { requestsOfClient: Infinity } };
const groupsClaim = { OIDC_ORGANIZATION: 'company', OIDC_GROUPS_CLAIM: 'groups', OIDC_ADMIN_GROUPS: 'Admins' };
const gateway = await startTestGateway(issuer.env, options);
const trusting = await startTestGateway({ ...issuer.env, OIDC_EMAIL: 'trusted' }, { ...options, beside: gateway });
const grouping = await startTestGateway({ ...issuer.env, ...groupsClaim }, { ...options, beside: gateway });
await gateway.createKey({ organization: 'company', email: 'owner@elsewhere.example' });

afterAll(async () => {
  await grouping.close();
  await trusting.close();
  await gateway.close();
  await issuer.stop();
});

let number = 0;
const signIn = async (token: object, userinfo: object, where = gateway) => {
  number += 1;
  const sub = `person-${number}`;
  issuer.userinfo = { sub, ...userinfo };
  const jar = new CookieJar(where);
  const { status } = await signInAs(jar, issuer, { sub, ...token });
  return { status, jar };
};
const emailOf = async ({ jar }: { jar: CookieJar }) =>
  (await jar.viewer<{ user: { email: string } }>('user { email }')).user.email;

describe('an e-mail address and whether it is verified come from one source:', () => {
  test.each<[string, object, object]>([
    ['the token verifies another address', { email_verified: true }, { email: 'a@example.com', email_verified: false }],
    ['the token verifies an address it does not have', { email_verified: true }, { email: 'b@example.com' }],
    ['userinfo verifies another one', { email: 'c@example.com' }, { email: 'd@example.com', email_verified: true }],
    ['userinfo verifies an address it does not have', { email: 'e@example.com' }, { email_verified: true }],
    [
      'userinfo verifies what the token says is not verified',
      { email: 'f@example.com', email_verified: false },
      { email: 'f@example.com', email_verified: true },
    ],
  ])('refused if %s', async (_, token, userinfo) => {
    expect((await signIn(token, userinfo)).status).toBe(403);
  });

  test('that of userinfo counts, and that of the token if userinfo verifies the same', async () => {
    const verified = { email: 'g@example.com', email_verified: true };
    expect(await emailOf(await signIn({}, verified))).toBe('g@example.com');
    const same = { email: 'h@example.com', email_verified: true };
    expect(await emailOf(await signIn({ email: 'h@example.com' }, same))).toBe('h@example.com');
  });

  test('with OIDC_EMAIL=trusted, the address of the token counts alone', async () => {
    const other = { email: 'j@example.com', email_verified: false };
    expect(await emailOf(await signIn({ email: 'i@example.com' }, other, trusting))).toBe('i@example.com');
    expect((await signIn({ email_verified: true }, other, trusting)).status).toBe(403);
  });
});

test.each([false, 'false', null, 0])('groups of userinfo count if the token says hasgroups: %o', async (hasgroups) => {
  const email = `${typeof hasgroups}-${hasgroups}@example.com`;
  const token = { email, email_verified: true, hasgroups };
  const { jar } = await signIn(token, { groups: ['Admins'] }, grouping);
  expect(await jar.viewer<object>('role')).toEqual({ role: 'ADMIN' });
});
