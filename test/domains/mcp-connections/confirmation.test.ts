import { beforeEach, describe, expect, test } from 'vitest';
import { type TestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import {
  type VisitedPage,
  createConnection,
  decide,
  open,
  readStatus,
} from '../../support/fixtures/mcp-connections.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';

/** An authorization link can be completed only by the user who requested it, or after a confirmation (security review, L1). */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let fixture: OAuthFixture;
let requester: Awaited<ReturnType<TestGateway['createKey']>>;
beforeEach(async () => {
  fixture = await startOAuthFixture();
  requester = await gateway.createKey();
  return () => fixture.stop();
});

/** Starts an authorization. `back` is the callback URL after the user has consented. */
async function begin(name = 'tracker'): Promise<{ id: string; back: URL }> {
  const { body } = await createConnection(gateway, requester.key, { name, serverUrl: fixture.serverUrl });
  return { id: body.connection.id, back: fixture.consent(body.authorizationUrl ?? '') };
}

const statusOf = async (id: string) => (await readStatus(gateway, requester.key, id)).status;

/** The cookie of a browser that has signed in with a key. */
async function signIn(key: string): Promise<string> {
  const response = await gateway.fetch('/sign-in', { method: 'POST', body: new URLSearchParams({ key }) });
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

async function openSignedIn(back: URL, key: string): Promise<VisitedPage> {
  const cookie = await signIn(key);
  return open({ fetch: (path, init) => gateway.fetch(path, { ...init, headers: { Cookie: cookie } }) }, back);
}

async function post(body: URLSearchParams, headers: Record<string, string> = {}): Promise<number> {
  return (await gateway.fetch('/v1/mcp-connections/oauth/callback', { method: 'POST', body, headers })).status;
}

describe('without a sign-in', () => {
  test('the code is redeemed only after the confirmation of a page that names organization, connection, server and user', async () => {
    const { id, back } = await begin('<i>tracker</i>');
    const page = await open(gateway, back);
    expect(page.status).toBe(200);
    const facts = [...page.text.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, term, value]) => [term, value]);
    expect(facts).toEqual([
      ['Organization', requester.organization],
      ['Connection', '&lt;i&gt;tracker&lt;/i&gt;'],
      ['MCP server', fixture.mcp.origin],
      ['Requested by', requester.email],
    ]);
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
    );
    expect([fixture.tokenRequests.length, await statusOf(id)]).toEqual([0, 'PENDING_AUTHORIZATION']);
    // Opening the page again changes nothing.
    expect((await open(gateway, back)).text).toContain('Is this your connection?');
    const connected = await decide(gateway, page);
    expect([connected.status, await statusOf(id)]).toEqual([200, 'CONNECTED']);
  });

  test('a confirmation works once: of ten concurrent ones, one succeeds', async () => {
    const { back } = await begin();
    const page = await open(gateway, back);
    const answers = await Promise.all(Array.from({ length: 10 }, () => decide(gateway, page)));
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['200', ...Array<string>(9).fill('400')]);
    expect((await decide(gateway, page)).text).toContain('This authorization is unknown');
    expect(fixture.tokenRequests).toHaveLength(1);
  });

  test('declining ends the authorization, and no code is redeemed', async () => {
    const { id, back } = await begin();
    const page = await open(gateway, back);
    const declined = await decide(gateway, page, 'decline');
    expect([declined.status, await statusOf(id)]).toEqual([400, 'AUTHORIZATION_REQUIRED']);
    expect((await decide(gateway, page)).status).toBe(400);
    expect(fixture.tokenRequests).toHaveLength(0);
  });

  test('a forged confirmation and that of a replaced authorization are 400', async () => {
    const { id, back } = await begin();
    const page = await open(gateway, back);
    const confirmation = /name="confirmation" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const { state = '', code = '' } = Object.fromEntries(back.searchParams);
    for (const given of ['', 'x', `${confirmation.slice(0, -3)}AAA`, JSON.stringify({ state, code })])
      expect(await post(new URLSearchParams({ confirmation: given, state, code, decision: 'connect' }))).toBe(400);
    await gateway.rest('POST', `/v1/mcp-connections/${id}/authorize`, { key: requester.key });
    expect((await decide(gateway, page)).status).toBe(400);
    expect(fixture.tokenRequests).toHaveLength(0);
  });

  test('a form from another site is 403, and a body that is no form is 415', async () => {
    const { id, back } = await begin();
    const page = await open(gateway, back);
    const confirmation = /name="confirmation" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const form = () => new URLSearchParams({ confirmation, decision: 'connect' });
    for (const site of ['cross-site', 'same-site']) expect(await post(form(), { 'Sec-Fetch-Site': site })).toBe(403);
    expect(await post(form(), { 'Content-Type': 'text/plain' })).toBe(415);
    expect(await statusOf(id)).toBe('PENDING_AUTHORIZATION');
    expect(await post(form(), { 'Sec-Fetch-Site': 'same-origin' })).toBe(200);
  });
});

describe('in a browser that is signed in', () => {
  test('as the user who requested it, the authorization is completed without a confirmation', async () => {
    const { id, back } = await begin();
    const page = await openSignedIn(back, requester.key);
    expect([page.status, await statusOf(id)]).toEqual([200, 'CONNECTED']);
  });

  test('as another user, or with a revoked key, the page asks for a confirmation', async () => {
    const { id, back } = await begin();
    const colleague = await gateway.createKey({ organization: requester.organization, role: 'admin' });
    const stranger = await gateway.createKey();
    for (const { key } of [colleague, stranger])
      expect((await openSignedIn(back, key)).text).toContain('Is this your connection?');
    const second = await gateway.createKey({ organization: requester.organization, email: requester.email });
    const cookie = await signIn(second.key);
    await gateway.rest('DELETE', `/v1/api-keys/${second.keyId}`, { key: second.key });
    const fetch: TestGateway['fetch'] = (path, init) => gateway.fetch(path, { ...init, headers: { Cookie: cookie } });
    expect((await open({ fetch }, back)).text).toContain('Is this your connection?');
    expect([fixture.tokenRequests.length, await statusOf(id)]).toEqual([0, 'PENDING_AUTHORIZATION']);
  });
});
