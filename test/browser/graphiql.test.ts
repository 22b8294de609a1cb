import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { EXAMPLES } from '../support/graphiql-examples.ts';
import {
  type OpenPage,
  VIEWS,
  type View,
  accessibilityFindings,
  saveScreenshot,
  overflowOf,
  startSite,
} from '../support/processes/browser.ts';
import { full, proof } from '../support/proof.ts';
import { append, createSession, eventsOf, moveTo } from '../support/fixtures/sessions.ts';

const site = await startSite();

const operationOf = (page: Page) => textOf(page, '.graphiql-query-editor');
const answerOf = (page: Page) => textOf(page, '.graphiql-response');
const execute = (page: Page) => page.getByRole('button', { name: /^Execute query/ }).click();

/** The text of an editor, without its line numbers. */
async function textOf(page: Page, editor: string): Promise<string> {
  const lines = await page.locator(`${editor} pre.CodeMirror-line`).allTextContents();
  return lines.join('\n').replaceAll('\u00a0', ' ').replaceAll('\u200b', '');
}

async function open(path = '/graphql', view: View = {}): Promise<OpenPage> {
  const one = await site.open(path, view);
  await expect.poll(() => one.page.locator('.graphiql-query-editor .CodeMirror').count()).toBe(1);
  return one;
}

async function writeOperation(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Operation' }).focus();
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.insertText(text);
}

async function pressExample(page: Page, name: string): Promise<void> {
  const list = page.getByRole('region', { name: 'Examples' });
  if (!(await list.isVisible())) await page.getByRole('button', { name: 'Show Examples' }).click();
  await list.getByRole('button', { name, exact: true }).click();
}

