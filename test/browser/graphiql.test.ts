import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Browser, type Page, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EXAMPLES } from '../../src/gateway/examples.ts';
import { type RunningServer, serve } from '../../src/gateway/server.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type TestGateway, startTestGateway } from '../helpers/gateway.ts';

let gateway: TestGateway;
let server: RunningServer;
let browser: Browser;
let screenshots: string;

beforeAll(async () => {
  gateway = await startTestGateway();
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  const quiet = [
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ];
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', ...quiet],
  });
  screenshots = await mkdtemp(join(tmpdir(), 'gateway-pages-'));
});

afterAll(async () => {
  await browser.close();
  await server.stop(1_000);
  await gateway.close();
});

/** A page, and everything about it that nobody should find. */
async function open(path: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  const complaints: string[] = [];
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${server.url}/`) && !/^(?:data|blob):/.test(url)) complaints.push(`request to ${url}`);
  });
  page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`));
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  await page.goto(`${server.url}${path}`, { waitUntil: 'networkidle' });
  return { page, complaints };
}

const patience = { timeout: 20_000 };

/** Editors write non-breaking spaces. */
const resultOf = async (page: Page) => (await page.locator('.result-window').textContent())?.replaceAll('\u00a0', ' ');

const shown = (page: Page, name: string) => page.screenshot({ path: join(screenshots, `${name}.png`) });

test('GraphiQL: the key goes into the headers, an example runs, the docs open, a tab for each example, and nothing leaves the origin', async () => {
  const { key, email } = await gateway.createKey({ email: 'ann@example.com' });
  const { page, complaints } = await open('/graphql');
  await shown(page, 'graphiql');
  await expect.poll(() => page.getByRole('tab').count(), patience).toBeGreaterThanOrEqual(EXAMPLES.length);

  // Without a key the page could not read the schema, and says so.
  expect(new Set(complaints.splice(0))).toEqual(
    new Set([`401 ${server.url}/graphql`, expect.stringContaining('401 (Unauthorized)')]),
  );
  await expect.poll(() => resultOf(page), patience).toContain('API key');

  // As a person does: double click on the placeholder, paste. Editors of other tabs hold it too, hidden, and the one on show
  // slides into its place a moment after the page is there.
  const placeholder = page
    .locator('.view-line span span', { hasText: 'wgk_YOUR_KEY' })
    .filter({ visible: true })
    .last();
  const [resting] = await vi.waitUntil(async () => {
    const before = await placeholder.boundingBox();
    await page.waitForTimeout(200);
    const after = await placeholder.boundingBox();
    return after && isDeepStrictEqual(before, after) && [after];
  }, patience);
  await page.mouse.dblclick(resting.x + resting.width - 30, resting.y + resting.height / 2);
  await page.keyboard.insertText(key);
  await page.locator('.graphiql-execute-button').click();
  await expect.poll(() => resultOf(page), patience).toContain(email);
  await shown(page, 'graphiql-answer');

  await page.getByRole('button', { name: /Re-fetch GraphQL schema/ }).click();
  await page.getByRole('button', { name: /Documentation Explorer/ }).click();
  await expect.poll(() => page.locator('.graphiql-doc-explorer').textContent(), patience).toContain('Query');
  await shown(page, 'graphiql-docs');

  // The other tabs need no key of their own.
  for (const { query } of EXAMPLES.slice(1)) {
    const [, name = ''] = /^(?:query|mutation|subscription) (\w+)/m.exec(query) ?? [];
    const chosen = async () => {
      await page.locator('.graphiql-tab-button', { hasText: name }).first().click();
      return page.locator('.graphiql-query-editor .view-lines').textContent();
    };
    // Tabs slide into their places, and a click may miss one on its way.
    await expect.poll(chosen, { ...patience, interval: 1_000 }).toContain(name);
    await expect.poll(() => resultOf(page), patience).not.toContain('"data"');
    const answer = async () => {
      const result = (await resultOf(page)) ?? '';
      // GraphiQL needs a moment to learn which operation the tab holds; before, it runs nothing and says so.
      if (result === '' || result.includes('Cannot infer operation'))
        await page.locator('.graphiql-execute-button').click();
      return result;
    };
    await expect.poll(answer, { ...patience, interval: 2_000 }).toMatch(/^\{ *"data"/);
  }
  await shown(page, 'graphiql-last');
  expect(complaints).toEqual([]);
});
