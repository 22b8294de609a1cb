import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createGateway } from '../../src/gateway/gateway.ts';
import { routes } from '../../src/gateway/routes.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import {
  type OpenPage,
  type TestBrowser,
  VIEWS,
  type View,
  accessibilityFindings,
  overflowOf,
  patience,
  startBrowser,
} from '../support/processes/browser.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { full, proof } from '../support/proof.ts';

let gateway: TestGateway;
let server: RunningServer;
let browser: TestBrowser;
const pages: OpenPage[] = [];

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

async function openReference(address = `${server.url}/docs`, view: View = {}): Promise<OpenPage> {
  const one = await browser.open(address, view);
  pages.push(one);
  await expect.poll(() => one.page.locator('.opblock').count(), patience).toBe(routes.length);
  return one;
}

const idOf = (operationId: string) => `operations-Event_definitions-${operationId}`;
const addressOf = (operationId: string) => `${server.url}/docs#/Event%20definitions/${operationId}`;

test('the REST reference shows every operation, and tries one out with a key', async () => {
  const { key } = await gateway.createKey();
  const { page, complaints } = await openReference();
  const summaries = await page.locator('.opblock-summary-description').allTextContents();
  expect(summaries.toSorted()).toEqual(routes.map(({ summary }) => summary).toSorted());
  await browser.keep(page, 'docs');

  await page.locator('button.authorize').first().click();
  await page.locator('.auth-container input').fill(key);
  await browser.keep(page, 'docs-key');
  await page.locator('.auth-btn-wrapper button.authorize').click();
  await page.locator('.auth-btn-wrapper button.btn-done').click();

  const operation = page.locator(`#${idOf('createEventDefinition')}`);
  await operation.locator('.opblock-summary-control').click();
  await expect.poll(() => page.url(), patience).toBe(addressOf('createEventDefinition'));
  await operation.getByRole('button', { name: 'Try it out' }).click();
  await operation.locator('textarea').fill(JSON.stringify({ label: 'Seen in the browser' }));
  await operation.getByRole('button', { name: 'Execute' }).click();
  const answered = operation.locator('.live-responses-table .response').first();
  await expect.poll(() => answered.textContent(), patience).toContain('seen_in_the_browser');
  expect(await answered.locator('.response-col_status').textContent()).toContain('201');
  await answered.scrollIntoViewIfNeeded();
  await browser.keep(page, 'docs-answer');
  expect(complaints).toEqual([]);
  expect(await accessibilityFindings(page, answered)).toEqual([]);
});

test('a signed-in browser tries an operation out without another key', async () => {
  const { key } = await gateway.createKey();
  const { page, complaints } = await openReference(addressOf('createEventDefinition'), { key });
  await page.getByRole('button', { name: 'Try it out' }).click();
  await page.getByLabel('Request body').fill(JSON.stringify({ label: 'Seen with the cookie' }));
  await page.getByRole('button', { name: 'Execute' }).click();
  const answered = page.locator('.live-responses-table .response').first();
  await expect.poll(() => answered.textContent(), patience).toContain('seen_with_the_cookie');
  expect(complaints).toEqual([]);
});

test.each(VIEWS)('%s: it fits, and can be read by everybody', async (name, view) => {
  const { page, complaints } = await openReference(undefined, view);
  expect(await overflowOf(page)).toBe(0);
  await browser.keep(page, `docs-${name}`);
  expect(await accessibilityFindings(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

// One operation of each color, with a choice among its parameters, with its schemas; two of them in the gate.
const SHOWN = ['searchEventDefinitions', 'updateSession', 'deleteEventDefinition', 'listBroadcasts'];

test.each((full ? SHOWN : SHOWN.slice(0, 2)).flatMap((id) => [false, true].map((isDark) => ({ id, isDark }))))(
  '$id and its schemas can be read by everybody, dark: $isDark',
  async ({ id, isDark }) => {
    const { page, complaints } = await openReference(undefined, { isDark });
    const other = page.locator(`.opblock[id$=-${id}]`);
    await other.locator('.opblock-summary-control').press('Enter');
    await other.getByRole('button', { name: 'Try it out' }).waitFor();
    for (const schema of await other.getByRole('tab', { name: 'Schema', exact: true }).all()) await schema.click();
    const inner = other.getByRole('button', { name: 'Expand all' });
    if ((await inner.count()) > 0) await inner.first().click();
    await browser.keep(page, `docs-${id}-${isDark ? 'dark' : 'light'}`);
    expect(await accessibilityFindings(page, other)).toEqual([]);
    expect(complaints).toEqual([]);
  },
);

test('an operation has an address, and is opened and closed with the keyboard, which stops once at it', async () => {
  const address = addressOf('createEventDefinition');
  const { page, complaints } = await openReference(address);
  const open = page.locator('.opblock-summary-control[aria-expanded=true]');
  await expect
    .poll(() => open.allTextContents(), patience)
    .toEqual([expect.stringMatching(/^POST.*event-definitions/)]);
  await expect.poll(() => page.getByRole('button', { name: 'Try it out' }).count(), patience).toBe(1);
  await browser.keep(page, 'docs-address');
  await open.press('Enter');
  await expect.poll(() => open.count(), patience).toBe(0);
  expect(page.url()).toBe(`${server.url}/docs#/`);
  await page.keyboard.press('Enter');
  await expect.poll(() => open.count(), patience).toBe(1);
  expect(page.url()).toBe(address);
  await page.keyboard.press('Tab');
  expect(await page.locator('.copy-to-clipboard :focus').count()).toBe(1);
  expect(complaints).toEqual([]);

  const figures = { 'operations shown': routes.length, 'requests to other hosts': 0, 'grave findings of axe-core': 0 };
  proof('REST reference in Chromium', { figures });
});
