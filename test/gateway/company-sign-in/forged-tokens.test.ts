import { type JWTPayload, SignJWT, exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createSignInLink } from '../../../src/domains/identities/public.ts';
import { CompanySignIn } from '../../../src/gateway/company-sign-in.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { CALLBACK, CookieJar, begin, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { type ForgingIssuer, startForgingIssuer } from '../../support/peers/forging-issuer.ts';
import { sampled } from '../../support/sample.ts';

/** What an attacker sends who has no key of the issuer, or sits between the browser and the gateway. */

const issuer: ForgingIssuer = await startForgingIssuer();
const gateway = await startTestGateway(issuer.env, { bounds: { requestsOfClient: Infinity } });
const own = await generateKeyPair('RS256');
const PERSON = { sub: 'one', email: 'one@example.com', email_verified: true };

afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});
beforeEach(() => {
  Object.assign(issuer, { claims: {}, metadata: {}, tokenFor: (claims: JWTPayload) => issuer.sign(claims) });
});

const accounts = async () => (await gateway.dependencies.sql.query<object>('select id from user_account', [])).length;
const bytes = (text: string) => new TextEncoder().encode(text);
const SECRET = issuer.env['OIDC_CLIENT_SECRET'] ?? '';

/** Signs with an own key and these members of the header. */
const signed = (header: object) => (claims: JWTPayload) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'RS256', ...header }).sign(own.privateKey);

describe('an ID token is refused', () => {
  sampled(test, 5).each<[string, (claims: JWTPayload) => Promise<string>]>([
    [
      'signed with the client secret',
      (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(bytes(SECRET.padEnd(32, ' '))),
    ],
    [
      'signed with the published key as a secret',
      async (claims) => {
        const response = await fetch(`${issuer.issuer}/jwks`);
        return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(bytes(await response.text()));
      },
    ],
    [
      'with its key in the header',
      async (claims) => signed({ kid: 'one', jwk: await exportJWK(own.publicKey) })(claims),
    ],
    ['with the address of its keys in the header', signed({ jku: 'http://127.0.0.1:1/jwks' })],
    ['with an unknown kid', signed({ kid: 'two' })],
    ['with a kid that is no text', signed({ kid: 7 })],
    [
      'with another algorithm than its key',
      async (claims) =>
        (await issuer.sign(claims)).replace(/^[^.]+/, Buffer.from('{"alg":"PS256","kid":"one"}').toString('base64url')),
    ],
    ['without a signature', async (claims) => (await issuer.sign(claims)).replace(/[^.]+$/, '')],
    ['with a fourth part', async (claims) => `${await issuer.sign(claims)}.x`],
    [
      'of whom the audience is an object',
      (claims) => issuer.sign({ ...claims, aud: { gateway: true } as unknown as string }),
    ],
    ['of whom the audience differs in case', (claims) => issuer.sign({ ...claims, aud: 'Gateway' })],
    ['of the issuer with a slash', (claims) => issuer.sign({ ...claims, iss: `${issuer.issuer}/` })],
    ['whose nonce is a list', (claims) => issuer.sign({ ...claims, nonce: [claims['nonce']] })],
    ['whose subject is a number', (claims) => issuer.sign({ ...claims, sub: 1 as unknown as string })],
    ['whose expiry is a text', (claims) => issuer.sign({ ...claims, exp: '9999999999' as unknown as number })],
    [
      'issued more than 30 s in the future',
      (claims) => issuer.sign({ ...claims, iat: Math.ceil(Date.now() / 1000) + 40 }),
    ],
    ['without the time of issue', (claims) => issuer.sign({ ...claims, iat: undefined })],
    ['that is extended by a critical member', signed({ crit: ['b64'], b64: true, kid: 'one' })],
  ])('%s', async (_, tokenFor) => {
    const before = await accounts();
    issuer.tokenFor = tokenFor;
    const jar = new CookieJar(gateway);
    const response = await signInAs(jar, issuer, PERSON);
    expect([response.status, [...jar.cookies.keys()]]).toEqual([502, []]);
    expect(await response.text()).toContain('cannot be trusted');
    expect(await accounts()).toBe(before);
  });
});

describe('a callback signs nobody in', () => {
  const change: [string, (answer: URLSearchParams) => void][] = [
    ['with two codes', (answer) => answer.append('code', 'two')],
    ['with two issuers', (answer) => answer.append('iss', 'http://other.example')],
    ['with a code and an error', (answer) => answer.set('error', 'access_denied')],
    ['with an ID token beside the code', (answer) => answer.set('id_token', 'a.b.c')],
    ['with a signed answer instead', (answer) => answer.set('response', 'a.b.c')],
    ['without a code', (answer) => answer.delete('code')],
  ];
  sampled(test, 3).each(change)('%s', async (_, alter) => {
    const jar = new CookieJar(gateway);
    const answer = await begin(jar, issuer);
    issuer.claims = PERSON;
    alter(answer);
    const { status } = await jar.open(`${CALLBACK}?${answer}`);
    expect([status >= 400, [...jar.cookies.keys()]]).toEqual([true, []]);
  });

  test('with the code of another attempt of the same browser', async () => {
    const jar = new CookieJar(gateway);
    const [first, second] = [await begin(jar, issuer), await begin(jar, issuer)];
    issuer.claims = PERSON;
    // The code of the forging issuer is the nonce of its attempt.
    first.set('code', second.get('code') ?? '');
    expect((await jar.open(`${CALLBACK}?${first}`)).status).toBe(502);
    expect(jar.cookies.has('workspace_session')).toBe(false);
  });

  test('with a cookie that was changed, or of another gateway', async () => {
    const other = await startTestGateway(issuer.env, { bounds: { requestsOfClient: Infinity } });
    const [jar, foreign] = [new CookieJar(gateway), new CookieJar(other)];
    const [answer, elsewhere] = [await begin(jar, issuer), await begin(foreign, issuer)];
    issuer.claims = PERSON;
    for (const [name, value] of jar.cookies) jar.cookies.set(name, `${value.slice(0, -4)}AAAA`);
    expect((await jar.open(`${CALLBACK}?${answer}`)).status).toBe(400);
    for (const [cookie, sealed] of foreign.cookies) jar.cookies.set(cookie, sealed);
    expect((await jar.open(`${CALLBACK}?${elsewhere}`)).status).toBe(400);
    expect(jar.cookies.has('workspace_session')).toBe(false);
    await other.close();
  });
});

test('of two people with one e-mail address who sign in at once, one is joined and the other refused', async () => {
  const email = 'shared@example.com';
  const [one, other] = [new CookieJar(gateway), new CookieJar(gateway)];
  const answers = [await begin(one, issuer), await begin(other, issuer)];
  let number = 0;
  issuer.tokenFor = (claims) => issuer.sign({ ...claims, email, email_verified: true, sub: `shared-${(number += 1)}` });
  const pages = await Promise.all([one, other].map((jar, index) => jar.open(`${CALLBACK}?${answers[index]}`)));
  expect(pages.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403]);
});

