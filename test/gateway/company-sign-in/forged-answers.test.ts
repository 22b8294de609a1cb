import type { ServerResponse } from 'node:http';
import { UnsecuredJWT } from 'jose';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/core/config.ts';
import { CompanySignIn } from '../../../src/gateway/company-sign-in.ts';
import { CALLBACK, CookieJar, begin, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { type ForgingIssuer, startForgingIssuer } from '../../support/peers/forging-issuer.ts';
import type { Peer } from '../../support/peers/mcp-server.ts';
import { sampled } from '../../support/sample.ts';

const issuer: ForgingIssuer = await startForgingIssuer();
const gateway = await startTestGateway(issuer.env, { bounds: { requestsOfClient: Infinity } });

afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});

beforeEach(() => {
  Object.assign(issuer, { claims: {}, refusal: undefined, tokenFor: (claims: object) => issuer.sign({ ...claims }) });
});

const PERSON = { email: 'one@example.com', email_verified: true };

async function titleOf(response: Response): Promise<string> {
  return /<h1>([^<]*)<\/h1>/.exec(await response.text())?.[1] ?? '';
}

const countOf = async (table: string) => {
  const [row] = await gateway.dependencies.sql.query<{ count: string }>(`select count(*) from ${table}`, []);
  return Number(row?.count);
};

/** The page of an answer, and what it has left behind. */
const outcomeOf = async (jar: CookieJar, response: Response) => ({
  page: [response.status, await titleOf(response)],
  set: response.headers.getSetCookie(),
  kept: [...jar.cookies.keys()],
  identities: await countOf('identity'),
});

/** The page with this title; nobody is signed in, and the attempt has ended. */
const refused = (status: number, title: string) => ({
  page: [status, title],
  set: [expect.stringMatching(/^workspace_sign_in_\d=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/)],
  kept: [],
  identities: 0,
});

/** The page of an answer that belongs to no open attempt; those of the browser stay. */
const lost = (kept: readonly string[]) => ({
  page: [400, 'This sign-in was not begun in this browser, or more than 10 minutes ago'],
  set: [],
  kept,
  identities: 0,
});

const UNTRUSTED = 'The answer of your identity provider cannot be trusted';

describe('an ID token is refused', () => {
  const at = () => Math.floor(Date.now() / 1000);
  sampled(test, 5).each<[string, () => object]>([
    ['of another issuer', () => ({ iss: 'http://other.example' })],
    ['for another client', () => ({ aud: 'other' })],
    ['for several clients, without azp', () => ({ aud: ['gateway', 'other'] })],
    ['for several clients, with the azp of another one', () => ({ aud: ['gateway', 'other'], azp: 'other' })],
    ['with the azp of another client', () => ({ azp: 'other' })],
    ['with another nonce', () => ({ nonce: 'other' })],
    ['without a nonce', () => ({ nonce: undefined })],
    ['that has expired', () => ({ exp: at() - 60, iat: at() - 120 })],
    ['without an expiry', () => ({ exp: undefined })],
    ['that is not valid yet', () => ({ nbf: at() + 600 })],
    ['without a subject', () => ({ sub: undefined })],
    ['with an empty subject', () => ({ sub: '' })],
    ['with a subject of 256 characters', () => ({ sub: 'x'.repeat(256) })],
    ['with NUL in the subject', () => ({ sub: 'a\0b' })],
    ['with a line break in the subject', () => ({ sub: 'a\nb' })],
    ['with half of a character in the subject', () => ({ sub: 'a\uD800' })],
  ])('%s', async (_, change) => {
    const jar = new CookieJar(gateway);
    expect(await outcomeOf(jar, await signInAs(jar, issuer, { ...PERSON, ...change() }))).toEqual(
      refused(502, UNTRUSTED),
    );
  });

  test.each<[string, ForgingIssuer['tokenFor']]>([
    ['with alg none', async (claims) => new UnsecuredJWT(claims).encode()],
    ['signed with a key of another issuer', (claims) => issuer.sign(claims, { isForeign: true })],
    [
      'whose claims were changed after it was signed',
      async (claims) => {
        const [header, , signature] = (await issuer.sign(claims)).split('.');
        const changed = Buffer.from(JSON.stringify({ ...claims, sub: 'two' })).toString('base64url');
        return [header, changed, signature].join('.');
      },
    ],
    ['that is no token', async () => 'no token'],
  ])('%s', async (_, tokenFor) => {
    issuer.tokenFor = tokenFor;
    const jar = new CookieJar(gateway);
    expect(await outcomeOf(jar, await signInAs(jar, issuer, PERSON))).toEqual(refused(502, UNTRUSTED));
  });
});

