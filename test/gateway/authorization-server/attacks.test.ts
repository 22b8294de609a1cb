import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import {
  type ClientHost,
  authorizationQuery,
  authorize,
  connect,
  decide,
  exchangeCode,
  onwardOf,
  openAuthorization,
  pkce,
  refresh,
  sendForm,
  signedInBrowser,
  startClientHost,
} from '../../support/fixtures/oauth-flow.ts';
import { CookieJar } from '../../support/fixtures/company-sign-in.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let client: ClientHost;
let other: ClientHost;
beforeAll(async () => void ([client, other] = [await startClientHost(), await startClientHost()]));
afterAll(() => Promise.all([client.stop(), other.stop()]));

const BASE = 'http://127.0.0.1:4000';

const grantsOf = async (userId: string) =>
  (await gateway.dependencies.sql.query(`select id from api_key where user_id = $1 and kind = 'OAUTH_GRANT'`, [userId]))
    .length;

/** A person in front of the consent page. */
async function asked(changes: Readonly<Record<string, string>> = {}) {
  const person = await gateway.createKey();
  const jar = await signedInBrowser(gateway, person.key);
  const { verifier, challenge } = pkce();
  const consent = await openAuthorization(jar, authorizationQuery(client, challenge, changes));
  return { person, jar, verifier, consent, html: await (await jar.open(consent)).text() };
}

describe('an authorization request', () => {
  const open = async (query: URLSearchParams) => {
    const answer = await new CookieJar(gateway).open(`/oauth/authorize?${query}`);
    return { status: answer.status, location: answer.headers.get('location'), text: await answer.text() };
  };
  const query = (changes: Readonly<Record<string, string>> = {}) =>
    authorizationQuery(client, pkce().challenge, changes);
  const without = (name: string) => {
    const given = query();
    given.delete(name);
    return given;
  };

  sampled(test, 4).each([
    ['https://evil.example/callback'],
    ['https://client.example/callback/../evil'],
    ['https://client.example/callback?x=1'],
    ['https://client.example/callback#x'],
    ['https://client.example/callback/'],
    ['https://client.example:8443/callback'],
    ['https://client.example@evil.example/callback'],
    ['https://client.example.evil.example/callback'],
    ['HTTPS://CLIENT.EXAMPLE/callback'],
    ['http://client.example/callback'],
    ['https://client.example/CALLBACK'],
    ['https://client.example/callback%00'],
    ['//client.example/callback'],
    ['javascript:alert(1)'],
    [''],
  ])('never leads to %j', async (redirectUri) => {
    expect(await open(query({ redirect_uri: redirectUri }))).toMatchObject({ status: 400, location: null });
  });

  test('without redirect_uri or with two of them leads nowhere', async () => {
    expect(await open(without('redirect_uri'))).toMatchObject({ status: 400, location: null });
    const twice = query();
    twice.append('redirect_uri', 'https://evil.example/callback');
    expect(await open(twice)).toMatchObject({ status: 400, location: null });
    const clients = query();
    clients.append('client_id', other.clientId);
    expect(await open(clients)).toMatchObject({ status: 400, location: null });
  });

  test('needs PKCE with S256', async () => {
    const { verifier } = pkce();
    for (const given of [
      without('code_challenge'),
      query({ code_challenge: verifier, code_challenge_method: 'plain' }),
      (() => {
        const bare = query();
        bare.delete('code_challenge_method');
        return bare;
      })(),
      query({ code_challenge: 'short' }),
    ])
      expect(await open(given)).toMatchObject({
        status: 400,
        location: null,
        text: expect.stringMatching(/PKCE|code_challenge/),
      });
  });

  test('has one response type and one mode, and no script can read the answer', async () => {
    for (const type of ['token', 'id_token', 'code id_token', 'none', 'code token'])
      expect(await open(query({ response_type: type }))).toMatchObject({
        status: 400,
        location: null,
        text: expect.stringContaining('response_type'),
      });
    const fragment = await asked({ response_mode: 'fragment', request_uri: 'https://evil.example/', prompt: 'none' });
    const back = await fragment.jar.open(
      onwardOf(await (await decide(fragment.jar, fragment.consent, fragment.html)).text()),
    );
    const location = new URL(back.headers.get('location') ?? '');
    expect([location.hash, location.searchParams.get('iss')]).toEqual(['', BASE]);
  });

  test('names one resource of this gateway', async () => {
    for (const resource of [
      'https://other.example/mcp',
      `${BASE}/v1/organizations`,
      `${BASE}/`,
      `${BASE}/v1/users/me`,
      `${BASE}.evil.example/mcp`,
      `${BASE}/mcp#part`,
      `${BASE}/mcp?x=1`,
      `${BASE}/v1/sessions/x?y/mcp`,
      `${BASE}/v1/sessions/../mcp`,
      `${BASE}/v1/sessions/%2E%2e/mcp`,
      `${BASE}/v1/sessions/<b>/mcp`,
      `${BASE}//mcp`,
      'mcp',
    ])
      expect([resource, await open(query({ resource }))]).toEqual([
        resource,
        { status: 400, location: null, text: expect.stringContaining('resource') },
      ]);
    const several = query({ resource: `${BASE}/mcp` });
    several.append('resource', `${BASE}/v1/sessions`);
    expect(await open(several)).toMatchObject({ status: 400, location: null });
  });
});