describe.each(VIEWS)('%s', (name, view) => {
  test('it opens without sign-in, without errors and without a request to the API', async () => {
    const { page, problems, requested } = await open('/graphql', view);
    // Without a given schema, GraphiQL would request one when it is mounted, before its editors show anything.
    await expect.poll(() => operationOf(page)).toContain('query Viewer');
    expect(requested.filter((url) => new URL(url).pathname === '/graphql')).toHaveLength(1);
    expect(await answerOf(page)).toBe('');
    expect(await overflowOf(page)).toBe(0);
    await saveScreenshot(page, `graphiql-stranger-${name}`);
    expect(await accessibilityFindings(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test('an answer has no serious accessibility findings', async () => {
    const { key, email } = await site.createKey();
    const { page, problems } = await open('/graphql', { ...view, key });
    await execute(page);
    await expect.poll(() => answerOf(page)).toContain(email);
    await saveScreenshot(page, `graphiql-answer-${name}`);
    expect(await accessibilityFindings(page)).toEqual([]);
    expect(problems).toEqual([]);
  });
});

test('the key field signs in and keeps the operation', async () => {
  const { key, email, organization } = await site.createKey();
  const { page, problems } = await open();
  await writeOperation(page, '{ viewer { user { email } } }');
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Use key' }).click();
  await expect.poll(() => page.getByText(`Signed in, ${organization}`).count()).toBe(1);
  await expect.poll(() => operationOf(page)).toBe('{ viewer { user { email } } }');
  await execute(page);
  await expect.poll(() => answerOf(page)).toContain(email);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect.poll(() => page.url()).toBe(`${site.url}/sign-in`);
  expect(problems).toEqual([]);
});

test('a reload and a shared link open the same operation and variables', async () => {
  const query = 'query Named($first: Int) { viewer { organizations(first: $first) { nodes { slug } } } }';
  const variables = '{ "first": 3 }';
  const { page } = await open(`/graphql?${new URLSearchParams({ query, variables })}`);
  const shown = async () => [await operationOf(page), await textOf(page, '.graphiql-editor-tool')];
  await expect.poll(shown).toEqual([query, expect.stringContaining('"first": 3')]);
  await writeOperation(page, '{ apiLifecycle { removed { name } } }');
  await expect.poll(() => new URL(page.url()).searchParams.get('query')).toContain('apiLifecycle');
  await page.reload();
  await expect.poll(() => operationOf(page)).toBe('{ apiLifecycle { removed { name } } }');
});

/** test/gateway/contracts.test.ts runs all examples. `npm test` opens only those whose variables are filled in. */
const SHOWN = full ? EXAMPLES : EXAMPLES.filter(({ fills }) => fills !== undefined);

test('every example is answered, with its variables filled in', async () => {
  const { key } = await site.createKey();
  const sessionId = await createSession(site, key);
  await append(site, key, sessionId, eventsOf(2));
  await site.rest('POST', '/events/2026-03/event-definitions', { key, body: { label: 'Seen' } });
  const { page, problems } = await open('/graphql', { key });
  for (const { name, query } of SHOWN) {
    await pressExample(page, name);
    await expect.poll(() => operationOf(page)).toBe(query.trimEnd() + '\n');
    await execute(page);
    const isLive = query.includes('\nsubscription');
    await expect.poll(() => answerOf(page)).toMatch(isLive ? /"received": 2\b/ : /^\{\s+"data": \{/);
    expect(await answerOf(page)).not.toContain('"errors"');
    if (isLive) await page.getByRole('button', { name: /^Stop query/ }).click();
  }
  expect(problems).toEqual([]);
});

test('the documentation of the schema can be read without sign-in and has links between types', async () => {
  const { page, problems } = await open();
  await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
  const docs = page.locator('.graphiql-doc-explorer');
  await docs.getByRole('link', { name: 'Query', exact: true }).click();
  await docs.getByRole('link', { name: 'Viewer', exact: true }).click();
  await expect.poll(() => docs.textContent()).toContain('organization');
  await saveScreenshot(page, 'graphiql-docs');
  expect(await accessibilityFindings(page)).toEqual([]);
  expect(problems).toEqual([]);
});

test('a subscription shows the latest events first, until its session ends', async () => {
  const { key } = await site.createKey();
  const sessionId = await createSession(site, key);
  await append(site, key, sessionId, eventsOf(2));
  const { page, problems } = await open('/graphql', { key });
  const query = `subscription Follow { sessionEvents(sessionId: "${sessionId}", after: "0") { databaseId } }`;
  await writeOperation(page, query);
  await execute(page);
  await expect.poll(() => answerOf(page)).toMatch(/"received": 2,[^]*"databaseId": 2\b[^]*"databaseId": 1\b/);
  await append(site, key, sessionId, eventsOf(1, { from: 3 }));
  await expect.poll(() => answerOf(page)).toMatch(/"received": 3,[^]*"databaseId": 3\b[^]*"databaseId": 2\b/);
  await saveScreenshot(page, 'graphiql-subscription');
  await moveTo(site, key, sessionId, 'CANCELLED');
  await expect.poll(() => answerOf(page)).toContain('"ended": true');
  expect(problems).toEqual([]);
  const figures = {
    'examples run': SHOWN.length,
    'requests to other hosts': 0,
    'findings of axe-core that are not minor': 0,
  };
  proof('GraphiQL in Chromium', { figures });
});

test('the history contains executed operations', async () => {
  const { key } = await site.createKey();
  const { page } = await open('/graphql', { key });
  await writeOperation(page, 'query Remembered { viewer { role } }');
  await expect.poll(() => page.url()).toContain('Remembered');
  await execute(page);
  await expect.poll(() => answerOf(page)).toContain('"role"');
  await page.getByRole('button', { name: 'Show History' }).click();
  await expect.poll(() => page.getByRole('region', { name: 'History' }).textContent()).toContain('Remembered');
});

test('its files are sent compressed and are cached by browsers', async () => {
  const html = await (await site.fetch('/graphql', { headers: { Accept: 'text/html' } })).text();
  const addresses = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, address]) => address ?? '');
  expect(addresses.length).toBeGreaterThan(8);
  let bytes = html.length;
  for (const address of new Set(addresses)) {
    const file = await site.fetch(address, { headers: { 'Accept-Encoding': 'gzip, br' } });
    const { byteLength } = await file.arrayBuffer();
    bytes += byteLength;
    expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const again = await site.fetch(address, { headers: { 'If-None-Match': file.headers.get('etag') ?? '' } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  }
  expect(bytes).toBeLessThan(800_000);
});
