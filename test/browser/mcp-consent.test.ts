import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { startOidcFixture } from '../support/peers/mcp-oidc-server.ts';
import {
  accessibilityFindings,
  saveScreenshot,
  openActions,
  overflowOf,
  startSite,
} from '../support/processes/browser.ts';

/** A person authorizes a connection in a browser: on pages of an independent authorization server, then on pages of the gateway. */

const site = await startSite({ ALLOW_PRIVATE_NETWORK: 'true' });
// The URL to which the authorization server redirects the browser.
site.dependencies.address.url = site.url;
const { key } = await site.createKey();
const fixture = await startOidcFixture();
afterAll(() => fixture.stop());

/** Requests of the gateway's pages, except for the pages themselves. */
const requested: string[] = [];

/** Logs in at the authorization server if necessary, and presses a button of its consent page. */
async function answer(page: Page, { agree = true } = {}): Promise<void> {
  const login = page.locator('input[name=login]');
  const prompt = page.locator('input[name=prompt][value=consent]');
  await login.or(prompt).waitFor({ state: 'attached' });
  if ((await login.count()) > 0) {
    await login.fill('ann');
    await page.locator('input[name=password]').fill('any');
    await saveScreenshot(page, 'login');
    await page.locator('button[type=submit]').click();
  }
  await prompt.waitFor({ state: 'attached' });
  await saveScreenshot(page, 'consent');
  if (agree) await page.locator('button[type=submit]').click();
  else await page.getByText('Cancel').click();
  await page.waitForURL((url) => url.pathname === '/v1/mcp-connections/oauth/callback');
}

/** Opens the authorization URL and returns to the gateway. */
async function consent(authorizationUrl: string, person: BrowserContext, options = { agree: true }): Promise<Page> {
  const { page } = await site.open(authorizationUrl, {}, person);
  page.on('request', (request) => {
    if (request.frame().url().startsWith(site.url) && !request.isNavigationRequest()) requested.push(request.url());
  });
  await answer(page, options);
  return page;
}

/** Accessibility findings with any impact. */
const faultsOf = (page: Page) => accessibilityFindings(page, { impacts: ['minor', 'moderate', 'serious', 'critical'] });

/** Presses a button of the page that asks whether the connection belongs to the user. */
async function decide(page: Page, button: 'Connect' | 'Do not connect'): Promise<Page> {
  const answered = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.getByRole('button', { name: button, exact: true }).click();
  await answered;
  await page.locator('.next').waitFor();
  return page;
}

interface Created {
  authorizationUrl: string;
  connection: { id: string };
}

const create = async (name: string) =>
  (
    await site.rest<Created>('POST', '/v1/mcp-connections', {
      key,
      body: { name, serverUrl: fixture.serverUrl },
    })
  ).body;

/** Reads the connection over GraphQL. Its tools are requested from the MCP server. */
async function read(id: string, fields: string): Promise<unknown> {
  const globalId = Buffer.from(`McpServer:${id}`).toString('base64');
  const { data } = await site.graphql<{ node: unknown }>(
    key,
    `query ($id: ID!) { node(id: $id) { ... on McpServer { ${fields} } } }`,
    { id: globalId },
  );
  return data?.node;
}

async function use(id: string): Promise<unknown> {
  const { data } = await site.graphql<{ testMcpServer: unknown }>(
    key,
    'mutation ($id: ID!) { testMcpServer(input: { mcpServerId: $id }) { __typename ... on Error { message } } }',
    { id },
  );
  return data?.testMcpServer;
}

