import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createGateway } from '../../src/gateway/gateway.ts';
import { createDemoWorkspace } from '../../src/operator/demo-workspace.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { createSession, moveTo, mutate } from '../support/fixtures/sessions.ts';
import {
  type OpenPage,
  type TestBrowser,
  VIEWS,
  accessibilityFindings,
  overflowOf,
  patience,
  startBrowser,
} from '../support/processes/browser.ts';

const PAGES = [
  ['/sessions', 'Sessions'],
  ['/event-definitions', 'Event definitions'],
  ['/mcp-connections', 'MCP connections'],
  ['/api-keys', 'API keys'],
  ['/members', 'Members'],
  ['/audit-log', 'Audit log'],
  ['/usage', 'Usage'],
] as const;
const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>';

let gateway: TestGateway;
let server: RunningServer;
let browser: TestBrowser;
let key: string;
const pages: OpenPage[] = [];
/** The demo workspace, which has something of almost everything. */
const full: { key: string; details: (readonly [path: string, title: string])[] } = { key: '', details: [] };

beforeAll(async () => {
  gateway = await startTestGateway();
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  browser = await startBrowser();
  full.key = (await createDemoWorkspace(gateway.dependencies))?.key ?? '';
  await fill();
  ({ key } = await gateway.createKey());
});
afterEach(async () => {
  for (const { page } of pages.splice(0)) await page.close();
});
afterAll(async () => {
  await browser.close();
  await server.stop(1_000);
  await gateway.close();
});

async function fill(): Promise<void> {
  await mutate(gateway, full.key, 'createMcpServer', { stdio: { name: 'files', command: 'npx' } });
  const { data } = await gateway.graphql<{ viewer: { organization: { sessions: { nodes: Session[] } } } }>(
    full.key,
    '{ viewer { organization { sessions { nodes { databaseId title } } } } }',
  );
  const sessions = data?.viewer.organization.sessions.nodes ?? [];
  full.details = [
    ...sessions.map(({ databaseId, title }) => [`/sessions/${databaseId}`, title] as const),
    ['/event-definitions/product_viewed', 'Product viewed'],
  ];
}

interface Session {
  readonly databaseId: string;
  readonly title: string;
}

/** Opens a page of the console by way of the sign-in page, where somebody without a sign-in is sent. */
async function open(path: string, signInWith = key): Promise<OpenPage> {
  const one = await browser.open(server.url + path);
  pages.push(one);
  await one.page.getByLabel('API key').fill(signInWith);
  await one.page.getByRole('button', { name: 'Sign in' }).click();
  await one.page.getByRole('navigation', { name: 'Console' }).waitFor();
  return one;
}

const record = (sessionId: string, eventData: object) =>
  mutate(gateway, key, 'appendSessionEvents', {
    sessionId,
    events: [{ eventType: 'stream_event', provider: 'anthropic', eventData }],
  });
const saying = (text: string, itemId: string) => ({
  type: 'stream_event',
  deltaType: 'text_delta',
  itemId,
  accumulatedText: text,
});

test('a visitor who is not signed in signs in, and gets the page that they asked for', async () => {
  const { page, complaints } = await open('/usage');
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/usage');
  expect(complaints).toEqual([]);
});

describe.each(VIEWS)('%s', (view, options) => {
  test('every page shows what there is, fits, is reached by keyboard, and has no serious finding of accessibility', async () => {
    const { page, complaints } = await browser.open(`${server.url}/`, { ...options, key: full.key });
    pages.push({ page, complaints });
    const isGood = async (name: string) => {
      await expect.poll(() => page.getByText('Loading…').count(), patience).toBe(0);
      await browser.keep(page, `console-${name}-${view}`);
      expect([name, await accessibilityFindings(page)]).toEqual([name, []]);
      expect([name, await overflowOf(page)]).toEqual([name, 0]);
    };
    for (const [path, name] of PAGES) {
      const link = page.getByRole('link', { name, exact: true });
      await link.focus();
      await page.keyboard.press('Enter');
      await page.waitForURL(server.url + path);
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      expect(await link.getAttribute('aria-current')).toBe('page');
      // Where a page begins, for those who do not see that it is another one.
      await expect.poll(() => page.evaluate(() => document.activeElement?.id), patience).toBe('page-title');
      expect(await page.title()).toBe(`${name} – Workspace gateway`);
      await isGood(path.slice(1));
    }
    for (const [path, title] of full.details) {
      await page.goto(server.url + path);
      await page.getByRole('heading', { name: title, level: 1 }).waitFor();
      await isGood(path.split('/')[1] ?? '');
    }
    expect(complaints).toEqual([]);
  });
});

