import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { EXAMPLES } from '../../src/gateway/pages/graphiql-examples.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import {
  type OpenPage,
  type TestBrowser,
  accessibilityFindings,
  patience,
  startBrowser,
} from '../support/processes/browser.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { proof } from '../support/proof.ts';
import { append, createSession, eventsOf, moveTo } from '../support/fixtures/sessions.ts';

let gateway: TestGateway;
let server: RunningServer;
let browser: TestBrowser;
const pages: OpenPage[] = [];
let people = 0;

beforeAll(async () => {
  gateway = await startTestGateway();
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  browser = await startBrowser();
});

afterEach(async () => {
  for (const { page } of pages.splice(0)) await page.close();
});
afterAll(async () => {
  await browser.close();
  await server.stop(1_000);
  await gateway.close();
});

// GraphiQL puts its editors together after the page is there, and moves tabs into their places: what is done too early goes nowhere. So each
// step is looked at, and done again where it has not come about.

const brief = { timeout: 5_000 };
const step = { timeout: 20_000, interval: 100 };
const headersOf = (page: Page) => page.locator('.graphiql-editor-tool .graphiql-editor').filter({ visible: true });
const queryOf = (page: Page) => page.locator('.graphiql-query-editor .graphiql-editor');
const executeOf = (page: Page) => page.locator('.graphiql-execute-button');
const tabsOf = (page: Page) => page.getByRole('list', { name: 'Select active operation' });
const currentTabOf = (page: Page) => tabsOf(page).locator('button[aria-current=true]');

/** What the tabs of the examples are called. */
const NAMES = EXAMPLES.map(({ query }) => /^(?:query|mutation|subscription) (\w+)/m.exec(query)?.[1] ?? '');
const LAST = NAMES.at(-1) ?? '';

/** The name of what the keyboard is at. */
const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent);

/** Editors write non-breaking spaces. */
const textOf = async (editor: Locator) => ((await editor.textContent(brief)) ?? '').replaceAll('\u00a0', ' ');
const resultOf = (page: Page) => textOf(page.locator('.result-window .view-lines').first());

/** Puts one line into an editor, in place of what it holds. */
async function write(page: Page, editor: Locator, line: string): Promise<void> {
  const lines = editor.locator('.view-lines').first();
  const written = async () => {
    await lines.click(brief);
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.insertText(line);
    // What the editor has closed by itself.
    await page.keyboard.press('ControlOrMeta+Shift+End');
    await page.keyboard.press('Delete');
    return textOf(lines);
  };
  await expect.poll(written, step).toBe(line);
}

/** Opens the tab of an operation. */
async function openTab(page: Page, name: string): Promise<void> {
  const opened = async () => {
    await tabsOf(page).getByRole('button', { name }).first().click(brief);
    return textOf(queryOf(page));
  };
  await expect.poll(opened, step).toContain(name);
}

/** Runs what the tab holds, until there is an answer. */
async function run(page: Page, expected: string | RegExp): Promise<void> {
  const answered = async () => {
    const result = await resultOf(page).catch(() => '');
    // GraphiQL needs a moment to learn which operation the tab holds; before, it runs nothing and says so.
    const isUnanswered = result === '' || /Cannot infer operation|invalid API key/.test(result);
    // While an operation runs, the button would stop it.
    const isIdle = (await labelOf(page))?.includes('Execute') ?? false;
    if (isUnanswered && isIdle) await executeOf(page).click(brief);
    return resultOf(page);
  };
  await expect.poll(answered, step).toMatch(expected);
}

const labelOf = (page: Page) => executeOf(page).getAttribute('aria-label', brief);

async function openPage(): Promise<OpenPage> {
  const one = await browser.open(`${server.url}/graphql`);
  pages.push(one);
  await expect.poll(() => tabsOf(one.page).getByRole('listitem').count(), patience).toBe(EXAMPLES.length);
  // Without a key the page cannot read the schema, and says so.
  await expect.poll(() => resultOf(one.page), patience).toContain('API key');
  return one;
}

/** A page with a key in its headers, which the first example was answered with; what it complained of before is forgotten. */
async function openPageWithKey(): Promise<OpenPage & { key: string }> {
  // Short, since editors break long lines.
  const email = `ann${(people += 1)}@example.com`;
  const { key } = await gateway.createKey({ email });
  const { page, complaints } = await openPage();
  await write(page, headersOf(page), JSON.stringify({ Authorization: `Bearer ${key}` }));
  await run(page, email);
  // GraphiQL may ask once more before it has taken up the headers.
  expect(complaints.splice(0).filter((complaint) => !/^401 |401 \(Unauthorized\)/.test(complaint))).toEqual([]);
  return { page, complaints, key };
}

async function openNewTab(page: Page, query: string): Promise<void> {
  await page.getByRole('button', { name: 'New tab' }).click();
  await expect.poll(() => tabsOf(page).getByRole('listitem').count(), patience).toBe(EXAMPLES.length + 1);
  await write(page, queryOf(page), query);
}

