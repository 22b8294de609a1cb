import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createSecretBox, parseEncryptionKeys } from '../../../src/core/secrets/secrets.ts';
import { generateApiKey } from '../../../src/domains/api-keys/key-format.ts';
import { createSignInLink } from '../../../src/domains/identities/public.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock } from '../../support/fixtures/locks.ts';
import { NOTIFICATIONS_ONLY, startListening } from '../../support/fixtures/notifications.ts';
import { EventStream, append, createSession, eventsOf } from '../../support/fixtures/sessions.ts';

const gateway = useOwnGateway({ PUBLIC_URL: 'http://gateway.example' });

const SAME_ORIGIN = { 'Sec-Fetch-Site': 'same-origin' };
const PLACE = { table: 'browser_sign_in', row: 'cookie', field: 'id' };
const VIEWER = '{ viewer { organization { slug } } }';

/** Sends the form of the sign-in page. */
const submit = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  gateway.fetch('/sign-in', { method: 'POST', body: new URLSearchParams(fields), headers });

const cookieIn = (response: Response) => response.headers.get('set-cookie')?.split(';')[0] ?? '';

async function signIn(): Promise<{ cookie: string; key: string; keyId: string; organization: string }> {
  const { key, keyId, organization } = await gateway.createKey();
  return { cookie: cookieIn(await submit({ key })), key, keyId, organization };
}

async function askAs(cookie: string, headers: Record<string, string> = SAME_ORIGIN) {
  const response = await gateway.fetch('/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json', Cookie: cookie, ...headers },
    body: JSON.stringify({ query: VIEWER }),
  });
  return { status: response.status, body: await response.json() };
}

const answerOf = (slug: string) => ({
  status: 200,
  body: expect.objectContaining({ data: { viewer: { organization: { slug } } } }),
});
const REFUSED = { status: 401, body: expect.objectContaining({ errors: [expect.anything()] }) };