describe('the page', () => {
  test('cannot be framed, runs no script, and shows text of others as text', async () => {
    client.document['client_name'] = '<img src=x onerror=alert(1)>\u202Eevil\n"';
    await gateway.dependencies.sql.query(`delete from oauth_artifact where kind = 'ClientDocument'`, []);
    const { jar, consent, html } = await asked();
    client.document['client_name'] = 'Test client';
    await gateway.dependencies.sql.query(`delete from oauth_artifact where kind = 'ClientDocument'`, []);
    expect(html).toContain('Connect &lt;img src=x onerror=alert(1)&gt;');
    expect(html).not.toContain('<script');
    const pages = [consent, '/oauth/device', '/oauth/authorize?client_id=x', '/oauth/consent/unknown'];
    for (const path of pages) {
      const { headers } = await jar.open(path);
      expect([path, headers.get('content-security-policy')]).toEqual([
        path,
        expect.stringContaining("frame-ancestors 'none'"),
      ]);
      expect(headers.get('content-security-policy')).toContain("form-action 'self'");
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    }
  });

  test('asks each time, also for a client that is connected already', async () => {
    const { person, jar, consent, html } = await asked();
    await decide(jar, consent, html);
    const again = await openAuthorization(jar, authorizationQuery(client, pkce().challenge, { prompt: 'none' }));
    expect(again).toMatch(/^\/oauth\/consent\//);
    expect(await grantsOf(person.userId)).toBe(1);
  });
});

test('several authorizations go on in one browser, whose cookies do not grow with them', async () => {
  const jar = await signedInBrowser(gateway, (await gateway.createKey()).key);
  const consents = [];
  for (let count = 0; count < 20; count += 1)
    consents.push(await openAuthorization(jar, authorizationQuery(client, pkce().challenge)));
  const statuses = await Promise.all(consents.map(async (path) => (await jar.open(path)).status));
  expect(statuses.filter((status) => status === 200)).toHaveLength(8);
  expect(jar.header.length).toBeLessThan(4096);
});

describe('the decision', () => {
  test('counts only in the browser in which the authorization was begun', async () => {
    const attack = await asked();
    const victim = await gateway.createKey();
    const jar = await signedInBrowser(gateway, victim.key);
    const shown = await jar.open(attack.consent);
    expect([shown.status, await shown.text()]).toEqual([400, expect.stringContaining('was not begun in this browser')]);
    expect((await decide(jar, attack.consent, attack.html)).status).toBe(400);
    // Neither beside an authorization of their own.
    const own = await openAuthorization(jar, authorizationQuery(client, pkce().challenge));
    expect([(await jar.open(own)).status, (await jar.open(attack.consent)).status]).toEqual([200, 400]);
    expect(await grantsOf(victim.userId)).toBe(0);
  });

  test('counts only from the sign-in that was asked', async () => {
    const { jar, consent, html, person } = await asked();
    const next = await gateway.createKey({ organization: person.organization });
    await jar.open('/sign-in', { method: 'POST', body: new URLSearchParams({ key: next.key }) });
    expect((await decide(jar, consent, html)).status).toBe(403);
    expect([await grantsOf(person.userId), await grantsOf(next.userId)]).toEqual([0, 0]);
  });

  test('counts only from a page of the gateway, and with what it was shown', async () => {
    const { jar, consent, html, person } = await asked();
    const body = () => new URLSearchParams({ decision: 'allow', organization: person.organizationId });
    for (const headers of [{ 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }])
      expect((await jar.open(consent, { method: 'POST', body: body(), headers })).status).toBe(403);
    expect((await jar.open(consent, { method: 'POST', body: body() })).status).toBe(403);
    const second = await openAuthorization(jar, authorizationQuery(client, pkce().challenge));
    expect((await decide(jar, second, html)).status).toBe(403);
    expect((await jar.open(`${consent}?decision=allow`)).status).toBe(200);
    expect(await grantsOf(person.userId)).toBe(0);
  });

  test('is made once, also by two requests at once', async () => {
    const { jar, consent, html, person } = await asked();
    const answers = await Promise.all([1, 2, 3].map(() => decide(jar, consent, html)));
    expect(answers.map(({ status }) => status).toSorted((one, another) => one - another)).toEqual([200, 400, 400]);
    expect(await grantsOf(person.userId)).toBe(1);
  });

  test('is for an organization of the person, and gives no scope that the sign-in lacks', async () => {
    const stranger = await gateway.createKey();
    const { jar, consent, html, person } = await asked();
    const moved = html.replaceAll(person.organizationId, stranger.organizationId);
    expect((await decide(jar, consent, moved)).status).toBe(403);
    expect(await grantsOf(person.userId)).toBe(0);
    const weak = await gateway.createKey({ scopes: ['sessions.read', 'organizations.write'] });
    const scope = 'sessions.read sessions.record organizations.write api_keys.write';
    const tokens = await connect(gateway, client, weak.key, { resource: `${BASE}/v1/sessions`, scope });
    expect(tokens.scope).toBe('sessions.read');
    const none = await gateway.createKey({ scopes: ['api_keys.read'] });
    const jarOfNone = await signedInBrowser(gateway, none.key);
    const refused = await jarOfNone.open(
      await openAuthorization(jarOfNone, authorizationQuery(client, pkce().challenge)),
    );
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining('The app asks for no permission that you can give here'),
    ]);
    expect(await grantsOf(none.userId)).toBe(0);
  });

  test('does not count when the sign-in, the membership or the key has ended meanwhile', async () => {
    const { sql } = gateway.dependencies;
    const revoked = await asked();
    await gateway.rest('DELETE', `/v1/api-keys/${revoked.person.keyId}`, { key: revoked.person.key });
    expect((await decide(revoked.jar, revoked.consent, revoked.html)).status).toBe(403);
    const removed = await asked();
    await sql.query('delete from membership where user_id = $1', [removed.person.userId]);
    expect((await decide(removed.jar, removed.consent, removed.html)).status).toBe(403);
    expect([await grantsOf(revoked.person.userId), await grantsOf(removed.person.userId)]).toEqual([0, 0]);
  });

  test('that nobody continues in another browser gives no code there', async () => {
    const { jar, consent, html } = await asked();
    const onward = onwardOf(await (await decide(jar, consent, html)).text());
    expect((await new CookieJar(gateway).open(onward)).status).toBe(400);
    const back = await jar.open(onward);
    expect(back.status).toBe(303);
    expect((await jar.open(onward)).status).toBe(400);
  });

  test('is what ends an authorization: who goes on before it comes back to the page', async () => {
    const { jar, consent, html, person } = await asked();
    const onward = consent.replace('/consent/', '/authorize/');
    const early = await jar.open(onward);
    expect([early.status, early.headers.get('location'), early.headers.get('set-cookie')]).toEqual([
      303,
      consent,
      null,
    ]);
    expect((await jar.open(consent)).status).toBe(200);
    const decided = await decide(jar, consent, html);
    expect([decided.status, onwardOf(await decided.text())]).toEqual([200, onward]);
    const back = await jar.open(onward);
    expect(new URL(back.headers.get('location') ?? '').searchParams.get('code')).toEqual(expect.any(String));
    expect(await grantsOf(person.userId)).toBe(1);
  });
});

