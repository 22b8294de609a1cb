import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { mutate } from '../support/fixtures/sessions.ts';
import { startOidcFixture } from '../support/peers/mcp-oidc-server.ts';
import { answering, oddMcpHandler } from '../support/peers/odd-mcp-server.ts';
import { type Handler, startPeer } from '../support/peers/mcp-server.ts';
import { VIEWS, accessibilityFindings, overflowOf, saveScreenshot, startSite } from '../support/processes/browser.ts';

/** The page of an MCP connection, and the forms that create, change, try and delete one. */

const site = await startSite({ ALLOW_PRIVATE_NETWORK: 'true' });
const { key, organization } = await site.createKey();

const LONG = 'x'.repeat(120);
const SEARCH = {
  name: 'search',
  title: 'Search',
  description: `Finds issues. ${LONG}`,
  inputSchema: {
    type: 'object',
    properties: { query: { type: 'string' }, count: { type: 'integer' }, filter: { type: 'object' } },
    required: ['query'],
  },
  annotations: { readOnlyHint: true },
};
const REMOVE = { name: 'remove', inputSchema: { type: 'object', oneOf: [{}] }, annotations: { destructiveHint: true } };
const ADD = { name: 'add', inputSchema: { type: 'object' }, annotations: { destructiveHint: false } };
const ODD = { name: `odd_${LONG}`, inputSchema: { type: 'string' } };

/** A server that answers each call with its arguments. */
function server(): Handler {
  const odd = answering('tools/call', ({ message, response }) => {
    const { id, params } = message;
    const result = { content: [{ type: 'text', text: JSON.stringify(params) }], structuredContent: { found: 2 } };
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  return oddMcpHandler({ ...odd, tools: [SEARCH, REMOVE, ADD, ODD] });
}

const peer = await startPeer(server());
afterAll(() => peer.stop());
// The URL to which the authorization server redirects the browser.
site.dependencies.address.url = site.url;
const guarded = await startOidcFixture();
afterAll(() => guarded.stop());

const dialog = (page: Page) => page.getByRole('dialog');
/** How much wider the tables are than their frames, in pixels: at no width a button is out of view. */
const hidden = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('.table-frame')].map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
  );

async function isGood(page: Page, name: string): Promise<void> {
  await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
  await saveScreenshot(page, `mcp-${name}`);
  const cut = (await hidden(page)).filter((pixels) => pixels > 0);
  expect([name, await accessibilityFindings(page), await overflowOf(page), cut]).toEqual([name, [], 0, []]);
}

async function connectionOf(name: string, serverUrl = `${peer.origin}/mcp`): Promise<string> {
  const input = { remote: { name, serverUrl } };
  const payload = await mutate<{ mcpServer: { databaseId: string } }>(
    site,
    key,
    'createMcpServer',
    input,
    'mcpServer { databaseId }',
  );
  return payload.mcpServer.databaseId;
}

