import { afterAll, expect, test } from 'vitest';
import { CookieJar, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { ACCEPT, INVITE, acceptWithoutKey, invite } from '../../support/fixtures/invitations.ts';
import { mutateOrganization, refused } from '../../support/fixtures/organizations.ts';
import { startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** Invitations of a gateway whose people sign in with the identity provider alone (OIDC_ONLY). */

const issuer = await startForgingIssuer();
const gateway = await startTestGateway({ ...issuer.env, OIDC_ONLY: 'true' });
const admin = await gateway.createKey({ email: 'admin@example.com' });

afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});

test('an address outside of OIDC_DOMAINS is not invited', async () => {
  for (const email of ['outsider@gmail.test', 'outsider@badexample.com', 'outsider@sub.example.com'])
    expect(await mutateOrganization(gateway, admin.key, INVITE, { email })).toMatchObject(
      refused('Validation', expect.stringContaining('must be of one of these domains: example.com, partner.example'), [
        'email',
      ]),
    );
});

test('an invitation gives nobody a key, and is accepted after a sign-in with the provider alone', async () => {
  const email = 'new@example.com';
  const { token } = await invite(gateway, admin.key, email, { role: 'ADMIN' });
  expect((await acceptWithoutKey(gateway, { token })).status).toBe(409);
  const { key } = await gateway.createKey({ email, organization: 'other' });
  expect(await mutateOrganization(gateway, key, ACCEPT, { token })).toMatchObject(
    refused('Forbidden', expect.stringContaining('through its identity provider alone')),
  );
  const jar = new CookieJar(gateway);
  expect((await signInAs(jar, issuer, { sub: 'new', email, email_verified: true })).status).toBe(200);
  const answer = await jar.open('/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: ACCEPT, variables: { input: { token } } }),
  });
  expect(await answer.json()).toMatchObject({ data: { acceptOrganizationInvitation: { role: 'ADMIN' } } });
});