describe('a code', () => {
  const codeOf = async (changes: Readonly<Record<string, string>> = {}) => {
    const person = await gateway.createKey();
    const jar = await signedInBrowser(gateway, person.key);
    const { verifier, challenge } = pkce();
    const answer = await authorize(jar, authorizationQuery(client, challenge, changes));
    return { person, verifier, code: answer.get('code') ?? '' };
  };
  const error = async (...given: Parameters<typeof exchangeCode>) => (await exchangeCode(...given)).body.error;

  test('is for its client, its address, its verifier and its resource', async () => {
    const { code, verifier } = await codeOf();
    expect(await error(gateway, other, { code, verifier })).toBe('invalid_grant');
    expect(await error(gateway, { ...client, clientId: 'unknown' }, { code, verifier })).toBe('invalid_client');
    expect(await error(gateway, { ...client, redirectUri: 'https://evil.example/' }, { code, verifier })).toBe(
      'invalid_grant',
    );
    expect(await error(gateway, client, { code, verifier: pkce().verifier })).toBe('invalid_grant');
    const bare = {
      grant_type: 'authorization_code',
      client_id: client.clientId,
      redirect_uri: client.redirectUri,
      code,
    };
    expect((await sendForm(gateway, '/oauth/token', bare)).body.error).toBe('invalid_grant');
    expect(await error(gateway, client, { code, verifier, resource: `${BASE}/v1/sessions` })).toBe('invalid_target');
    expect((await exchangeCode(gateway, client, { code, verifier })).status).toBe(200);
  });

  test('used twice ends the grant', async () => {
    const { code, verifier } = await codeOf();
    const first = await exchangeCode(gateway, client, { code, verifier });
    expect(await error(gateway, client, { code, verifier })).toBe('invalid_grant');
    expect((await refresh(gateway, client.clientId, first.body.refresh_token)).body.error).toBe('invalid_grant');
  });

  test('used twice at once gives one answer', async () => {
    const { code, verifier } = await codeOf();
    const answers = await Promise.all([1, 2].map(() => exchangeCode(gateway, client, { code, verifier })));
    expect(answers.map(({ status }) => status).toSorted((one, another) => one - another)).toEqual([200, 400]);
  });

  test('lasts for a minute', async () => {
    const { code, verifier } = await codeOf();
    gateway.setClock(new Date(Date.now() + 61_000));
    expect(await error(gateway, client, { code, verifier })).toBe('invalid_grant');
    gateway.setClock(undefined);
  });
});

test('nobody ends the grant of another client', async () => {
  const person = await gateway.createKey();
  const tokens = await connect(gateway, client, person.key);
  for (const token of [tokens.access_token, tokens.refresh_token])
    expect((await sendForm(gateway, '/oauth/revoke', { client_id: other.clientId, token })).status).toBe(200);
  expect((await refresh(gateway, client.clientId, tokens.refresh_token)).status).toBe(200);
  expect(
    (await sendForm(gateway, '/oauth/token', { grant_type: 'password', client_id: client.clientId })).body.error,
  ).toBe('unsupported_grant_type');
});
