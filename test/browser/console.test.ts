import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { isConsolePath } from '../../src/gateway/pages/console.ts';
import { createDemoWorkspace } from '../../src/operator/demo-workspace.ts';
import { createSession, moveTo, mutate } from '../support/fixtures/sessions.ts';
import { callWebhooks, deliver, receive } from '../support/fixtures/webhooks.ts';
import {
  VIEWS,
  accessibilityFindings,
  saveScreenshot,
  openActions,
  overflowOf,
  startSite,
} from '../support/processes/browser.ts';

const PAGES = [
  ['/overview', 'Overview'],
  ['/sessions', 'Sessions'],
  ['/event-definitions', 'Event definitions'],
  ['/tool-approvals', 'Approvals'],
  ['/usage', 'Usage'],
  ['/record', 'Record'],
  ['/mcp-connections', 'MCP connections'],
  ['/webhooks', 'Webhooks'],
  ['/members', 'Members'],
  ['/api-keys', 'API keys'],
  ['/groups', 'Groups'],
  ['/access-review', 'Access review'],
  ['/audit-log', 'Audit log'],
  ['/organization', 'Organization'],
] as const;

const site = await startSite({ ALLOW_PRIVATE_NETWORK: 'true' });
/** The demo workspace, which has almost every kind of object. */
const demoKey = (await createDemoWorkspace(site.dependencies))?.key ?? '';
const { key } = await site.createKey();
const { mcpServer: connection } = await mutate<{ mcpServer: { databaseId: string } }>(
  site,
  demoKey,
  'createMcpServer',
  { stdio: { name: 'files', command: 'npx' } },
  'mcpServer { databaseId }',
);
const webhookId = await createWebhookWithLog();
/** The latest sessions: a running, a failed and a waiting one. */
const demo = await site.rest<{ items: { id: string; title: string }[] }>('GET', '/v1/sessions?limit=3', {
  key: demoKey,
});
/** Pages of single objects, with their titles. */
const DETAILS = [
  ...demo.body.items.map(({ id, title }) => [`/sessions/${id}`, title] as const),
  ['/profile', 'Profile'] as const,
  ['/event-definitions/order_completed', 'Order completed'] as const,
  [`/webhooks/${webhookId}`, 'Webhook'] as const,
  [`/mcp-connections/${connection.databaseId}`, 'files'] as const,
];

async function createWebhookWithLog(): Promise<string> {
  await using webhook = await receive(site, demoKey);
  await callWebhooks(site, demoKey, 'POST', `/${webhook.id}/ping`);
  await deliver(site);
  await callWebhooks(site, demoKey, 'POST', `/${webhook.id}/ping`);
  return webhook.id;
}

const record = (sessionId: string, eventData: object) =>
  mutate(site, key, 'appendSessionEvents', {
    sessionId,
    events: [{ eventType: 'stream_event', provider: 'anthropic', eventData }],
  });
const saying = (text: string, itemId: string) => ({
  type: 'stream_event',
  deltaType: 'text_delta',
  itemId,
  accumulatedText: text,
});

test('a visitor gets the requested page after signing in', async () => {
  const { page, problems } = await site.open('/usage');
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/usage');
  expect(problems).toEqual([]);
});

describe.each(VIEWS)('%s', (view, options) => {
  test('every page shows its data, fits into the window, can be reached by keyboard, and has no serious accessibility findings', async () => {
    const { page, problems } = await site.open('/', { ...options, key: demoKey });
    const isGood = async (name: string) => {
      await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
      await saveScreenshot(page, `console-${name}-${view}`);
      expect([name, await accessibilityFindings(page)]).toEqual([name, []]);
      expect([name, await overflowOf(page)]).toEqual([name, 0]);
    };
    const links = page.getByRole('navigation', { name: 'Console' }).getByRole('link');
    await expect
      .poll(() => links.evaluateAll((all) => all.map((each) => new URL((each as HTMLAnchorElement).href).pathname)))
      .toEqual(PAGES.map(([path]) => path));
    // Each address can be opened by itself, too.
    expect(PAGES.filter(([path]) => !isConsolePath(path))).toEqual([]);
    for (const [path, name] of PAGES) {
      const link = page.getByRole('link', { name, exact: true });
      await link.focus();
      await page.keyboard.press('Enter');
      await page.waitForURL(site.url + path);
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      await expect.poll(() => link.getAttribute('aria-current')).toBe('page');
      // The focus is on the title, so that screen readers announce the new page.
      await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('page-title');
      await expect.poll(() => page.title()).toBe(`${name} – Workspace gateway`);
      await isGood(path.slice(1));
    }
    for (const [path, title] of DETAILS) {
      await page.goto(site.url + path);
      await page.getByRole('heading', { name: title, level: 1 }).waitFor();
      await isGood(path.split('/')[1] ?? '');
    }
    expect(problems).toEqual([]);
  });
});

