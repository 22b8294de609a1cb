import { afterAll, expect, test } from 'vitest';
import { CookieJar, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** A provider that signs with another key or algorithm than when its metadata were read. */

const issuer = await startForgingIssuer();
const gateway = await startTestGateway(issuer.env);

afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});

const signIn = () => signInAs(new CookieJar(gateway), issuer, { email: 'one@example.com', email_verified: true });

test.each([
  ['another key', 'RS256', 'two'],
  ['another algorithm', 'ES256', 'three'],
])('a sign-in with %s reads the metadata again, and uses its code once', async (_, alg, kid) => {
  expect((await signIn()).status).toBe(200);
  await issuer.replaceKey(alg, kid);
  issuer.tokenRequests.length = 0;
  expect((await signIn()).status).toBe(200);
  expect(issuer.tokenRequests).toHaveLength(1);
});

test('a key that is not published stays refused, and the code is used once', async () => {
  await issuer.replaceKey('RS256', 'four');
  issuer.tokenFor = (claims) => issuer.sign(claims, { isForeign: true });
  issuer.tokenRequests.length = 0;
  expect((await signIn()).status).toBe(502);
  expect(issuer.tokenRequests).toHaveLength(1);
});