test.each(VIEWS)(
  '%s: the page shows state, tools with their effects and addresses; nothing is cut off',
  async (name, view) => {
    const id = await connectionOf(`Tracker ${name} ${LONG.slice(0, 60)}`);
    await connectionOf(`Guarded ${name}`, guarded.serverUrl);
    const { page, problems } = await site.open('/mcp-connections', { ...view, key });
    await page.getByRole('button', { name: 'Continue authorization' }).first().waitFor();
    await isGood(page, `list-${name}`);
    const link = page.getByRole('link', { name: new RegExp(`^Tracker ${name}`) });
    await link.focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${site.url}/mcp-connections/${id}`);
    await page.getByText('The server answers and needs no authorization.').waitFor();
    const tool = (text: string) => page.getByRole('row').filter({ hasText: text });
    await tool('search').getByText('Reads').waitFor();
    await tool('remove').getByText('May destroy').waitFor();
    await tool('add').getByText('Writes').waitFor();
    await tool('odd_').getByText('inputSchema.type: must be "object"').waitFor();
    await isGood(page, `page-${name}`);
    for (const summary of await page.locator('details:has(.copyable) > summary').all()) await summary.click();
    // The address, eight clients that sign in, and six with a key.
    await expect
      .poll(() => page.locator('.copyable pre').allTextContents())
      .toEqual(Array.from({ length: 15 }, () => expect.stringContaining(`${site.url}/v1/mcp-connections/${id}/mcp`)));
    await isGood(page, `addresses-${name}`);

    // Try it: a form from the schema.
    await tool('search').getByRole('button', { name: 'Try it' }).press('Enter');
    await dialog(page).getByLabel('query').fill('login');
    await dialog(page).getByLabel('count').fill('many');
    await dialog(page).getByLabel('query').press('Enter');
    await dialog(page).getByText('count: must be a number').waitFor();
    await dialog(page).getByLabel('count').fill('3');
    await dialog(page).getByLabel('filter as JSON').fill('{"open":true}');
    await dialog(page).getByRole('button', { name: 'Call the tool' }).click();
    await dialog(page)
      .getByText('{"arguments":{"query":"login","count":3,"filter":{"open":true}},"name":"search"}')
      .waitFor();
    await dialog(page).getByText('"found": 2').waitFor();
    await isGood(page, `try-${name}`);
    await dialog(page).getByRole('button', { name: 'Close' }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog(page).count()).toBe(0);
    // A schema that no form can show is answered with JSON.
    await tool('remove').getByRole('button', { name: 'Try it' }).click();
    await dialog(page).getByLabel('Arguments as JSON').fill('{"id":1}');
    await dialog(page).getByRole('button', { name: 'Call the tool for real' }).click();
    await dialog(page).getByText('{"arguments":{"id":1},"name":"remove"}').waitFor();
    await page.reload();
    await page.getByRole('table', { name: 'Calls of tools' }).getByText('remove').waitFor();
    await isGood(page, `calls-${name}`);
    expect(problems).toEqual([]);
  },
);

test('who manages the connection chooses the allowed tools, changes its name and settings, and deletes it', async () => {
  const id = await connectionOf('Managed');
  const deleted = await connectionOf('Tracker', `${peer.origin}/other`);
  await site.rest('DELETE', `/v1/mcp-connections/${deleted}`, { key });
  const { page, problems } = await site.open(`/mcp-connections/${id}`, { width: 390, key });
  await page.getByRole('button', { name: 'Choose allowed tools' }).click();
  await dialog(page).getByLabel('Tools that agents can use').selectOption('ONLY');
  await dialog(page).getByLabel('remove').uncheck();
  await isGood(page, 'policy');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  const remove = page.getByRole('row').filter({ hasText: 'remove' });
  await remove.getByText('No', { exact: true }).waitFor();
  await expect.poll(() => remove.getByRole('button', { name: 'Try it' }).count()).toBe(0);
  const { body } = await site.rest('GET', `/v1/mcp-connections/${id}/settings`, { key });
  expect(body).toMatchObject({ toolPolicy: { mode: 'ONLY', names: ['search', 'add', ODD.name] } });

  await page.getByRole('button', { name: 'Settings' }).click();
  await dialog(page).getByLabel('Handle').fill('not a handle');
  await dialog(page).getByLabel('Calls in the events of sessions').selectOption('NONE');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).locator('.field', { hasText: 'Handle' }).getByText('must be letters').waitFor();
  await isGood(page, 'settings');
  await dialog(page).getByLabel('Handle').fill('tracker');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).getByText('tracker was the handle of another MCP connection').waitFor();
  await dialog(page).getByLabel('Take it even if another connection had it').check();
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.locator('dd', { hasText: /^tracker$/ }).waitFor();

  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog(page).getByLabel('Name').fill('Renamed');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Renamed', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await dialog(page).getByLabel('Type tracker').fill('tracker');
  await isGood(page, 'delete');
  await dialog(page).getByRole('button', { name: 'Delete permanently' }).click();
  await page.waitForURL(`${site.url}/mcp-connections`);
  expect((await site.rest('GET', `/v1/mcp-connections/${id}`, { key })).status).toBe(404);
  expect(problems).toEqual([]);
});

test('a member sees the page without what only administrators can do', async () => {
  const id = await connectionOf('Shared with members');
  const member = await site.createKey({ organization, role: 'member' });
  const { page, problems } = await site.open(`/mcp-connections/${id}`, { key: member.key });
  await page.getByRole('row').filter({ hasText: 'search' }).getByRole('button', { name: 'Try it' }).waitFor();
  for (const name of ['Choose allowed tools', 'Settings', 'Edit', 'Delete…'])
    expect([name, await page.getByRole('button', { name }).count()]).toEqual([name, 0]);
  expect(await page.getByText('Calls of tools').count()).toBe(0);
  await page.goto(`${site.url}/mcp-connections/00000000-0000-4000-8000-000000000000`);
  await page.getByText('There is no such MCP connection').waitFor();
  expect(problems).toEqual([]);
});

test('connections of all kinds are created; the faults of the API are at the fields', async () => {
  const { page, problems } = await site.open('/mcp-connections', { width: 390, key });
  const open = async (kind: string) => {
    await page.goto(`${site.url}/mcp-connections`);
    await page.getByRole('button', { name: 'New MCP connection' }).click();
    await dialog(page).getByLabel('Kind').selectOption(kind);
    await isGood(page, `create-${kind}`);
  };
  const create = () => dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  const fill = (label: string, text: string) => dialog(page).getByLabel(label).fill(text);
  const shown = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();

  await open('STDIO');
  await fill('Name', 'files');
  await create();
  await dialog(page).locator('.field', { hasText: 'Command' }).locator('.fault').waitFor();
  await fill('Command', 'npx');
  await fill('Arguments', '-y\nserver files');
  await fill('Environment variables', 'TOKEN=a=b');
  await create();
  await shown('files');
  await page.getByText('npx -y server files').waitFor();
  await page.locator('dd', { hasText: /^TOKEN$/ }).waitFor();

  await open('STATIC_HEADERS');
  await fill('Name', 'with headers');
  await fill('Address of the server', `${peer.origin}/mcp`);
  await fill('Headers', 'X-Key: a:b');
  await create();
  await shown('with headers');
  await page.locator('dd', { hasText: /^X-Key$/i }).waitFor();

  await open('OAUTH');
  await fill('Name', 'open');
  await fill('Address of the server', `${peer.origin}/mcp`);
  await create();
  await shown('open');

  await open('CLIENT_CREDENTIALS');
  await fill('Name', 'client');
  await fill('Address of the server', `${peer.origin}/mcp`);
  await create();
  await dialog(page).locator('.field', { hasText: 'Client secret' }).locator('.fault').waitFor();
  await fill('Client id', 'runner');
  await fill('Client secret', 'secret');
  await create();
  // The server is open, so it needs no token.
  await shown('client');
  await page.getByText('Client credentials', { exact: true }).waitFor();
  expect(problems).toEqual([]);
});
