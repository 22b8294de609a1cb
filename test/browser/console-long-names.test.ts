import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { invite } from '../support/fixtures/invitations.ts';
import { mutate } from '../support/fixtures/sessions.ts';
import { answering, oddMcpHandler } from '../support/peers/odd-mcp-server.ts';
import { startPeer } from '../support/peers/mcp-server.ts';
import { VIEWS, accessibilityFindings, overflowOf, saveScreenshot, startSite } from '../support/processes/browser.ts';

/** Names of the greatest length without a space, on every page that shows names of people and servers, and in its forms. */

const long = (length: number) => 'W'.repeat(length);
const EMAIL = `${long(60)}@${'d'.repeat(62)}.${'d'.repeat(62)}.${'d'.repeat(60)}.com`.toLowerCase();

const site = await startSite({ ALLOW_PRIVATE_NETWORK: 'true' });
const SCHEMA = {
  type: 'object',
  properties: { [long(64)]: { type: 'string', enum: [long(120)] }, text: { type: 'string', description: long(400) } },
};
const tools = [{ name: long(128), title: long(200), description: long(2000), inputSchema: SCHEMA }];
const peer = await startPeer(oddMcpHandler({ tools }));
/** A server whose answer is a long fault, once it is broken. */
const other = await startPeer(oddMcpHandler());
const broken = answering('tools/list', ({ message, response }) => {
  const error = { code: -32_000, message: long(600) };
  response.writeHead(400, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }));
});
afterAll(() => Promise.all([peer.stop(), other.stop()]));
const { key } = await site.createKey();
const { connection, failing, webhook, token } = await writeLongNames();

async function change<Payload>(name: string, input: object, selection = '__typename'): Promise<Payload> {
  const { __typename, ...payload } = await mutate(site, key, name, input, selection);
  if (!__typename.endsWith('Payload')) throw new Error(`${name}: ${JSON.stringify(payload)}`);
  return payload as Payload;
}

async function writeLongNames() {
  const { data } = await site.graphql<{ viewer: { organization: { id: string } } }>(
    key,
    '{ viewer { organization { id } } }',
  );
  await change('updateOrganization', { organizationId: data?.viewer.organization.id, name: long(100) });
  await change('updateViewer', { name: long(100) });
  await change('createApiKey', { name: long(100), scopes: ['SESSIONS_READ'] });
  await change('createServiceAccount', { name: long(100) });
  await change('createEventDefinition', {
    name: 'long_event',
    label: long(100),
    description: long(5000),
    primaryObject: 'CUSTOM_OBJECT',
    customObjectName: long(100),
    propertyDefinitions: [
      { name: 'text', label: long(50), type: 'STRING' },
      { name: 'choice', label: long(50), type: 'ENUMERATION', options: [{ label: long(1000), value: long(200) }] },
    ],
  });
  const properties = { text: long(256), choice: long(200) };
  await change('sendEventOccurrences', { inputs: [{ eventName: 'long_event', objectId: long(255), properties }] });
  const idOf = async (name: string, serverUrl: string): Promise<string> => {
    const headers = [{ name: `X-${long(200)}`, value: 'value' }];
    const remote = { name, serverUrl, authType: 'STATIC_HEADERS', headers };
    const selection = 'mcpServer { databaseId }';
    const made = await change<{ mcpServer: { databaseId: string } }>('createMcpServer', { remote }, selection);
    return made.mcpServer.databaseId;
  };
  const connections = {
    connection: await idOf(long(200), `${peer.origin}/${long(2000)}`),
    failing: await idOf(long(199), other.origin),
  };
  other.handler = oddMcpHandler(broken);
  const made = await change<{ webhook: { databaseId: string } }>(
    'createWebhook',
    { url: `${peer.origin}/${long(1900)}` },
    'webhook { databaseId }',
  );
  const { token: invitation } = await invite(site, key, EMAIL);
  return { ...connections, webhook: made.webhook.databaseId, token: invitation };
}

/** What is wider than its frame: tables and dialogs, whose buttons would be out of view. */
const widerParts = (page: Page) =>
  page
    .locator('.table-frame, dialog[open]')
    .evaluateAll((parts) =>
      parts
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map((part) => part.getAttribute('aria-label')),
    );

/** The heights of rows of lists that are more than one line, or two on a phone. */
const tallRows = (page: Page) =>
  page
    .locator('.dense tbody tr')
    .evaluateAll((rows) =>
      rows.map((row) => row.getBoundingClientRect().height).filter((height) => height > (innerWidth > 800 ? 44 : 76)),
    );

const CONNECTION = `/mcp-connections/${connection}`;
/** The pages, and the button of a form on them. */
const PAGES: readonly (readonly [path: string, form?: string])[] = [
  ['/event-definitions'],
  ['/event-definitions/long_event'],
  ['/event-definitions/long_event', 'Edit'],
  ['/event-definitions/long_event', 'Change type'],
  ['/event-definitions/long_event', 'Erase…'],
  ['/event-definitions/long_event', 'Delete…'],
  ['/mcp-connections'],
  [CONNECTION],
  [CONNECTION, 'Choose allowed tools'],
  [CONNECTION, 'Try it'],
  [`/mcp-connections/${failing}`],
  [CONNECTION, 'Edit'],
  [CONNECTION, 'Settings'],
  [CONNECTION, 'Delete…'],
  ['/webhooks'],
  ['/webhooks', 'New webhook'],
  [`/webhooks/${webhook}`],
  [`/webhooks/${webhook}`, 'Edit'],
  [`/webhooks/${webhook}`, 'Replay'],
  ['/api-keys'],
  ['/api-keys', 'New API key'],
  ['/members'],
  ['/organization'],
  ['/organization', 'Change the retention…'],
  ['/organization', 'Redact in all sessions…'],
  ['/organization', 'Delete the organization…'],
  ['/groups'],
  ['/groups', 'New group'],
  ['/access-review'],
  ['/audit-log'],
  ['/profile'],
  ['/profile', 'Delete my account…'],
  [`/invitations/accept#${token}`],
];

test.each(VIEWS)('%s: pages and forms fit, and have no serious accessibility findings', async (view, options) => {
  const { page, problems } = await site.open('/profile', { ...options, key });
  for (const [path, form] of PAGES) {
    // Another fragment alone would not load the page again.
    await page.goto('about:blank');
    await page.goto(site.url + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    if (form) {
      await page.getByRole('button', { name: form, exact: true }).first().click();
      await page.getByRole('dialog').waitFor();
    }
    await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
    await saveScreenshot(page, `long-${path.split('/')[1]}-${form ?? ''}-${view}`);
    const found = [await overflowOf(page), await widerParts(page), await tallRows(page)];
    expect([path, form, ...found, await accessibilityFindings(page)]).toEqual([path, form, 0, [], [], []]);
  }
  expect(problems).toEqual([]);
});
