import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { createPerson } from '../../support/fixtures/api-keys.ts';
import { CookieJar, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { grantTo } from '../../support/fixtures/oauth-grants.ts';
import { createServiceAccountKey } from '../../support/fixtures/service-accounts.ts';
import { EventStream, append, createSession, eventsOf, mutate } from '../../support/fixtures/sessions.ts';
import { startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** The table of docs/sign-in.md: what works at once and an hour after somebody was disabled. */

const issuer = await startForgingIssuer();
const gateway = await startTestGateway({
  ...issuer.env,
  OIDC_LOGOUT: 'true',
  OIDC_ORGANIZATION: 'company',
  OIDC_DEFAULT_ROLE: 'member',
  OIDC_GROUPS_CLAIM: 'groups',
  OIDC_ALLOWED_GROUPS: 'staff',
});
const admin = await gateway.createKey({ organization: 'company' });
const scim = await createServiceAccountKey(gateway, admin.key, { role: 'admin', scopes: ['scim'] });
const sessionId = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});

/** The access token of an app lasts an hour. */
const LATER_MS = 59 * 60_000;

interface Disabled {
  readonly sub: string;
  readonly userId: string;
}
const WAYS: Readonly<Record<string, (person: Disabled) => Promise<unknown>>> = {
  'SCIM: `active: false`': async ({ userId }) => {
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:PatchOp'];
    const response = await gateway.fetch(`/scim/v2/Users/${userId}`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${scim.key}`, 'Content-Type': 'application/scim+json' },
      body: JSON.stringify({ schemas, Operations: [{ op: 'replace', value: { active: false } }] }),
    });
    expect(response.status).toBe(200);
  },
  'back-channel logout': async ({ sub }) => {
    const at = Math.floor(Date.now() / 1000);
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    const claims = { iss: issuer.issuer, aud: 'gateway', sub, iat: at, exp: at + 120, jti: randomUUID(), events };
    const body = new URLSearchParams({ logout_token: await issuer.sign(claims) });
    expect((await gateway.fetch('/sign-in/oidc/logout', { method: 'POST', body })).status).toBe(200);
  },
  'removal in the console or API': ({ userId }) => mutate(gateway, admin.key, 'removeOrganizationMember', { userId }),
  'taken out of the group at the provider': () => Promise.resolve(),
};

/** The cells of the table, by row. */
function documented(): Record<string, string[]> {
  const page = readFileSync(new URL('../../../docs/sign-in.md', import.meta.url), 'utf8');
  const table = page.slice(page.indexOf('| disabled by')).split('\n\n')[0] ?? '';
  const rows = table.split('\n').slice(2);
  return Object.fromEntries(
    rows.map((row) => {
      const [name = '', ...cells] = row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      return [name, cells.map((cell) => cell.split(',')[0] ?? '')];
    }),
  );
}

async function measured(disable: (person: Disabled) => Promise<unknown>): Promise<string[]> {
  const sub = randomUUID();
  const email = `${sub}@example.com`;
  const jar = new CookieJar(gateway);
  await signInAs(jar, issuer, { sub, email, email_verified: true, groups: ['staff'] });
  const { key: unbound, userId } = await createPerson(gateway, email);
  const { key: bound, organizationId } = await gateway.createKey({ email, organization: 'company' });
  const app = await grantTo(gateway, { userId, organizationId }, { path: '/v1/sessions' });
  const opensWith = async (key: string) =>
    (await gateway.rest('GET', `/v1/sessions/${sessionId}/events`, { key })).status === 200;
  const opensInBrowser = async () => (await jar.open(`/v1/sessions/${sessionId}/events`)).status === 200;
  // As a recorder does, which has a bound key.
  const records = async (key: string) =>
    (await gateway.rest('PUT', `/v1/sessions/by-source/claude/${randomUUID()}`, { key, body: {} })).status < 300;
  expect(await records(bound)).toBe(true);
  const stream = new EventStream(
    await jar.open(`/v1/sessions/${sessionId}/events`, { headers: { Accept: 'text/event-stream' } }),
  );
  const all = [await opensInBrowser(), await opensWith(bound), await opensWith(unbound), await opensWith(app.token)];
  expect(all).toEqual([true, true, true, true]);
  await disable({ sub, userId });
  const atOnce = [await opensInBrowser(), await opensWith(bound), await opensWith(unbound), await opensWith(app.token)];
  gateway.setClock(new Date(Date.now() + LATER_MS));
  try {
    const appended = await append(gateway, admin.key, sessionId, eventsOf(1));
    let message = await stream.nextData();
    while (message?.id !== undefined && message.id !== appended.lastId) message = await stream.nextData();
    const works = [
      await opensInBrowser(),
      await opensWith(bound),
      await opensWith(unbound),
      await opensWith(app.token),
      message?.id === appended.lastId && message.event === undefined,
    ];
    expect(atOnce).toEqual(works.slice(0, -1));
    expect(await records(bound)).toBe(works[1]);
    return works.map((each) => (each ? 'works' : 'ended'));
  } finally {
    gateway.setClock(undefined);
    await stream.close();
  }
}

test('what works at once and an hour after somebody was disabled is what the table says', async () => {
  const found: Record<string, string[]> = {};
  for (const [name, disable] of Object.entries(WAYS)) found[name] = await measured(disable);
  expect(found).toEqual(documented());
});