describe('a session', () => {
  test('what others wrote stays text, on the list and in the timeline', async () => {
    const sessionId = await createSession(gateway, key, { title: HOSTILE, description: HOSTILE });
    await record(sessionId, saying(HOSTILE, 'one'));
    await record(sessionId, {
      type: 'tool_result',
      itemId: 'two',
      toolName: HOSTILE,
      toolResult: { status: 'error', error: HOSTILE, output: HOSTILE },
    });
    const { page, complaints } = await open('/sessions');
    await page.getByRole('link', { name: HOSTILE }).click();
    await page.getByRole('heading', { name: HOSTILE, level: 1 }).waitFor();
    await expect.poll(() => page.getByText(HOSTILE).count(), patience).toBeGreaterThanOrEqual(6);
    expect(await page.locator('#content img, #content script').count()).toBe(0);
    expect(await accessibilityFindings(page)).toEqual([]);
    await browser.keep(page, 'console-session-hostile');
    expect(complaints).toEqual([]);
  });

  test('its timeline follows live: text grows in place, and the end of the session is shown', async () => {
    const sessionId = await createSession(gateway, key, { title: 'Followed' });
    await moveTo(gateway, key, sessionId, 'IN_PROGRESS');
    await record(sessionId, saying('I look', 'one'));
    const { page, complaints } = await open(`/sessions/${sessionId}`);
    await page.getByText('Live: new events appear by themselves.').waitFor();
    await record(sessionId, saying('I look at the cart', 'one'));
    await page.getByText('I look at the cart').waitFor();
    expect(await page.locator('.item').count()).toBe(1);
    await moveTo(gateway, key, sessionId, 'COMPLETED');
    await page.getByText('The session is finished.').waitFor();
    expect(complaints).toEqual([]);
  });

  test('of many events a part is in the page; a link leads to any one, and the rest follows as somebody scrolls', async () => {
    const sessionId = await createSession(gateway, key, { title: 'Long' });
    for (let page = 0; page < 3; page++) {
      await mutate(gateway, key, 'appendSessionEvents', {
        sessionId,
        events: Array.from({ length: 1000 }, (_, index) => ({
          eventType: 'stream_event',
          provider: 'anthropic',
          eventData: saying(`message ${page * 1000 + index + 1}`, `item ${page} ${index}`),
        })),
      });
    }
    const { page, complaints } = await open(`/sessions/${sessionId}`);
    await page.getByText('message 1', { exact: true }).waitFor();
    expect(await page.locator('.item').count()).toBeLessThan(1000);
    await page.getByRole('button', { name: 'Go to the latest events' }).click();
    await page.getByText('message 3000', { exact: true }).waitFor();
    expect(await page.locator('.item').count()).toBeLessThan(1000);
    await page.goto(`${server.url}/sessions/${sessionId}#event-1500`);
    await page.reload();
    await page.locator('.item.wanted', { hasText: 'message 1500' }).waitFor();
    await page.locator('.item').last().scrollIntoViewIfNeeded();
    await page.getByText('message 1800', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });
});

test('the list of sessions shows a session that somebody else creates', async () => {
  const { page, complaints } = await open('/sessions');
  const isFollowing = page.waitForResponse((response) => /SessionChanged/.test(response.request().postData() ?? ''));
  await page.reload();
  await isFollowing;
  await createSession(gateway, key, { title: 'Made elsewhere' });
  await page.getByRole('link', { name: 'Made elsewhere' }).waitFor();
  expect(complaints).toEqual([]);
});

test('a key is created and shown once; revoked, it ends the sign-in that was made with it', async () => {
  const { page } = await open('/api-keys');
  await page.getByLabel('Name', { exact: true }).fill('runner');
  await page.getByRole('button', { name: 'Create key' }).click();
  const made = await page.locator('.secret code').textContent();
  expect(made).toMatch(/^wgk_[0-9A-Za-z]{36}$/);
  const other = await open('/api-keys', String(made));
  await page
    .getByRole('row', { name: /runner/ })
    .getByRole('button', { name: 'Revoke' })
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect.poll(() => page.getByRole('row', { name: /runner/ }).count(), patience).toBe(0);
  await other.page.getByRole('link', { name: 'Usage', exact: true }).click();
  await other.page.waitForURL(/\/sign-in\?/);
});