describe('signing in', () => {
  test('sets an encrypted cookie with the id of the key, which scripts and other sites cannot read', async () => {
    const { key, keyId } = await gateway.createKey();
    const response = await submit({ key, next: '/sessions' });
    expect([response.status, response.headers.get('location')]).toEqual([303, '/sessions']);
    const header = response.headers.get('set-cookie') ?? '';
    expect(header).toMatch(/^workspace_session=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    const value = cookieIn(response).slice('workspace_session='.length);
    const content: unknown = JSON.parse(await gateway.dependencies.secrets.open(value, PLACE));
    expect(content).toEqual({ keyId, signInId: expect.any(String) });
    expect(Buffer.from(value.split('.')[3] ?? '', 'base64url').toString('latin1')).not.toContain(keyId);
    expect(gateway.logged.join()).not.toContain(key);
  });

  test('with an https PUBLIC_URL, the cookie is Secure and bound to the host', async () => {
    const other = await startTestGateway({ PUBLIC_URL: 'https://gateway.example' }, { beside: gateway });
    const { key, organization } = await gateway.createKey();
    const body = new URLSearchParams({ key });
    const response = await other.fetch('/sign-in', { method: 'POST', body });
    expect(response.headers.get('set-cookie')).toMatch(/^__Host-workspace_session=.*; SameSite=Strict; Secure$/);
    const headers = { 'Content-Type': 'application/json', Cookie: cookieIn(response), Host: 'gateway.example' };
    const ask = async (origin: string) => {
      const init = { method: 'POST', headers: { ...headers, Origin: origin }, body: JSON.stringify({ query: VIEWER }) };
      const answer = await other.fetch('/graphql', init);
      return { status: answer.status, body: await answer.json() };
    };
    expect(await ask('https://gateway.example')).toEqual(answerOf(organization));
    expect(await ask('http://gateway.example')).toEqual(REFUSED);
    await other.close();
  });

  test('accepts JSON from scripts, and a key with surrounding spaces or with the scheme Bearer', async () => {
    const { key } = await gateway.createKey();
    const response = await gateway.fetch('/sign-in', {
      method: 'POST',
      body: JSON.stringify({ key: ` Bearer ${key}\n` }),
    });
    expect([response.status, await response.text()]).toEqual([204, '']);
    expect((await askAs(cookieIn(response))).status).toBe(200);
  });

  test.each(['', 'wgk_short', generateApiKey()])(
    'refuses the key %o: shows the form again and sets no cookie',
    async (key) => {
      const response = await submit({ key, next: '/"><script>' });
      expect([response.status, response.headers.get('set-cookie')]).toEqual([401, null]);
      const html = await response.text();
      expect(html).toContain('That key does not work');
      expect(html).not.toContain('<script>');
    },
  );

  test.each([
    '//evil.example',
    '/\\evil.example',
    '/.//evil.example',
    'https://evil.example/',
    'javascript:alert(1)',
    '',
  ])('never redirects to another host: %o', async (next) => {
    const { key } = await gateway.createKey();
    const location = (await submit({ key, next })).headers.get('location') ?? '';
    expect(new URL(location, 'http://gateway.example').host).toBe('gateway.example');
  });

  test('refuses a form of another site', async () => {
    const { key } = await gateway.createKey();
    for (const headers of [
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { Origin: 'http://evil.example' },
    ] as Record<string, string>[])
      expect(await submit({ key }, headers)).toMatchObject({ status: 403 });
  });
});

describe('a new sign-in', () => {
  test.each(['a key', 'a one-time link'])(
    'with %s ends the one before in the same browser, and no other',
    async (way) => {
      const [first, elsewhere] = [await signIn(), await signIn()];
      const { key, email, organization } = await gateway.createKey();
      const headers = { Cookie: first.cookie };
      const { token } = await createSignInLink(workContext(gateway.dependencies), email);
      const answer = await (way === 'a key'
        ? submit({ key }, headers)
        : gateway.fetch(`/sign-in?token=${token}`, { headers }));
      expect(await askAs(cookieIn(answer))).toEqual(answerOf(organization));
      expect(await askAs(first.cookie)).toEqual(REFUSED);
      expect(await askAs(elsewhere.cookie)).toEqual(answerOf(elsewhere.organization));
      const rows = await gateway.dependencies.sql.query(
        `select operation from audit_entry where key_id = $1 and operation = 'signOut'`,
        [first.keyId],
      );
      expect(rows).toHaveLength(1);
    },
  );

  test('that is refused leaves the one before', async () => {
    const { cookie, organization } = await signIn();
    expect((await submit({ key: generateApiKey() }, { Cookie: cookie })).status).toBe(401);
    expect(await askAs(cookie)).toEqual(answerOf(organization));
  });
});

describe('a signed-in browser', () => {
  test('acts with its key on both APIs; the Authorization header takes precedence over the cookie', async () => {
    const { cookie, organization } = await signIn();
    expect(await askAs(cookie)).toEqual(answerOf(organization));
    const rest = await gateway.rest('GET', '/events/2026-03/event-definitions', {
      headers: { Cookie: cookie, ...SAME_ORIGIN },
    });
    expect(rest.status).toBe(200);
    const other = await gateway.createKey();
    expect(await askAs(cookie, { ...SAME_ORIGIN, Authorization: `Bearer ${other.key}` })).toEqual(
      answerOf(other.organization),
    );
    expect(await askAs(cookie, { ...SAME_ORIGIN, Authorization: 'Bearer wrong' })).toEqual(REFUSED);
  });

  test('is accepted only from the same origin: Sec-Fetch-Site decides, or Origin if it is absent; without both, only with a header that other sites cannot send', async () => {
    const { cookie, organization } = await signIn();
    for (const headers of [
      SAME_ORIGIN,
      { Origin: 'http://gateway.example' },
      { Origin: 'http://localhost:4000', Host: 'localhost:4000' },
      { 'X-Organization-Id': organization },
    ] as Record<string, string>[])
      expect(await askAs(cookie, headers)).toEqual(answerOf(organization));
    for (const headers of [
      {},
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'cross-site', 'X-Organization-Id': organization },
      { Origin: 'http://evil.example', 'X-Organization-Id': organization },
      { 'Sec-Fetch-Site': 'none' },
      { 'Sec-Fetch-Site': 'cross-site', Origin: 'http://gateway.example' },
      { Origin: 'http://evil.example', Host: 'gateway.example' },
      { Origin: 'null' },
    ] as Record<string, string>[])
      expect(await askAs(cookie, headers)).toEqual(REFUSED);
  });

  test('is signed out immediately when its key is revoked', async () => {
    const { cookie, key, keyId } = await signIn();
    expect((await askAs(cookie)).status).toBe(200);
    await gateway.rest('DELETE', `/v1/api-keys/${keyId}`, { key });
    expect(await askAs(cookie)).toEqual(REFUSED);
  });

  test('is signed out after 12 hours, and not before', async () => {
    const { cookie } = await signIn();
    const at = Date.now();
    gateway.setClock(new Date(at + 12 * 3_600_000 - 60_000));
    expect((await askAs(cookie)).status).toBe(200);
    gateway.setClock(new Date(at + 12 * 3_600_000 + 60_000));
    expect(await askAs(cookie)).toEqual(REFUSED);
    gateway.setClock(undefined);
  });

  test('is recognized only by a cookie of this gateway, not by one that is altered or encrypted for another gateway or purpose', async () => {
    const { cookie, keyId } = await signIn();
    const foreign = createSecretBox(parseEncryptionKeys(`test:${Buffer.alloc(32).toString('base64')}`));
    const content = JSON.stringify({ keyId, signInId: randomUUID() });
    const known = cookie.slice('workspace_session='.length);
    const opened = await gateway.dependencies.secrets.open(known, PLACE);
    const forged = [
      `${cookie.slice(0, -3)}AAA`,
      'workspace_session=',
      'workspace_session=a.b.c.d.e',
      `workspace_session=${await foreign.seal(opened, PLACE)}`,
      `workspace_session=${await gateway.dependencies.secrets.seal(opened, { ...PLACE, row: 'other' })}`,
      `workspace_session=${await gateway.dependencies.secrets.seal(content, PLACE)}`,
      `workspace_session=${keyId}`,
    ];
    for (const one of forged) expect(await askAs(one)).toEqual(REFUSED);
  });

  test('can be signed out only by a page of the gateway', async () => {
    const { cookie } = await signIn();
    const leave = (headers: Record<string, string>) =>
      gateway.fetch('/sign-out', { method: 'POST', headers: { Cookie: cookie, ...headers } });
    expect((await leave({ 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403);
    expect((await leave({})).status).toBe(403);
    const left = await leave(SAME_ORIGIN);
    expect([left.status, left.headers.get('set-cookie')]).toEqual([
      303,
      'workspace_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict',
    ]);
  });

  test('ends all copies of its cookie when it signs out, and no other sign-in with the same key', async () => {
    const { cookie, key, keyId, organization } = await signIn();
    const other = cookieIn(await submit({ key }));
    const sessionId = await createSession(gateway, key);
    await append(gateway, key, sessionId, eventsOf(1));
    // It learns of the sign-out from the notification alone.
    const unpolled = await startTestGateway(
      { PUBLIC_URL: 'http://gateway.example' },
      { beside: gateway, timing: NOTIFICATIONS_ONLY },
    );
    await startListening(unpolled);
    const headers = { Cookie: cookie, Accept: 'text/event-stream', ...SAME_ORIGIN };
    const stream = new EventStream(await unpolled.fetch(`/v1/sessions/${sessionId}/events`, { headers }));
    expect(await stream.take(1)).toHaveLength(1);
    await gateway.fetch('/sign-out', { method: 'POST', headers: { Cookie: cookie, ...SAME_ORIGIN } });
    expect(await stream.take(1)).toMatchObject([{ event: 'error' }]);
    await unpolled.close();
    expect(await askAs(cookie)).toEqual(REFUSED);
    const rest = { headers: { Cookie: cookie, ...SAME_ORIGIN } };
    expect((await gateway.rest('GET', `/v1/sessions/${sessionId}`, rest)).status).toBe(401);
    const page = await gateway.fetch('/sign-in', { headers: { Cookie: cookie } });
    expect(await page.text()).not.toContain('You are signed in');
    expect(await askAs(other)).toEqual(answerOf(organization));
    expect((await gateway.rest('GET', '/v1/users/me', { key })).status).toBe(200);
    const left = await gateway.dependencies.sql.query(
      'select 1 from api_key where signed_in_with_id = $1 and revoked_at is null',
      [keyId],
    );
    expect(left).toHaveLength(1);
  });

  test('costs one lookup for each request, like a key', async () => {
    const { cookie } = await signIn();
    await askAs(cookie);
    gateway.statements.length = 0;
    await askAs(cookie);
    expect(gateway.statements.filter((text) => text.includes('api_key'))).toEqual([
      expect.stringContaining(`"k"."kind" = 'SIGN_IN'`),
    ]);
  });

  test('sees on the sign-in page that it is signed in, also after a link from another site', async () => {
    const { cookie } = await signIn();
    const page = await gateway.fetch('/sign-in', { headers: { Cookie: cookie, 'Sec-Fetch-Site': 'cross-site' } });
    expect(await page.text()).toContain('You are signed in');
  });
});

describe('a one-time link', () => {
  const open = (token: string, init?: RequestInit) => gateway.fetch(`/sign-in?token=${token}`, init);
  const create = async () => {
    const { email, userId, organization } = await gateway.createKey();
    return { token: (await createSignInLink(workContext(gateway.dependencies), email)).token, userId, organization };
  };

  test('signs in once, at any gateway on the database', async () => {
    const { token, organization } = await create();
    const other = await startTestGateway({}, { beside: gateway });
    const first = await other.fetch(`/sign-in?token=${token}`);
    await other.close();
    expect([first.status, await first.text()]).toEqual([200, expect.stringContaining('content="0;url=/"')]);
    expect(await askAs(cookieIn(first))).toEqual(answerOf(organization));
    const second = await open(token);
    expect([second.status, second.headers.get('set-cookie')]).toEqual([401, null]);
    expect(await second.text()).toContain('This link does not work any more');
  });

  test('is not used up by HEAD requests and prefetches', async () => {
    const { token } = await create();
    await open(token, { method: 'HEAD' });
    await open(token, { headers: { 'Sec-Purpose': 'prefetch;prerender' } });
    expect((await open(token)).status).toBe(200);
  });

  test('works for 10 minutes, and only while its account is not being deleted', async () => {
    const [late, deleted] = [await create(), await create()];
    const deletion = gateway.dependencies.database.em.fork();
    await deletion.begin();
    await deletion.execute('update user_account set email = null, name = null where id = ?', [deleted.userId]);
    const opened = open(deleted.token);
    await untilWaitingForLock(gateway, 1);
    await deletion.commit();
    expect((await opened).status).toBe(401);
    gateway.setClock(new Date(Date.now() + 10 * 60_000 + 1));
    expect((await open(late.token)).status).toBe(401);
    gateway.setClock(undefined);
    expect((await open('unknown')).status).toBe(401);
  });
});

describe('the audit log', () => {
  interface Entry {
    readonly operation: string;
    readonly refusal: string | null;
    readonly requestId: string;
  }
  const entriesOf = async (keyId: string) =>
    gateway.dependencies.sql.query<Entry>(
      `select operation, refusal, request_id as "requestId" from audit_entry
        where key_id = $1 and target_type = 'ApiKey' and target_id = $1 and organization_id is not null order by occurred_at, refusal`,
      [keyId],
    );

  test('has an entry for each sign-in and sign-out', async () => {
    const { key, keyId } = await gateway.createKey();
    const cookie = cookieIn(await submit({ key }, { 'X-Request-Id': 'in' }));
    const leave = (requestId: string) =>
      gateway.fetch('/sign-out', {
        method: 'POST',
        headers: { Cookie: cookie, 'X-Request-Id': requestId, ...SAME_ORIGIN },
      });
    await leave('out');
    await leave('again');
    expect(await entriesOf(keyId)).toEqual([
      { operation: 'signIn', refusal: null, requestId: 'in' },
      { operation: 'signOut', refusal: null, requestId: 'out' },
    ]);
  });

  test.each([
    ['the form', (key: string) => submit({ key })],
    ['JSON', (key: string) => gateway.fetch('/sign-in', { method: 'POST', body: JSON.stringify({ key }) })],
  ])('has at most one entry a minute for refused sign-ins with a known key: %s', async (_, attempt) => {
    const { key, keyId } = await gateway.createKey();
    await gateway.dependencies.sql.query('update api_key set revoked_at = now() where id = $1', [keyId]);
    for (let count = 0; count < 3; count += 1) expect((await attempt(key)).status).toBe(401);
    const entry = { operation: 'signIn', refusal: 'key_revoked', requestId: expect.any(String) };
    expect(await entriesOf(keyId)).toEqual([entry]);
    gateway.setClock(new Date(Date.now() + 61_000));
    expect((await attempt(key)).status).toBe(401);
    gateway.setClock(undefined);
    expect(await entriesOf(keyId)).toEqual([entry, entry]);
  });
});
