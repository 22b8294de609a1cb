import { describe, expect, test } from 'vitest';
import { GATEWAY_CLIENT_ID } from '../../../src/gateway/authorization-server/clients.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { decide, sendForm, signedInBrowser } from '../../support/fixtures/oauth-flow.ts';

const gateway = useTestGateway();

const BASE = 'http://127.0.0.1:4000';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';

interface Device {
  readonly device_code: string;
  readonly user_code: string;
}

async function begin(changes: Readonly<Record<string, string>> = {}) {
  const { status, body } = await sendForm(gateway, '/oauth/device/authorize', {
    client_id: GATEWAY_CLIENT_ID,
    scope: 'sessions.record sessions.read',
    ...changes,
  });
  return { status, device: body as unknown as Device, error: body.error };
}

const poll = ({ device_code: code }: Device, clientId = GATEWAY_CLIENT_ID) =>
  sendForm(gateway, '/oauth/token', { grant_type: GRANT_TYPE, device_code: code, client_id: clientId });

/** Enters a code. @returns the page that asks for the decision. */
async function enter(jar: Awaited<ReturnType<typeof signedInBrowser>>, code: string) {
  const answer = await jar.open('/oauth/device', { method: 'POST', body: new URLSearchParams({ user_code: code }) });
  return { status: answer.status, html: await answer.text() };
}

describe('a device', () => {
  test('gets its grant when the person has entered the code and agreed', async () => {
    const person = await gateway.createKey();
    const { device } = await begin();
    expect(device).toMatchObject({
      device_code: expect.any(String),
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri: `${BASE}/oauth/device`,
      verification_uri_complete: `${BASE}/oauth/device?user_code=${device.user_code}`,
      expires_in: 600,
    });
    expect((await poll(device)).body.error).toBe('authorization_pending');
    const jar = await signedInBrowser(gateway, person.key);
    const form = await (await jar.open(`/oauth/device?user_code=${device.user_code}`)).text();
    expect(form).toContain(`value="${device.user_code}"`);
    const { html } = await enter(jar, device.user_code.toLowerCase().replace('-', ' '));
    expect(html).toContain(device.user_code);
    expect(html).toContain('this gateway');
    expect(html).toContain('Continue only if your own device shows this code now.');
    expect((await poll(device)).body.error).toBe('authorization_pending');
    expect((await decide(jar, '/oauth/device', html)).status).toBe(200);
    const tokens = await poll(device);
    expect(tokens).toMatchObject({ status: 200, body: { scope: 'sessions.read sessions.record' } });
    const created = await gateway.rest('POST', '/v1/sessions', {
      key: tokens.body.access_token,
      body: { title: 'Run' },
    });
    expect(created.status).toBe(201);
    // A code gives one grant; used again it ends it.
    expect((await poll(device)).body.error).toBe('invalid_grant');
    expect((await gateway.rest('GET', '/v1/sessions', { key: tokens.body.access_token })).status).toBe(401);
  });

  test('gets nothing when the person refuses', async () => {
    const person = await gateway.createKey();
    const { device } = await begin();
    const jar = await signedInBrowser(gateway, person.key);
    const { html } = await enter(jar, device.user_code);
    expect(await (await decide(jar, '/oauth/device', html, 'deny')).text()).toContain('Nothing was connected');
    expect((await poll(device)).body.error).toBe('access_denied');
    expect((await enter(jar, device.user_code)).status).toBe(400);
  });

  test('cannot use the code of another client, nor one that has expired', async () => {
    const person = await gateway.createKey();
    const { device } = await begin();
    const jar = await signedInBrowser(gateway, person.key);
    gateway.setClock(new Date(Date.now() + 601_000));
    expect(await enter(jar, device.user_code)).toMatchObject({
      status: 400,
      html: expect.stringContaining('mistyped, was used before, or is more than 10 minutes old'),
    });
    expect((await poll(device)).status).toBe(400);
    gateway.setClock(undefined);
    expect((await begin({ client_id: 'unknown' })).error).toBe('invalid_client');
  });

  test('is not found by guessing: a person has 20 wrong codes in 10 minutes, from whatever address', async () => {
    const [guesser, other] = [await gateway.createKey(), await gateway.createKey()];
    const jar = await signedInBrowser(gateway, guesser.key);
    const at = new Date();
    gateway.setClock(at);
    const { device } = await begin();
    const statuses = [];
    for (let count = 0; count < 20; count += 1) statuses.push((await enter(jar, 'BBBB-BBBB')).status);
    expect(new Set(statuses)).toEqual(new Set([400]));
    expect(await enter(jar, device.user_code)).toMatchObject({
      status: 429,
      html: expect.stringContaining('You have typed 20 wrong codes. Wait 600 seconds'),
    });
    const second = await signedInBrowser(gateway, other.key);
    expect((await enter(second, device.user_code)).status).toBe(200);
    gateway.setClock(new Date(at.getTime() + 600_000));
    const { device: later } = await begin();
    expect((await enter(jar, later.user_code)).status).toBe(200);
    gateway.setClock(undefined);
  });

  test('shows no address that it claims to lead to, and ignores what is not of devices', async () => {
    const { status, device } = await begin({
      redirect_uri: 'https://claude.ai/callback',
      request_uri: 'https://claude.ai/request',
      max_age: '0',
      nonce: 'x',
    });
    const jar = await signedInBrowser(gateway, (await gateway.createKey()).key);
    const { html } = await enter(jar, device.user_code);
    expect([status, html.includes(device.user_code)]).toEqual([200, true]);
    expect(html).not.toContain('claude.ai');
    expect(html).not.toContain('Leads you to');
  });

  test('asks only for what a person can give for the paths of recording', async () => {
    expect((await begin({ resource: `${BASE}/graphql` })).error).toBe('invalid_target');
    expect((await begin({ resource: 'https://other.example/v1/sessions' })).error).toBe('invalid_target');
    const person = await gateway.createKey({ scopes: ['sessions.record'] });
    const { device } = await begin({ scope: 'sessions.record sessions.read organizations.write' });
    const jar = await signedInBrowser(gateway, person.key);
    const { html } = await enter(jar, device.user_code);
    await decide(jar, '/oauth/device', html);
    expect((await poll(device)).body.scope).toBe('sessions.record');
  });
});

describe('the decision', () => {
  test('counts only from the person who was asked, for the code that was shown', async () => {
    const [person, other] = [await gateway.createKey(), await gateway.createKey()];
    const [{ device }, second] = [await begin(), await begin()];
    const [jar, foreign] = [await signedInBrowser(gateway, person.key), await signedInBrowser(gateway, other.key)];
    const { html } = await enter(jar, device.user_code);
    expect((await decide(foreign, '/oauth/device', html)).status).toBe(403);
    const swapped = html.replaceAll(device.user_code, second.device.user_code);
    expect((await decide(jar, '/oauth/device', swapped)).status).toBe(403);
    const bare = new URLSearchParams({ user_code: device.user_code, decision: 'allow', csrf: '' });
    expect((await jar.open('/oauth/device', { method: 'POST', body: bare })).status).toBe(403);
    const crossSite = await jar.open('/oauth/device', {
      method: 'POST',
      body: new URLSearchParams({ user_code: device.user_code }),
      headers: { 'Sec-Fetch-Site': 'cross-site' },
    });
    expect(crossSite.status).toBe(403);
    expect((await poll(device)).body.error).toBe('authorization_pending');
    expect((await decide(jar, '/oauth/device', html)).status).toBe(200);
    expect((await decide(jar, '/oauth/device', html)).status).toBe(400);
  });
});