test('GraphiQL has a tab for each example, and says without a key that it needs one', async () => {
  const { page, complaints } = await openPage();
  await browser.keep(page, 'graphiql');
  await expect.poll(() => accessibilityFindings(page), patience).toEqual([]);
  expect(new Set(complaints)).toEqual(
    new Set([`401 ${server.url}/graphql`, expect.stringContaining('401 (Unauthorized)')]),
  );
});

test('with a key in the headers the documentation of the schema can be read', async () => {
  const { page, complaints } = await openPageWithKey();
  await browser.keep(page, 'graphiql-answer');
  await page.getByRole('button', { name: /Re-fetch GraphQL schema/ }).click();
  const docs = page.locator('.graphiql-doc-explorer');
  const shown = async () => {
    if (!(await docs.isVisible())) await page.getByRole('button', { name: /Documentation Explorer/ }).click(brief);
    return textOf(docs);
  };
  await expect.poll(shown, step).toContain('query: Query');
  await docs.getByRole('link', { name: 'Query', exact: true }).click();
  await expect.poll(() => textOf(docs), patience).toContain('One session; null when there is none');
  await docs.getByRole('link', { name: 'Viewer', exact: true }).click();
  await expect.poll(() => textOf(docs), patience).toContain('organization');
  await browser.keep(page, 'graphiql-docs');
  await expect.poll(() => accessibilityFindings(page), patience).toEqual([]);
  expect(complaints).toEqual([]);
});

test('every example is answered with the key that was given in one tab', async () => {
  const { page, complaints } = await openPageWithKey();
  for (const name of NAMES.slice(1)) {
    await openTab(page, name);
    await run(page, /^\{ *"data"/);
  }
  await browser.keep(page, 'graphiql-last');
  expect(complaints).toEqual([]);
});

test('a subscription shows each event when it is appended, and ends with its session', async () => {
  const { page, complaints, key } = await openPageWithKey();
  const sessionId = await createSession(gateway, key);
  await append(gateway, key, sessionId, eventsOf(2));
  const query = `subscription Follow { sessionEvents(sessionId: "${sessionId}", after: "0") { databaseId } }`;
  await openNewTab(page, query);
  await run(page, /"databaseId": 2\b/);
  for (const from of [3, 4, 5]) {
    await append(gateway, key, sessionId, eventsOf(1, { from }));
    await expect.poll(() => resultOf(page), patience).toMatch(new RegExp(`"databaseId": ${from}\\b`));
  }
  await browser.keep(page, 'graphiql-subscription');
  expect(await labelOf(page)).toContain('Stop');
  await moveTo(gateway, key, sessionId, 'CANCELLED');
  await expect.poll(() => labelOf(page), patience).toContain('Execute');
  expect(complaints).toEqual([]);
});

test('tabs are reached, opened and closed with the keyboard', async () => {
  const { page } = await openPage();
  await openNewTab(page, 'query Follow { __typename }');
  await expect.poll(() => currentTabOf(page).allTextContents(), patience).toEqual(['Follow']);
  await page.getByRole('button', { name: 'New tab' }).focus();
  // An open one has a button that closes it.
  for (const name of ['Close Tab', 'Follow', LAST]) {
    await page.keyboard.press('Shift+Tab');
    await expect.poll(() => focused(page), patience).toBe(name);
  }
  await page.keyboard.press('Enter');
  await expect.poll(() => currentTabOf(page).allTextContents(), patience).toEqual([LAST]);
  await expect.poll(() => textOf(queryOf(page)), patience).toContain(LAST);
  await expect.poll(() => page.getByRole('region', { name: LAST }).count(), patience).toBe(1);
  await expect.poll(() => accessibilityFindings(page), patience).toEqual([]);
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Close Tab');
  await page.keyboard.press('Enter');
  await expect.poll(() => tabsOf(page).getByRole('listitem').count(), patience).toBe(EXAMPLES.length);
  expect(await tabsOf(page).getByRole('button', { name: LAST }).count()).toBe(0);
  await expect.poll(() => currentTabOf(page).count(), patience).toBe(1);
  await browser.keep(page, 'graphiql-tabs');
});

test('the settings and the dark theme can be read by everybody', async () => {
  const { page } = await openPage();
  await page.getByRole('button', { name: 'Open settings dialog' }).click();
  await page.getByRole('button', { name: 'Dark', exact: true }).click();
  await expect.poll(() => page.locator('.monaco-editor.vs-dark').count(), patience).toBeGreaterThan(0);
  await browser.keep(page, 'graphiql-settings');
  await expect.poll(() => accessibilityFindings(page), patience).toEqual([]);
  await page.keyboard.press('Escape');
  await expect.poll(() => page.getByRole('dialog').count(), patience).toBe(0);
  await browser.keep(page, 'graphiql-dark');
  await expect.poll(() => accessibilityFindings(page), patience).toEqual([]);
  const figures = {
    'examples run': EXAMPLES.length,
    'events followed': 5,
    'requests to other hosts': 0,
    'grave findings of axe-core': 0,
  };
  proof('GraphiQL in Chromium', { figures });
});
