import { afterAll, describe, expect, test } from 'vitest';
import { GATEWAY_CLIENT_ID } from '../../src/gateway/authorization-server/clients.ts';
import { authorizationQuery, pkce, sendForm, startClientHost } from '../support/fixtures/oauth-flow.ts';
import {
  HOST_NAME,
  accessibilityFindings,
  overflowOf,
  saveScreenshot,
  startSite,
} from '../support/processes/browser.ts';

/** People connect clients in a browser, which enforces what the pages say about forms, frames and cookies. */

const site = await startSite({ ALLOW_PRIVATE_NETWORK: 'true' });
site.dependencies.address.url = site.url;
const client = await startClientHost();
afterAll(() => client.stop());

const redirectUri = `${client.origin}/callback`;
client.document['redirect_uris'] = [redirectUri];
const document = client.handler;
client.handler = (request, response) => {
  if (request.url === '/client.json') return document(request, response);
  const query = authorizationQuery({ ...client, redirectUri }, pkce().challenge);
  response.writeHead(200, { 'Content-Type': 'text/html' });
  // Another site than the gateway: the browser does not send the cookie of the sign-in with a request that comes from here.
  response.end(
    `<a id="connect" href="${site.url}/oauth/authorize?${String(query).replaceAll('&', '&amp;')}">Connect</a>`,
  );
};
const clientPage = client.origin.replace('127.0.0.1', HOST_NAME);

const faultsOf = (page: Parameters<typeof accessibilityFindings>[0]) =>
  accessibilityFindings(page, { impacts: ['minor', 'moderate', 'serious', 'critical'] });

describe('a person who is signed in', () => {
  test.each([1280, 360])('connects a client, coming from another site (%d pixels)', async (width) => {
    const { key } = await site.createKey();
    const context = await site.newContext({ key, width });
    const { page } = await site.open(`${clientPage}/`, {}, context);
    await page.locator('#connect').click();
    await page.getByRole('heading', { name: 'Connect Test client?' }).waitFor();
    await saveScreenshot(page, `oauth-consent-${width}`);
    expect([await faultsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.waitForURL((url) => url.pathname === '/callback');
    const answer = new URL(page.url()).searchParams;
    expect([answer.get('iss'), answer.get('code') !== null]).toEqual([site.url, true]);
  });

  test('refuses, and goes back with the error', async () => {
    const { key } = await site.createKey();
    const { page } = await site.open(`${clientPage}/`, {}, await site.newContext({ key }));
    await page.locator('#connect').click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForURL((url) => url.pathname === '/callback');
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
  });
});

test('who is not signed in does so first', async () => {
  const { key } = await site.createKey();
  const { page } = await site.open(`${clientPage}/`);
  await page.locator('#connect').click();
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Connect Test client?' }).waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/oauth\/consent\//);
});

test('a person enters the code of a device', async () => {
  const { key } = await site.createKey();
  const device = await sendForm(
    { fetch: (path, init) => fetch(new Request(new URL(typeof path === 'string' ? path : path.url, site.url), init)) },
    '/oauth/device/authorize',
    { client_id: GATEWAY_CLIENT_ID },
  );
  const { user_code: code } = device.body as unknown as { user_code: string };
  const { page } = await site.open('/oauth/device', { key });
  await saveScreenshot(page, 'oauth-code');
  expect(await faultsOf(page)).toEqual([]);
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText(code, { exact: true }).waitFor();
  await saveScreenshot(page, 'oauth-device');
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await page.getByRole('heading', { name: 'Connected' }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
});
