import { mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import { type Browser, type BrowserContext, type Page, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { type OidcFixture, startOidcFixture } from '../support/peers/mcp-oidc-server.ts';

/** A person authorizes a connection in a browser, at the pages of an authorization server that others wrote, and comes back to ours. */

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

let gateway: TestGateway;
let server: RunningServer;
let fixture: OidcFixture;
let browser: Browser;
let person: BrowserContext;
let screenshots: string;
let key: string;
/** What pages of ours asked for, but themselves. */
const requested: string[] = [];

beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  // Where the browser is sent back to.
  gateway.dependencies.address.url = server.url;
  key = (await gateway.createKey()).key;
  fixture = await startOidcFixture();
  const quiet = ['--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update'];
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-sync', ...quiet],
  });
  person = await browser.newContext({ viewport: { width: 1000, height: 640 } });
  // The authorization server's pages would like a font from elsewhere.
  await person.route(
    (url) => url.hostname !== '127.0.0.1',
    (route) => route.abort(),
  );
  screenshots = process.env['SCREENSHOTS'] ?? (await mkdtemp(join(tmpdir(), 'gateway-consent-')));
});

afterAll(async () => {
  await browser.close();
  await fixture.stop();
  await server.stop(1_000);
  await gateway.close();
});

const shown = (page: Page, name: string) => page.screenshot({ path: join(screenshots, `${name}.png`) });

/** Opens the address, logs in where that is asked for, and presses the button of the consent page. */
async function consent(authorizationUrl: string, { agree = true } = {}): Promise<Page> {
  const page = await person.newPage();
  page.on('request', (request) => {
    if (request.frame().url().startsWith(server.url) && !request.isNavigationRequest()) requested.push(request.url());
  });
  await page.goto(authorizationUrl);
  if (await page.locator('input[name=login]').count()) {
    await page.locator('input[name=login]').fill('ann');
    await page.locator('input[name=password]').fill('any');
    await shown(page, 'login');
    await page.locator('button[type=submit]').click();
  }
  await page.locator('input[name=prompt][value=consent]').waitFor({ state: 'attached' });
  await shown(page, 'consent');
  if (agree) await page.locator('button[type=submit]').click();
  else await page.getByText('Cancel').click();
  await page.waitForURL((url) => url.pathname === '/v1/mcp-connections/oauth/callback');
  return page;
}

/** Presses a button of the page that asks whose connection it is. */
async function decide(page: Page, button: 'Connect' | 'Do not connect'): Promise<Page> {
  const answered = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.getByRole('button', { name: button, exact: true }).click();
  await answered;
  await page.locator('.next').waitFor();
  return page;
}