describe('a callback is refused', () => {
  test('with the state of another browser, without a state, with two, and without a cookie; and nothing is sent to the provider', async () => {
    const [jar, other] = [new CookieJar(gateway), new CookieJar(gateway)];
    const [own, foreign] = [await begin(jar, issuer), await begin(other, issuer)];
    const kept = [...jar.cookies.keys()];
    issuer.tokenRequests.length = 0;
    const two = new URLSearchParams(own);
    two.append('state', own.get('state') ?? '');
    const none = new URLSearchParams({ code: 'one', iss: issuer.issuer });
    for (const answer of [foreign, two, none])
      expect(await outcomeOf(jar, await jar.open(`${CALLBACK}?${answer}`))).toEqual(lost(kept));
    const empty = new CookieJar(gateway);
    expect(await outcomeOf(empty, await empty.open(`${CALLBACK}?${own}`))).toEqual(lost([]));
    expect(issuer.tokenRequests).toEqual([]);
  });

  test('after 10 minutes', async () => {
    const jar = new CookieJar(gateway);
    const answer = await begin(jar, issuer);
    gateway.setClock(new Date(Date.now() + 10 * 60_000 + 1));
    expect(await outcomeOf(jar, await jar.open(`${CALLBACK}?${answer}`))).toEqual(lost([...jar.cookies.keys()]));
    gateway.setClock(undefined);
  });

  test('with the iss of another issuer, and without the iss that the metadata promise', async () => {
    for (const iss of ['http://other.example', undefined]) {
      const jar = new CookieJar(gateway);
      const answer = await begin(jar, issuer);
      if (iss === undefined) answer.delete('iss');
      else answer.set('iss', iss);
      expect(await outcomeOf(jar, await jar.open(`${CALLBACK}?${answer}`))).toEqual(refused(502, UNTRUSTED));
    }
  });

  test.each([
    ['access_denied', 403, 'Your identity provider has refused the sign-in'],
    ['login_required', 403, 'Your identity provider has refused the sign-in'],
    ['unauthorized_client', 502, 'Your identity provider does not accept this gateway'],
    ['temporarily_unavailable', 502, 'Your identity provider does not answer'],
    ['<script>alert(1)</script>', 502, 'Your identity provider does not accept this gateway'],
  ])('with the error %s, whose text is on no page', async (error, status, title) => {
    const jar = new CookieJar(gateway);
    const { state } = Object.fromEntries(await begin(jar, issuer));
    const description = '<img src=x onerror=alert(1)>\r\nSet-Cookie: a=b';
    const answer = new URLSearchParams({
      error,
      error_description: description,
      state: state ?? '',
      iss: issuer.issuer,
    });
    const response = await jar.open(`${CALLBACK}?${answer}`);
    const html = await response.clone().text();
    expect(html).not.toMatch(/<img src=x|alert\(1\)/);
    expect(await outcomeOf(jar, response)).toEqual(refused(status, title));
  });

  sampled(test, 3).each([
    [400, { error: 'invalid_grant' }, 400, 'This sign-in was completed before, or took too long'],
    [401, { error: 'invalid_client' }, 502, 'Your identity provider does not accept this gateway'],
    [503, { error: 'server_error' }, 502, 'Your identity provider does not answer'],
    [503, {}, 502, 'Your identity provider does not answer'],
    [408, {}, 502, 'Your identity provider does not answer'],
    [429, {}, 502, 'Your identity provider does not answer'],
    [429, { error: 'slow_down' }, 502, 'Your identity provider does not answer'],
    [200, {}, 502, UNTRUSTED],
    [302, {}, 502, UNTRUSTED],
  ])('when the token endpoint answers %i %o', async (tokenStatus, body, status, title) => {
    issuer.refusal = { status: tokenStatus, body };
    const jar = new CookieJar(gateway);
    expect(await outcomeOf(jar, await signInAs(jar, issuer, PERSON))).toEqual(refused(status, title));
  });

  test('when the token endpoint refuses the secret as RFC 6749, section 5.2, demands', async () => {
    const headers = { 'WWW-Authenticate': 'Basic realm="provider"' };
    issuer.refusal = { status: 401, body: { error: 'invalid_client' }, headers };
    const jar = new CookieJar(gateway);
    gateway.logged.length = 0;
    const response = await signInAs(jar, issuer, PERSON);
    expect(await outcomeOf(jar, response)).toEqual(refused(502, 'Your identity provider does not accept this gateway'));
    const line = gateway.logged.find((each) => each.includes('a sign-in with the identity provider failed'));
    expect(line).toContain('WWW-Authenticate');
    expect(line).not.toContain('stack');
  });
});

