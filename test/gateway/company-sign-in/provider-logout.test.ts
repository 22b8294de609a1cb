import { randomUUID } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { afterAll, expect, test } from 'vitest';
import { CALLBACK, CookieJar, logIn, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { startForgingIssuer } from '../../support/peers/forging-issuer.ts';
import { startIdentityProvider } from '../../support/peers/identity-provider.ts';

/** Leaving the provider: sign-out there, and back-channel logout here, with oidc-provider and with forged tokens. */

const PUBLIC_URL = 'http://gateway.example';
const LOGOUT = '/sign-in/oidc/logout';
const provider = await startIdentityProvider(() => PUBLIC_URL + CALLBACK);
const issuer = await startForgingIssuer();
const company = { PUBLIC_URL, OIDC_LOGOUT: 'true', OIDC_ORGANIZATION: 'company', OIDC_DEFAULT_ROLE: 'member' };
const gateway = await startTestGateway({ ...provider.env, ...company });
const forged = await startTestGateway({ ...issuer.env, ...company }, { beside: gateway });
const without = await startTestGateway(issuer.env, { beside: gateway });
await gateway.createKey({ organization: 'company' });
provider.people.set('ada', { email: 'ada@example.com', email_verified: true });

afterAll(async () => {
  for (const each of [without, forged, gateway]) await each.close();
  await issuer.stop();
  await provider.stop();
});

const isSignedIn = async (jar: CookieJar) => (await jar.open('/v1/users/me')).status === 200;
const send = (token: string, to = forged) =>
  to.fetch(LOGOUT, { method: 'POST', body: new URLSearchParams({ logout_token: token }) });
provider.sendLogout = (body) =>
  gateway.fetch(LOGOUT, { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body });

test('a sign-out ends the session at oidc-provider, which ends the other sign-ins of that session here', async () => {
  const cookies = new Map<string, string>();
  const signIn = async () => {
    const jar = new CookieJar(gateway);
    const started = await jar.open('/sign-in/oidc');
    const { search } = await logIn(started.headers.get('location') ?? '', { login: 'ada', cookies });
    expect((await jar.open(CALLBACK + search)).status).toBe(200);
    return jar;
  };
  const [first, second] = [await signIn(), await signIn()];
  const elsewhere = new Map<string, string>();
  const third = new CookieJar(gateway);
  const started = await third.open('/sign-in/oidc');
  const answer = await logIn(started.headers.get('location') ?? '', { login: 'ada', cookies: elsewhere });
  await third.open(CALLBACK + answer.search);
  const out = await first.open('/sign-out', { method: 'POST' });
  const html = await out.text();
  const target = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
  expect(target.startsWith(`${provider.issuer}/session/end?`)).toBe(true);
  expect(first.cookies.has('workspace_session')).toBe(false);
  expect(await isSignedIn(second)).toBe(true);
  const end = await logIn(target, { cookies, until: '/sign-in' });
  expect(end.origin).toBe(PUBLIC_URL);
  expect([await isSignedIn(second), await isSignedIn(third)]).toEqual([false, true]);
});

const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} };
const claimsOf = (more: JWTPayload): JWTPayload => {
  const at = Math.floor(Date.now() / 1000);
  return { iss: issuer.issuer, aud: 'gateway', iat: at, exp: at + 120, jti: randomUUID(), events: EVENTS, ...more };
};
async function person(sid: string) {
  const sub = randomUUID();
  const jar = new CookieJar(forged);
  await signInAs(jar, issuer, { sub, sid, email: `${sub}@example.com`, email_verified: true });
  return { sub, jar };
}

test('a logout token ends the sign-ins of its session, or without one all of its subject, and is used once', async () => {
  const { sub, jar } = await person('one');
  const again = new CookieJar(forged);
  const signInAgain = (sid: string) =>
    signInAs(again, issuer, { sub, sid, email: `${sub}@example.com`, email_verified: true });
  await signInAgain('two');
  const other = await person('one-of-another');
  const ofSession = await issuer.sign(claimsOf({ sub, sid: 'one' }));
  const { status, headers } = await send(ofSession);
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect([await isSignedIn(jar), await isSignedIn(again), await isSignedIn(other.jar)]).toEqual([false, true, true]);
  const ofSubject = await issuer.sign(claimsOf({ sub }));
  await send(ofSubject);
  expect([await isSignedIn(again), await isSignedIn(other.jar)]).toEqual([false, true]);
  await signInAgain('three');
  expect([(await send(ofSubject)).status, await isSignedIn(again)]).toEqual([200, true]);
  expect((await send(await issuer.sign(claimsOf({ sid: 'three' })))).status).toBe(200);
  expect(await isSignedIn(again)).toBe(false);
  expect((await send(await issuer.sign(claimsOf({ sub: 'nobody' })))).status).toBe(200);
  const entries = await gateway.dependencies.sql.query(
    'select 1 from audit_entry where operation = $1 and detail = $2',
    ['signOut', 'OIDC'],
  );
  expect(entries.length).toBeGreaterThanOrEqual(3);
});

const NOW = Math.floor(Date.now() / 1000);
test.each<[string, JWTPayload]>([
  ['another issuer', { iss: 'http://other.example' }],
  ['another audience', { aud: 'other' }],
  ['no event', { events: undefined }],
  ['another event', { events: { other: {} } }],
  ['a nonce', { nonce: 'one' }],
  ['no subject and no session', { sub: undefined }],
  ['no id', { jti: undefined }],
  ['no expiry', { exp: undefined }],
  ['an expired token', { exp: NOW - 60 }],
  ['a token of the future', { iat: NOW + 3600, exp: NOW + 7200 }],
])('a token with %s ends nothing', async (_, change) => {
  const { sub, jar } = await person('session');
  const response = await send(await issuer.sign(claimsOf({ sub, ...change })));
  expect([response.status, await response.json()]).toEqual([400, { error: 'invalid_request' }]);
  expect(await isSignedIn(jar)).toBe(true);
});

test('neither does one that somebody else has signed, an ID token, text, nor any without OIDC_LOGOUT', async () => {
  const { sub, jar } = await person('session');
  const idToken = await issuer.sign({ ...claimsOf({ sub, nonce: 'one' }), events: undefined });
  for (const token of [await issuer.sign(claimsOf({ sub }), { isForeign: true }), idToken, 'text', ''])
    expect((await send(token)).status).toBe(400);
  expect((await send(await issuer.sign(claimsOf({ sub })), without)).status).toBe(404);
  expect(await isSignedIn(jar)).toBe(true);
});