test('a connection is created, authorized, used, refreshed, revoked with a reason, and authorized again', async () => {
  const person = await site.newContext();
  const { authorizationUrl, connection } = await create('Issue tracker');
  expect(await read(connection.id, 'status nextAction')).toEqual({
    status: 'PENDING_AUTHORIZATION',
    nextAction: 'COMPLETE_AUTHORIZATION',
  });
  const page = await consent(authorizationUrl, person);
  await saveScreenshot(page, 'confirmation');
  expect(await page.locator('main').innerText()).toMatch(/Is this your connection\?[^]*Issue tracker[^]*@example\.com/);
  expect(await faultsOf(page)).toEqual([]);
  await decide(page, 'Connect');
  await saveScreenshot(page, 'connected');
  expect(await page.locator('main').innerText()).toMatch(
    /Connected\s+The MCP connection “Issue tracker” is connected\.\s+Continue with MCP connections\./,
  );
  expect(await faultsOf(page)).toEqual([]);
  const tools = [{ name: 'add' }, { name: 'now' }];
  expect(await read(connection.id, 'status issuer tools { name }')).toEqual({
    status: 'CONNECTED',
    issuer: fixture.issuer,
    tools,
  });

  site.setClock(new Date(Date.now() + 3_700_000));
  expect(await use(connection.id)).toEqual({ __typename: 'TestMcpServerPayload' });
  expect(fixture.refreshes()).toBe(1);

  await fixture.revokeAll();
  // A token is not refreshed again within 10 seconds.
  site.setClock(new Date(Date.now() + 3_711_000));
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

  site.setClock(undefined);
  const again = await site.rest<Created>('POST', `/v1/mcp-connections/${connection.id}/authorize`, { key });
  await decide(await consent(again.body.authorizationUrl, person), 'Connect');
  expect(await read(connection.id, 'status tools { name }')).toEqual({ status: 'CONNECTED', tools });

  // The reload sends the form again.
  await page.reload();
  await saveScreenshot(page, 'reloaded');
  expect(await page.locator('main').innerText()).toMatch(/^Nothing to complete\s+This authorization is unknown/m);
  expect(requested).toEqual([]);
});

test('a person who declines sees a confirmation, in light and dark and on a narrow screen, and can begin again', async () => {
  const person = await site.newContext();
  const { authorizationUrl, connection } = await create('<b>Wiki</b> & co');
  const page = await consent(authorizationUrl, person, { agree: false });
  expect(await page.locator('main').innerText()).toContain(
    'The MCP connection “<b>Wiki</b> & co” was not connected: the authorization server refused: access_denied: "End-User aborted interaction".',
  );
  expect(await faultsOf(page)).toEqual([]);
  await saveScreenshot(page, 'declined');
  await page.emulateMedia({ colorScheme: 'dark' });
  await saveScreenshot(page, 'declined-dark');
  await page.setViewportSize({ width: 340, height: 640 });
  await saveScreenshot(page, 'declined-narrow');
  expect(await overflowOf(page)).toBe(0);
  expect(await read(connection.id, 'status statusReason')).toEqual({
    status: 'AUTHORIZATION_REQUIRED',
    statusReason: 'the authorization server refused: access_denied: "End-User aborted interaction"',
  });

  const again = await site.rest<Created>('POST', `/v1/mcp-connections/${connection.id}/authorize`, { key });
  const asked = await consent(again.body.authorizationUrl, person);
  await asked.emulateMedia({ colorScheme: 'dark' });
  await asked.setViewportSize({ width: 340, height: 640 });
  await saveScreenshot(asked, 'confirmation-dark-narrow');
  expect(await faultsOf(asked)).toEqual([]);
  await decide(asked, 'Connect');
  expect(await read(connection.id, 'status')).toEqual({ status: 'CONNECTED' });
  expect(requested).toEqual([]);
});

test('a person who receives the link of somebody else and declines connects nothing', async () => {
  const person = await site.newContext();
  const { authorizationUrl, connection } = await create('Trap');
  const page = await decide(await consent(authorizationUrl, person), 'Do not connect');
  expect(await page.locator('main').innerText()).toContain('the authorization was declined');
  expect(await read(connection.id, 'status connectedAt')).toEqual({
    status: 'AUTHORIZATION_REQUIRED',
    connectedAt: null,
  });
});

test('the signed-in user who started the authorization is not asked for confirmation', async () => {
  const person = await site.newContext({ key });
  const { authorizationUrl } = await create('Known');
  const connected = await consent(authorizationUrl, person);
  expect(await connected.locator('main').innerText()).toContain('The MCP connection “Known” is connected.');
});

test('a pending connection can be authorized from the console, and then works', async () => {
  await create('From the console');
  const { page } = await site.open('/mcp-connections', { key });
  const row = page.getByRole('row', { name: /From the console/ });
  await row.getByRole('button', { name: 'Continue authorization' }).click();
  await answer(page);
  await page.getByRole('link', { name: 'MCP connections', exact: true }).click();
  await row.getByText('Connected', { exact: true }).waitFor();
  const checkedAt = () => row.locator('time').getAttribute('datetime');
  const before = await checkedAt();
  await openActions(row);
  await row.getByRole('button', { name: 'Test' }).click();
  await expect.poll(checkedAt).not.toBe(before);
  await row.getByText('Connected', { exact: true }).waitFor();
  await row.getByRole('button', { name: 'Authorize again' }).waitFor();
  await saveScreenshot(page, 'connected-in-console');
});