test('a sign-in ends the one before in the same browser, although the callback does not get its cookie', async () => {
  const person = { sub: 'twice', email: 'twice@example.com', email_verified: true };
  const [jar, before, elsewhere] = [new CookieJar(gateway), new CookieJar(gateway), new CookieJar(gateway)];
  for (const each of [jar, elsewhere]) expect((await signInAs(each, issuer, person)).status).toBe(200);
  for (const [name, value] of jar.cookies) before.cookies.set(name, value);
  const answer = await begin(jar, issuer);
  // The provider leads the browser to the callback, so that it sends no cookie that is `SameSite=Strict`.
  jar.cookies.delete('workspace_session');
  expect((await jar.open(`${CALLBACK}?${answer}`)).status).toBe(200);
  const statusOf = async (of: CookieJar) => (await of.open('/v1/users/me')).status;
  expect([await statusOf(jar), await statusOf(before), await statusOf(elsewhere)]).toEqual([200, 401, 200]);
});

test('the log has no code, state and token of a sign-in', async () => {
  const jar = new CookieJar(gateway);
  const answer = await begin(jar, issuer);
  issuer.claims = { ...PERSON, sub: 'logged', email: 'logged@example.com' };
  expect((await jar.open(`${CALLBACK}?${answer}`)).status).toBe(200);
  const { token } = await createSignInLink(workContext(gateway.dependencies), 'logged@example.com');
  expect((await jar.open(`/sign-in?token=${token}`)).status).toBe(200);
  const logs = gateway.logged.join('\n');
  for (const secret of [answer.get('code'), answer.get('state'), token, ...jar.cookies.values()])
    expect(logs).not.toContain(secret);
});

sampled(test, 3).each([
  ['authorization_endpoint', undefined],
  ['authorization_endpoint', 'javascript:alert(1)//'],
  ['authorization_endpoint', '/authorize'],
  ['authorization_endpoint', 7],
  ['token_endpoint', undefined],
  ['token_endpoint', 'ftp://127.0.0.1/token'],
  ['jwks_uri', undefined],
])('metadata with the %s %s stop the start, and lead no browser elsewhere', async (name, value) => {
  const bad = await startForgingIssuer();
  const other = await startTestGateway(bad.env, { beside: gateway });
  bad.metadata = { [name]: value };
  await expect(new CompanySignIn(other.dependencies).check()).rejects.toThrow(
    `OIDC_ISSUER: its metadata have no valid ${name}`,
  );
  const response = await new CookieJar(other).open('/sign-in/oidc');
  expect([response.status, response.headers.get('location')]).toEqual([502, null]);
  await other.close();
  await bad.stop();
});
