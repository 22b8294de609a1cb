import { expect, test } from 'vitest';
import { routes } from '../../src/gateway/modules.ts';
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

const site = await startSite();

async function openReference(address = '/docs', view: View = {}): Promise<OpenPage> {
  const one = await site.open(address, view);
  await expect.poll(() => one.page.locator('.opblock').count()).toBe(routes.length);
  return one;
}

const idOf = (operationId: string) => `operations-Event_definitions-${operationId}`;
const addressOf = (operationId: string) => `${site.url}/docs#/Event%20definitions/${operationId}`;

test('the REST reference shows every operation', async () => {
  const { page, problems } = await openReference();
  const summaries = await page.locator('.opblock-summary-description').allTextContents();
  expect(summaries.toSorted()).toEqual(routes.map(({ summary }) => summary).toSorted());
  await saveScreenshot(page, 'docs');
  expect(problems).toEqual([]);
});

test('the REST reference can send a request with a key that is entered there', async () => {
  const { key } = await site.createKey();
  const { page, problems } = await openReference();
  await page.locator('button.authorize').first().click();
  await page.locator('.auth-container input').fill(key);
  await saveScreenshot(page, 'docs-key');
  await page.locator('.auth-btn-wrapper button.authorize').click();
  await page.locator('.auth-btn-wrapper button.btn-done').click();

  const operation = page.locator(`#${idOf('createEventDefinition')}`);
  await operation.locator('.opblock-summary-control').click();
  await expect.poll(() => page.url()).toBe(addressOf('createEventDefinition'));
  await operation.getByRole('button', { name: 'Try it out' }).click();
  await operation.locator('textarea').fill(JSON.stringify({ label: 'Seen in the browser' }));
  await operation.getByRole('button', { name: 'Execute' }).click();
  const answered = operation.locator('.live-responses-table .response').first();
  await expect.poll(() => answered.textContent()).toContain('seen_in_the_browser');
  expect(await answered.locator('.response-col_status').textContent()).toContain('201');
  await answered.scrollIntoViewIfNeeded();
  await saveScreenshot(page, 'docs-answer');
  expect(problems).toEqual([]);
  expect(await accessibilityFindings(page, { part: answered })).toEqual([]);
});

test('a signed-in browser can send a request without entering a key', async () => {
  const { key } = await site.createKey();
  const { page, problems } = await openReference(addressOf('createEventDefinition'), { key });
  await page.getByRole('button', { name: 'Try it out' }).click();
  await page.getByLabel('Request body').fill(JSON.stringify({ label: 'Seen with the cookie' }));
  await page.getByRole('button', { name: 'Execute' }).click();
  const answered = page.locator('.live-responses-table .response').first();
  await expect.poll(() => answered.textContent()).toContain('seen_with_the_cookie');
  // The cookie is not in the command that people copy.
  expect(await page.locator('.curl').first().textContent()).toContain("-H 'Authorization: Bearer YOUR_API_KEY'");
  expect(problems).toEqual([]);
});

/** Operations with every color, with an enum parameter and with schemas. `npm test` shows a different one in each color scheme. */
const SHOWN = ['searchEventDefinitions', 'updateSession', 'deleteEventDefinition', 'listBroadcasts'];
const shownIn = ({ isDark }: View) => (full ? SHOWN : SHOWN.slice(isDark ? 1 : 0, isDark ? 2 : 1));

test.each(VIEWS)(
  '%s: the page fits into the window, and it, its operations and their schemas have no accessibility findings',
  async (name, view) => {
    const { page, problems } = await openReference(undefined, view);
    expect(await overflowOf(page)).toBe(0);
    await saveScreenshot(page, `docs-${name}`);
    expect(await accessibilityFindings(page)).toEqual([]);
    for (const id of shownIn(view)) {
      const shown = page.locator(`.opblock[id$=-${id}]`);
      await shown.locator('.opblock-summary-control').press('Enter');
      await shown.getByRole('button', { name: 'Try it out' }).waitFor();
      for (const schema of await shown.getByRole('tab', { name: 'Schema', exact: true }).all()) await schema.click();
      const inner = shown.getByRole('button', { name: 'Expand all' });
      if ((await inner.count()) > 0) await inner.first().click();
      // The names of parameters are written in one line each.
      const heights = await shown
        .locator('.parameter__name')
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
      expect([id, heights.filter((height) => height > 30)]).toEqual([id, []]);
      expect([id, await overflowOf(page)]).toEqual([id, 0]);
      await saveScreenshot(page, `docs-${id}-${name}`);
      expect([id, await accessibilityFindings(page, { part: shown })]).toEqual([id, []]);
    }
    expect(problems).toEqual([]);
  },
);

test('the groups of operations are listed beside them, and lead to them', async () => {
  const { page, problems } = await openReference();
  const groups = page.getByRole('navigation', { name: 'Groups of operations' });
  const names = await page.locator('.opblock-tag').evaluateAll((all) => all.map((one) => one.dataset['tag']));
  await expect.poll(() => groups.getByRole('link').allTextContents()).toEqual(names);
  await groups.getByRole('link', { name: 'API keys' }).click();
  const top = () =>
    page.locator('.opblock-tag[data-tag="API keys"]').evaluate((one) => one.getBoundingClientRect().top);
  await expect.poll(async () => Math.abs(await top())).toBeLessThan(400);
  expect(problems).toEqual([]);
});

test('an operation has a URL, and can be opened and closed with the keyboard at one tab stop', async () => {
  const address = addressOf('createEventDefinition');
  const { page, problems } = await openReference(address);
  const open = page.locator('.opblock-summary-control[aria-expanded=true]');
  await expect.poll(() => open.allTextContents()).toEqual([expect.stringMatching(/^POST.*event-definitions/)]);
  await expect.poll(() => page.getByRole('button', { name: 'Try it out' }).count()).toBe(1);
  await saveScreenshot(page, 'docs-address');
  await open.press('Enter');
  await expect.poll(() => open.count()).toBe(0);
  await page.waitForURL(`${site.url}/docs#/`);
  await page.keyboard.press('Enter');
  await expect.poll(() => open.count()).toBe(1);
  await page.waitForURL(address);
  await page.keyboard.press('Tab');
  await expect.poll(() => page.locator('.copy-to-clipboard :focus').count()).toBe(1);
  expect(problems).toEqual([]);

  const figures = {
    'operations shown': routes.length,
    'requests to other hosts': 0,
    'findings of axe-core that are not minor': 0,
  };
  proof('REST reference in Chromium', { figures });
});