describe('a session', () => {
  test('has a live timeline: text is extended in place, and the end of the session is shown', async () => {
    const sessionId = await createSession(site, key, { title: 'Followed' });
    await moveTo(site, key, sessionId, 'IN_PROGRESS');
    await record(sessionId, saying('I look', 'one'));
    const { page, problems } = await site.open(`/sessions/${sessionId}`, { key });
    await page.getByText('Live: new events appear by themselves.').waitFor();
    // The tool's input is text that a web page can have written.
    await record(sessionId, {
      type: 'content_block_delta',
      deltaType: 'input_json_delta',
      toolName: 'Bash',
      itemId: 'odd',
      accumulatedText: '{"x":{"toString":1,"valueOf":1}}',
    });
    await page.getByText('{"toString":1,"valueOf":1}').first().waitFor();
    await record(sessionId, saying('I look at the cart', 'one'));
    await page.getByText('I look at the cart').waitFor();
    await expect.poll(() => page.locator('.item').count()).toBe(2);
    await moveTo(site, key, sessionId, 'COMPLETED');
    await page.getByText('The session is finished.').waitFor();
    expect(problems).toEqual([]);
  });

  test('with many events shows only a part of them; a link opens any event, and scrolling loads more', async () => {
    const sessionId = await createSession(site, key, { title: 'Long' });
    for (let page = 0; page < 3; page++) {
      await mutate(site, key, 'appendSessionEvents', {
        sessionId,
        events: Array.from({ length: 1000 }, (_, index) => ({
          eventType: 'stream_event',
          provider: 'anthropic',
          eventData: saying(`message ${page * 1000 + index + 1}`, `item ${page} ${index}`),
        })),
      });
    }
    const { page, problems } = await site.open(`/sessions/${sessionId}#event-1`, { key });
    await page.getByText('message 1', { exact: true }).waitFor();
    expect(await page.locator('.item').count()).toBeLessThan(1000);
    await page.getByRole('button', { name: 'Latest events' }).click();
    await page.getByText('message 3000', { exact: true }).waitFor();
    expect(await page.locator('.item').count()).toBeLessThan(1000);
    await page.goto(`${site.url}/sessions/${sessionId}#event-1500`);
    await page.reload();
    await page.locator('.item.wanted', { hasText: 'message 1500' }).waitFor();
    // While the wanted event gets its place, it may undo a scroll.
    const scrolled = async () => {
      await page.locator('.item').last().scrollIntoViewIfNeeded();
      return page.getByText('message 1800', { exact: true }).count();
    };
    await expect.poll(scrolled).toBe(1);
    expect(problems).toEqual([]);
  });
});

test('the list of sessions shows sessions that others create, also before its subscription begins', async () => {
  const context = await site.newContext({ key });
  const isLoaded = Promise.withResolvers<void>();
  const mayShow = Promise.withResolvers<void>();
  let loads = 0;
  // The list is loaded once more when its subscription has begun.
  await context.route('**/graphql', async (route, request) => {
    if (/query Sessions/.test(request.postData() ?? '') && ++loads === 2) {
      isLoaded.resolve();
      await mayShow.promise;
    }
    await route.continue();
  });
  const shown = (page: Page, title: string) => page.getByRole('link', { name: title }).waitFor();
  await createSession(site, key, { title: 'Made before' });
  const { page, problems } = await site.open('/sessions', {}, context);
  await isLoaded.promise;
  await createSession(site, key, { title: 'Made meanwhile' });
  mayShow.resolve();
  await shown(page, 'Made before');
  await shown(page, 'Made meanwhile');
  await createSession(site, key, { title: 'Made elsewhere' });
  await shown(page, 'Made elsewhere');
  expect(problems).toEqual([]);
});

test('a new key is shown once, and its revocation ends the sign-in with it', async () => {
  const { page } = await site.open('/api-keys', { key });
  await page.getByRole('button', { name: 'New API key' }).click();
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('runner');
  await page.getByRole('dialog').getByLabel('Purpose').selectOption('Everything that your own key may do');
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  const made = await page.locator('.secret code').textContent();
  expect(made).toMatch(/^wgk_[0-9A-Za-z]{36}$/);
  const other = await site.newContext({ key: String(made) });
  const open = await site.open('/api-keys', {}, other);
  await open.page.getByRole('row', { name: /runner/ }).waitFor();
  await openActions(page.getByRole('row', { name: /runner/ }));
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect.poll(() => page.getByRole('row', { name: /runner/ }).count()).toBe(0);
  // The next request of an open page, and that of a new one.
  await open.page.evaluate(() => document.querySelector<HTMLElement>('a[href^="/usage"]')?.click());
  await open.page.waitForURL(/\/sign-in\?/);
  const { page: next } = await site.open('/usage', {}, other);
  await next.waitForURL(/\/sign-in\?/);
});