describe('an answer that is too large has a page that says what to do:', () => {
  const PAGE = 'The answer of your identity provider is too large';
  test('the tokens', async () => {
    issuer.refusal = { status: 200, body: { id_token: 'x'.repeat(1024 * 1024) } };
    const jar = new CookieJar(gateway);
    const answered = await signInAs(jar, issuer, PERSON);
    expect(await answered.clone().text()).toContain('send fewer claims');
    expect(await outcomeOf(jar, answered)).toEqual(refused(502, PAGE));
  });

  test('the metadata, which do not stop the start', async () => {
    const other = await startForgingIssuer();
    const started = await startTestGateway(other.env, { beside: gateway });
    for (const metadata of [{ claims_supported: ['x'.repeat(1024 * 1024)] }, { 'x-headers': true }]) {
      const { handler } = other.peer;
      if ('x-headers' in metadata)
        other.peer.handler = (_request, response) =>
          void response.writeHead(200, { 'X-Large': 'x'.repeat(64 * 1024) }).end('{}');
      else other.metadata = metadata;
      await new CompanySignIn(started.dependencies).check();
      const response = await new CookieJar(started).open('/sign-in/oidc');
      expect([response.status, await titleOf(response)]).toEqual([502, PAGE]);
      other.peer.handler = handler;
    }
    await started.close();
    await other.stop();
  });
});

test('of five attempts in one browser, the newest four can be completed, in any order', async () => {
  const jar = new CookieJar(gateway);
  const answers: URLSearchParams[] = [];
  for (let count = 0; count < 5; count += 1) {
    gateway.setClock(new Date(Date.now() + count));
    answers.push(await begin(jar, issuer, `/tab-${count}`));
  }
  gateway.setClock(undefined);
  issuer.claims = { ...PERSON, sub: 'tabs', email: 'tabs@example.com' };
  const pages = [];
  for (const answer of answers.toReversed()) pages.push(await (await jar.open(`${CALLBACK}?${answer}`)).text());
  const targets = pages.map((html) => /<a class="button wide next" href="([^"]*)"/.exec(html)?.[1]);
  expect(targets).toEqual(['/tab-4', '/tab-3', '/tab-2', '/tab-1', undefined]);
  await gateway.dependencies.sql.query('delete from identity', []);
});