/** Faults that axe-core finds. Its script is run in a copy of the page without the policy that lets nothing run. */
async function faultsOf(page: Page): Promise<string[]> {
  const context = await browser.newContext({ bypassCSP: true });
  try {
    const copy = await context.newPage();
    await copy.setContent(await page.content());
    await copy.addScriptTag({ path: axe });
    const { violations, passes } = await copy.evaluate(() =>
      (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(),
    );
    expect(passes.length).toBeGreaterThan(10);
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  } finally {
    await context.close();
  }
}

interface Created {
  authorizationUrl: string;
  connection: { id: string };
}

const create = async (name: string) =>
  (
    await gateway.rest<Created>('POST', '/v1/mcp-connections', {
      key,
      body: { name, serverUrl: fixture.serverUrl },
    })
  ).body;

/** The connection as GraphQL answers it; its tools are asked of the live server. */
async function read(id: string, fields: string): Promise<unknown> {
  const globalId = Buffer.from(`McpServer:${id}`).toString('base64');
  const { data } = await gateway.graphql<{ node: unknown }>(
    key,
    `query ($id: ID!) { node(id: $id) { ... on McpServer { ${fields} } } }`,
    { id: globalId },
  );
  return data?.node;
}

async function use(id: string): Promise<unknown> {
  const { data } = await gateway.graphql<{ testMcpServer: unknown }>(
    key,
    'mutation ($id: ID!) { testMcpServer(input: { mcpServerId: $id }) { __typename ... on Error { message } } }',
    { id },
  );
  return data?.testMcpServer;
}

test('create → address → consent → connected → tools → expired → refreshed → revoked → why → authorize again', async () => {
  const { authorizationUrl, connection } = await create('Issue tracker');
  expect(await read(connection.id, 'status nextAction')).toEqual({
    status: 'PENDING_AUTHORIZATION',
    nextAction: 'COMPLETE_AUTHORIZATION',
  });
  const page = await consent(authorizationUrl);
  await shown(page, 'confirmation');
  expect(await page.locator('main').innerText()).toMatch(/Is this your connection\?[^]*Issue tracker[^]*@example\.com/);
  expect(await faultsOf(page)).toEqual([]);
  await decide(page, 'Connect');
  await shown(page, 'connected');
  expect(await page.locator('main').innerText()).toMatch(
    /Connected\s+The MCP connection “Issue tracker” is connected\.\s+You can close this window, or go on to the MCP connections\./,
  );
  expect(await faultsOf(page)).toEqual([]);
  const tools = [{ name: 'add' }, { name: 'now' }];
  expect(await read(connection.id, 'status issuer tools { name }')).toEqual({
    status: 'CONNECTED',
    issuer: fixture.issuer,
    tools,
  });

  gateway.setClock(new Date(Date.now() + 3_700_000));
  expect(await use(connection.id)).toEqual({ __typename: 'TestMcpServerPayload' });
  expect(fixture.refreshes()).toBe(1);

  await fixture.revokeAll();
  const reason =
    'the authorization server no longer accepts the refresh token (invalid_grant): it has expired or was revoked';
  expect(await use(connection.id)).toEqual({
    __typename: 'RemoteFailedError',
    message: `the MCP connection must be authorized: ${reason}`,
  });
  expect(await read(connection.id, 'status statusReason nextAction')).toEqual({
    status: 'AUTHORIZATION_REQUIRED',
    statusReason: reason,
    nextAction: 'AUTHORIZE',
  });

  gateway.setClock(undefined);
  const again = await gateway.rest<Created>('POST', `/v1/mcp-connections/${connection.id}/authorize`, { key });
  await decide(await consent(again.body.authorizationUrl), 'Connect');
  expect(await read(connection.id, 'status tools { name }')).toEqual({ status: 'CONNECTED', tools });

  // The form is sent again.
  await page.reload();
  await shown(page, 'reloaded');
  expect(await page.locator('main').innerText()).toMatch(/^Nothing to complete\s+This authorization is not known/m);
  expect(requested).toEqual([]);
});

test('who declines sees a page that confirms it, in light and dark and on a narrow screen, and can begin again', async () => {
  const { authorizationUrl, connection } = await create('<b>Wiki</b> & co');
  const page = await consent(authorizationUrl, { agree: false });
  expect(await page.locator('main').innerText()).toContain(
    'The MCP connection “<b>Wiki</b> & co” was not connected: the authorization server refused: access_denied.',
  );
  expect(await faultsOf(page)).toEqual([]);
  await shown(page, 'declined');
  await page.emulateMedia({ colorScheme: 'dark' });
  await shown(page, 'declined-dark');
  await page.setViewportSize({ width: 340, height: 640 });
  await shown(page, 'declined-narrow');
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(overflow).toBeLessThanOrEqual(0);
  expect(await read(connection.id, 'status statusReason')).toEqual({
    status: 'AUTHORIZATION_REQUIRED',
    statusReason: 'the authorization server refused: access_denied',
  });

  const again = await gateway.rest<Created>('POST', `/v1/mcp-connections/${connection.id}/authorize`, { key });
  const asked = await consent(again.body.authorizationUrl);
  await asked.emulateMedia({ colorScheme: 'dark' });
  await asked.setViewportSize({ width: 340, height: 640 });
  await shown(asked, 'confirmation-dark-narrow');
  expect(await faultsOf(asked)).toEqual([]);
  await decide(asked, 'Connect');
  expect(await read(connection.id, 'status')).toEqual({ status: 'CONNECTED' });
  expect(requested).toEqual([]);
});

test('somebody else who is sent the link, and says no, gives nothing away', async () => {
  const { authorizationUrl, connection } = await create('Trap');
  const page = await decide(await consent(authorizationUrl), 'Do not connect');
  expect(await page.locator('main').innerText()).toContain('it was declined before it was completed');
  expect(await read(connection.id, 'status connectedAt')).toEqual({
    status: 'AUTHORIZATION_REQUIRED',
    connectedAt: null,
  });
});

test('in the browser of the user who asked, signed in, nothing is asked', async () => {
  const { authorizationUrl } = await create('Known');
  const page = await person.newPage();
  await page.goto(`${server.url}/sign-in`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname !== '/sign-in');
  const connected = await consent(authorizationUrl);
  expect(await connected.locator('main').innerText()).toContain('The MCP connection “Known” is connected.');
});

test('in the console: from a connection that waits, through the authorization server, back to a connection that works', async () => {
  await create('From the console');
  const page = await person.newPage();
  await page.goto(`${server.url}/mcp-connections`);
  const row = page.getByRole('row', { name: /From the console/ });
  await row.getByRole('button', { name: 'Go on to authorize' }).click();
  await page.locator('input[name=prompt][value=consent]').waitFor({ state: 'attached' });
  await page.locator('button[type=submit]').click();
  await page.getByRole('link', { name: 'the MCP connections' }).click();
  await row.getByText('Connected', { exact: true }).waitFor();
  await row.getByRole('button', { name: 'Test' }).click();
  await expect.poll(() => row.textContent()).toMatch(/Nothing.*Authorize again/);
  await shown(page, 'connected-in-console');
});
