import { afterAll, expect, test } from 'vitest';
import { readConfig } from '../../../src/core/config.ts';
import { CompanySignIn } from '../../../src/gateway/company-sign-in.ts';
import { runCommand } from '../../../src/operator/commands.ts';
import { CALLBACK, CookieJar, logIn } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { startIdentityProvider } from '../../support/peers/identity-provider.ts';
import { sampled } from '../../support/sample.ts';

const REDIRECT = `http://gateway.example${CALLBACK}`;
const provider = await startIdentityProvider(() => REDIRECT);
const env = { ...provider.env, PUBLIC_URL: 'http://gateway.example' };
const gateway = await startTestGateway({
  ...env,
  OIDC_ORGANIZATION: 'company',
  OIDC_DEFAULT_ROLE: 'member',
  OIDC_GROUPS_CLAIM: 'groups',
  OIDC_ADMIN_GROUPS: 'Admins',
});
const { keyId: ownerKeyId, key: ownerKey } = await gateway.createKey({ organization: 'company' });

afterAll(async () => {
  await gateway.close();
  await provider.stop();
});

/** Signs in up to the callback. */
async function begin(login: string, { next = '/', jar = new CookieJar(gateway) } = {}) {
  const started = await jar.open(`/sign-in/oidc?next=${encodeURIComponent(next)}`);
  expect(started.status).toBe(303);
  const { search } = await logIn(started.headers.get('location') ?? '', { login });
  return { jar, search };
}

async function signIn(login: string, options = {}) {
  const { jar, search } = await begin(login, options);
  const response = await jar.open(CALLBACK + search);
  return { jar, response, html: await response.text(), search };
}

const viewerOf = (jar: CookieJar) =>
  jar.viewer<{ user: { databaseId: string; email: string }; role: string }>('user { databaseId email } role');

test('a person signs in with the provider, again in another browser, and signs out of one of them', async () => {
  provider.people.set('ada', { email: 'Ada@example.com', email_verified: true, name: 'Ada', groups: ['Admins'] });
  const first = await signIn('ada', { next: '/sessions?state=queued' });
  expect(first.response.status).toBe(200);
  expect(first.html).toContain('http-equiv="refresh" content="0;url=/sessions?state=queued"');
  const cookies = first.response.headers.getSetCookie();
  expect(cookies).toEqual([
    expect.stringMatching(/^workspace_sign_in_\d=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/),
    expect.stringMatching(/^workspace_session=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/),
  ]);
  const viewer = await viewerOf(first.jar);
  expect(viewer).toMatchObject({ user: { email: 'ada@example.com' }, role: 'ADMIN' });
  const second = await signIn('ada');
  expect(await viewerOf(second.jar)).toEqual(viewer);
  const copy = first.jar.header;
  expect((await first.jar.open('/sign-out', { method: 'POST' })).status).toBe(303);
  const reused = await gateway.fetch('/v1/users/me', { headers: { Cookie: copy, 'Sec-Fetch-Site': 'same-origin' } });
  expect(reused.status).toBe(401);
  expect(await viewerOf(second.jar)).toEqual(viewer);
  expect((await gateway.rest('GET', '/v1/api-keys?includeRevoked=true', { key: ownerKey })).body).toMatchObject({
    items: [{ id: ownerKeyId }],
  });
  const logs = gateway.logged.join();
  for (const secret of [provider.env['OIDC_CLIENT_SECRET'] ?? '', new URLSearchParams(first.search).get('code') ?? ''])
    expect(logs).not.toContain(secret);
});

test('a sign-in ends after 12 hours', async () => {
  const { jar } = await signIn('ada');
  gateway.setClock(new Date(Date.now() + 12 * 3_600_000 - 60_000));
  expect((await jar.open('/v1/users/me')).status).toBe(200);
  gateway.setClock(new Date(Date.now() + 12 * 3_600_000 + 60_000));
  expect((await jar.open('/v1/users/me')).status).toBe(401);
  gateway.setClock(undefined);
});

test('the provider refuses a code that was used, which nobody else is signed in with', async () => {
  const { jar, search } = await signIn('ada');
  const before = await viewerOf(jar);
  const again = await jar.open(CALLBACK + search);
  expect(again.status).toBe(400);
  expect(await viewerOf(jar)).toEqual(before);
});