test('of two callbacks at once one signs in, and none does later, although the provider would accept the code again', async () => {
  const jar = new CookieJar(gateway);
  const answer = await begin(jar, issuer);
  issuer.claims = PERSON;
  issuer.tokenRequests.length = 0;
  const cookies = jar.header;
  const call = () => gateway.fetch(`${CALLBACK}?${answer}`, { headers: { Cookie: cookies }, redirect: 'manual' });
  const statuses = (await Promise.all([call(), call(), call()])).map(({ status }) => status);
  expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 400, 400]);
  expect((await call()).status).toBe(400);
  expect(issuer.tokenRequests).toHaveLength(1);
  expect(await countOf('identity')).toBe(1);
});

sampled(test, 4).each([
  ['/sessions?state=queued#event-7', '/sessions?state=queued#event-7'],
  ['//evil.example', '/'],
  ['/\\evil.example', '/'],
  ['/%5Cevil.example', '/%5Cevil.example'],
  ['/.//evil.example', '/evil.example'],
  ['/\t/evil.example', '/'],
  ['https://evil.example/', '/'],
  ['javascript:alert(1)', '/'],
  ['/"><script>alert(1)</script>', '/%22%3E%3Cscript%3Ealert(1)%3C/script%3E'],
  ['/a\r\nSet-Cookie: a=b', '/aSet-Cookie:%20a=b'],
  [`/${'a'.repeat(1999)}`, `/${'a'.repeat(1999)}`],
  [`/${'a'.repeat(2000)}`, '/'],
  [`/${'ü'.repeat(1000)}`, '/'],
  ['', '/'],
  ['/sign-in/oidc?next=/sessions', '/'],
  ['/.//sign-in', '/'],
])('the page after a sign-in leads to a page of the gateway only: next=%j', async (next, target) => {
  const jar = new CookieJar(gateway);
  const answer = await begin(jar, issuer, next);
  issuer.claims = PERSON;
  const response = await jar.open(`${CALLBACK}?${answer}`);
  expect(response.status).toBe(200);
  const html = await response.text();
  const link = /<a class="button wide next" href="([^"]*)"/.exec(html)?.[1] ?? '';
  const refresh = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(html)?.[1];
  expect(refresh).toBe(link);
  expect(new URL(link, 'http://gateway.example').host).toBe('gateway.example');
  expect(link).toBe(target);
  expect(response.headers.get('content-security-policy')).toContain("script-src 'self'");
});

describe('at the start, discovery', () => {
  const check = async (answer: Peer['handler'], outbound = {}) => {
    const other = await startForgingIssuer();
    other.peer.handler = answer;
    const started = await startTestGateway(other.env, { beside: gateway, outbound });
    const outcome = await new CompanySignIn(started.dependencies).check().then(
      () => 'starts',
      (error: unknown) => (error instanceof ConfigurationError ? 'stops' : error),
    );
    await started.close();
    await other.stop();
    return outcome;
  };
  const answerWith = (status: number, body: string, type: string) => (_: unknown, response: ServerResponse) =>
    void response.writeHead(status, { 'Content-Type': type }).end(body);
  const METADATA = { issuer: 'http://other.example', response_types_supported: ['code'] };

  sampled(test, 2).each<[string, number, string, string]>([
    ['starts', 408, 'application/json', '{}'],
    ['starts', 429, 'text/plain', 'slow down'],
    ['starts', 500, 'text/plain', ''],
    ['starts', 403, 'text/html', '<p>'],
    ['starts', 200, 'text/html', '<p>Maintenance</p>'],
    ['starts', 200, 'application/json', '{"issuer":'],
    ['stops', 404, 'text/html', '<p>'],
    ['stops', 200, 'application/json', JSON.stringify(METADATA)],
  ])('%s the gateway when the provider answers %i with %s %j', async (outcome, status, type, body) => {
    expect(await check(answerWith(status, body, type))).toBe(outcome);
  });

  test('starts the gateway when the provider stops in the middle of its answer', async () => {
    const controller = new AbortController();
    const handler: Peer['handler'] = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"issuer":', () => {
        controller.abort(new DOMException('late', 'TimeoutError'));
      });
    };
    expect(await check(handler, { deadlineAfter: () => controller.signal })).toBe('starts');
  });
});