test('while the provider takes long, 50 people who sign in at once hold up nobody else', async () => {
  let answerAll = () => {};
  const held = new Promise<void>((resolve) => (answerAll = resolve));
  let waiting = 0;
  const all = new Promise<void>((resolve) => {
    provider.beforeToken = () => {
      waiting += 1;
      if (waiting === 50) resolve();
      return held;
    };
  });
  const people = Array.from({ length: 50 }, (_, index) => `person-${index}`);
  for (const name of people) provider.people.set(name, { email: `${name}@example.com`, email_verified: true });
  const begun = await Promise.all(people.map((name) => begin(name)));
  const signIns = begun.map(({ jar, search }) => jar.open(CALLBACK + search));
  await all;
  const settled: unknown[] = [];
  for (const each of signIns) void each.then((one) => settled.push(one));
  // All 50 wait for the provider, and no connection of the database does.
  const pool = await gateway.dependencies.database.driver.getConnection().getNativeClient();
  expect(pool.totalCount - pool.idleCount).toBe(0);
  const others = await Promise.all(
    people
      .slice(0, 10)
      .flatMap(() => [
        gateway.rest('GET', '/v1/users/me', { key: ownerKey }),
        gateway.fetch('/sign-in/oidc', { redirect: 'manual' }),
        gateway.fetch('/sign-in', { method: 'POST', body: new URLSearchParams({ key: ownerKey }), redirect: 'manual' }),
      ]),
  );
  const answered = Map.groupBy(others, ({ status }) => status);
  expect([answered.get(200)?.length, answered.get(303)?.length, settled.length]).toEqual([10, 20, 0]);
  answerAll();
  for (const { status } of await Promise.all(signIns)) expect(status).toBe(200);
  provider.beforeToken = async () => {};
});

test('attempts of a client address are limited', async () => {
  const statuses = [];
  for (const path of ['/sign-in/oidc', CALLBACK])
    for (let count = 0; count < 61; count += 1) {
      const request = new Request(new URL(path, 'http://gateway.example'));
      statuses.push(
        (await gateway.fetch(Object.assign(request, { peerAddress: '198.51.100.7', hasArrived: true }))).status,
      );
    }
  const sixty = (status: number) => Array.from({ length: 60 }, () => status);
  expect(statuses).toEqual([...sixty(303), 429, ...sixty(400), 429]);
});

test('a provider that is away has a page, does not stop the start, and works once it is back', async () => {
  const away = await startIdentityProvider(() => REDIRECT);
  const { handler } = away.peer;
  away.peer.handler = (request) => void request.socket.destroy();
  const other = await startTestGateway({ ...env, ...away.env }, { beside: gateway });
  await new CompanySignIn(other.dependencies).check();
  const jar = new CookieJar(other);
  const refused = await jar.open('/sign-in/oidc');
  expect([refused.status, await refused.text()]).toEqual([502, expect.stringContaining('does not answer')]);
  away.peer.handler = handler;
  expect((await jar.open('/sign-in/oidc')).status).toBe(303);
  await other.close();
  await away.stop();
});

test('a HEAD request neither begins nor completes an attempt', async () => {
  const jar = new CookieJar(gateway);
  const started = await jar.open('/sign-in/oidc', { method: 'HEAD' });
  expect([started.status, started.headers.get('set-cookie')]).toEqual([204, null]);
  expect((await jar.open(`${CALLBACK}?code=1&state=2`, { method: 'HEAD' })).status).toBe(204);
});

test('with OIDC_ONLY keys sign no browser in, but a link of the operator does, once within 10 minutes', async () => {
  const only = await startTestGateway({ ...env, OIDC_ONLY: 'true' }, { beside: gateway });
  const page = await (await new CookieJar(only).open('/sign-in')).text();
  expect(page).toContain('Sign in with Example');
  expect(page).not.toContain('name="key"');
  const { key, email } = await gateway.createKey();
  const jar = new CookieJar(only);
  const body = new URLSearchParams({ key });
  const refused = await jar.open('/sign-in', { method: 'POST', body });
  expect([refused.status, [...jar.cookies]]).toEqual([403, []]);
  expect((await jar.open('/sign-in', { method: 'POST', body: JSON.stringify({ key }) })).status).toBe(403);

  const create = async () => {
    const answer = await runCommand(only.dependencies, { name: 'sign-in link', email }, { progress: process.stderr });
    return new URL((answer as { url: string }).url);
  };
  const { pathname, search } = await create();
  expect((await jar.open(pathname + search, { method: 'HEAD' })).status).toBe(204);
  expect((await jar.open(pathname + search)).status).toBe(200);
  expect((await viewerOf(jar)).user.email).toBe(email);
  expect((await new CookieJar(only).open(pathname + search)).status).toBe(401);
  const late = await create();
  only.setClock(new Date(Date.now() + 10 * 60_000 + 1));
  expect((await new CookieJar(only).open(late.pathname + late.search)).status).toBe(401);
  await only.close();
});

test('without a provider there is no such page', async () => {
  const without = await startTestGateway({}, { beside: gateway });
  expect((await new CookieJar(without).open('/sign-in/oidc')).status).toBe(404);
  expect((await new CookieJar(without).open(CALLBACK)).status).toBe(404);
  await without.close();
});

const ISSUER = {
  OIDC_ISSUER: 'https://id.example.com',
  OIDC_CLIENT_ID: 'a',
  OIDC_CLIENT_SECRET: 'b',
  OIDC_DOMAINS: 'example.com',
};

sampled(test, 5).each<[Record<string, string>, string]>([
  [{ OIDC_CLIENT_ID: 'a' }, 'OIDC_ISSUER: is required with OIDC_CLIENT_ID'],
  [{ OIDC_ONLY: 'true' }, 'OIDC_ISSUER: is required with OIDC_ONLY'],
  [{ OIDC_KEYS_SLEEP_AFTER: '9' }, 'OIDC_ISSUER: is required with OIDC_KEYS_SLEEP_AFTER'],
  [
    { ...ISSUER, OIDC_ISSUER: 'ftp://id.example.com' },
    'OIDC_ISSUER: must be an https URL without user, query and fragment',
  ],
  [
    { ...ISSUER, OIDC_ISSUER: 'https://id.example.com/?a=b' },
    'OIDC_ISSUER: must be an https URL without user, query and fragment',
  ],
  [
    { ...ISSUER, OIDC_ISSUER: 'http://id.example.com' },
    'OIDC_ISSUER: must be an https URL; http is allowed only with ALLOW_PRIVATE_NETWORK=true',
  ],
  [{ ...ISSUER, OIDC_CLIENT_SECRET: '' }, 'OIDC_CLIENT_SECRET: is required with OIDC_ISSUER'],
  [{ ...ISSUER, OIDC_DOMAINS: '' }, 'OIDC_DOMAINS: is required with OIDC_ISSUER'],
  [
    { ...ISSUER, OIDC_DOMAINS: 'example.com,' },
    'OIDC_DOMAINS: must be domains such as example.com, separated by commas',
  ],
  [
    { ...ISSUER, OIDC_DOMAINS: '@example.com' },
    'OIDC_DOMAINS: must be domains such as example.com, separated by commas',
  ],
  [{ ...ISSUER, OIDC_DEFAULT_ROLE: 'admin' }, 'OIDC_DEFAULT_ROLE: must be member or none'],
  [{ ...ISSUER, OIDC_DEFAULT_ROLE: 'member' }, 'OIDC_ORGANIZATION: is required with OIDC_DEFAULT_ROLE=member'],
  [{ ...ISSUER, OIDC_ORGANIZATION: 'My company' }, 'OIDC_ORGANIZATION: must be the slug of an organization'],
  [{ ...ISSUER, OIDC_ADMIN_GROUPS: 'a' }, 'OIDC_ORGANIZATION: is required with OIDC_ADMIN_GROUPS'],
  [{ ...ISSUER, OIDC_VIEWER_GROUPS: 'a' }, 'OIDC_ORGANIZATION: is required with OIDC_VIEWER_GROUPS'],
  [{ ...ISSUER, OIDC_EMAIL: 'yes' }, 'OIDC_EMAIL: must be verified or trusted'],
  [{ ...ISSUER, OIDC_ONLY: '1' }, 'OIDC_ONLY: must be true or false'],
  [{ ...ISSUER, OIDC_KEYS_SLEEP_AFTER: '-1' }, 'OIDC_KEYS_SLEEP_AFTER: must be a whole number of days from 0 to 36500'],
])('%o is refused at the start', (given, message) => {
  expect(() => readConfig(given)).toThrow(message);
});
