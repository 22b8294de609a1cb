import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { indexSessions } from '../../src/domains/session-events/search-index.ts';
import { createDemoWorkspace } from '../../src/operator/demo-workspace.ts';
import { VIEWS, accessibilityFindings, openDetails, overflowOf, startSite } from '../support/processes/browser.ts';

/** The states of pages that need a click, a search or nothing to show: each fits into the window and has no serious accessibility findings. */

const site = await startSite();
const key = (await createDemoWorkspace(site.dependencies))?.key ?? '';
while ((await indexSessions(site.dependencies.database.em)) > 0);
const { key: empty } = await site.createKey();
const first = async (state: string) =>
  (await site.rest<{ items: { id: string }[] }>('GET', `/v1/sessions?limit=1&state=${state}`, { key })).body.items[0]
    ?.id ?? '';
const [failed, running] = [await first('failed'), await first('inProgress')];

const click = (role: 'button' | 'link', name: string) => (page: Page) =>
  page.getByRole(role, { name, exact: true }).click();
const clickAll = (text: string) => async (page: Page) => {
  await page.getByText(text, { exact: true }).first().waitFor();
  for (const one of await page.getByText(text, { exact: true }).all()) await one.click();
};
const wrongKey = async (page: Page) => {
  await page.getByLabel('API key').fill('wgk_wrong');
  await page.keyboard.press('Enter');
};

interface State {
  readonly path: string;
  /** Undefined for a visitor. */
  readonly key?: string | undefined;
  readonly act?: (page: Page) => Promise<void>;
  /** A text that is then shown. */
  readonly sign: string;
}

const STATES: readonly State[] = [
  { path: '/overview', key, act: clickAll('As a table'), sign: 'Tokens out' },
  { path: '/overview', key: empty, sign: 'Nothing was recorded in this period.' },
  { path: '/sessions?state=FAILED&pinned=yes', key, act: clickAll('More filters'), sign: 'Created by' },
  { path: '/sessions?text=coupon', key, sign: 'Fix the coupon total' },
  { path: '/sessions?text=zzzz', key, sign: 'has all of these words' },
  {
    path: '/sessions',
    key,
    act: async (page) => {
      await page.getByRole('button', { name: 'Actions' }).first().click();
      await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
    },
    sign: 'Edit the session',
  },
  { path: '/sessions', key: empty, sign: 'No sessions yet.' },
  { path: `/sessions/${failed}`, key, act: openDetails, sign: 'All totals' },
  { path: `/sessions/${failed}?text=invoices`, key, sign: 'found. The time of each' },
  { path: `/sessions/${failed}?text=zzzz`, key, sign: 'No event has this text.' },
  { path: `/sessions/${running}?errors=yes`, key, sign: 'Exit code 1' },
  { path: `/sessions/${running}?view=history`, key, sign: 'With recording' },
  { path: `/sessions/${crypto.randomUUID()}`, key, sign: 'There is no such session' },
  { path: '/sign-in', sign: 'No key, or lost it?' },
  { path: '/sign-in', act: wrongKey, sign: 'That key does not work' },
  { path: '/sign-in', key, sign: 'You are signed in' },
  { path: `/${'nothing'.repeat(30)}`, sign: 'There is nothing at' },
];

test.each(VIEWS)(
  '%s: no state of a page has a serious accessibility finding or is wider than the window',
  async (_, view) => {
    const contexts = new Map<string | undefined, Awaited<ReturnType<typeof site.newContext>>>();
    for (const { path, key: own, act, sign } of STATES) {
      if (!contexts.has(own))
        contexts.set(own, await site.newContext({ ...view, ...(own !== undefined && { key: own }) }));
      const { page } = await site.open(path, {}, contexts.get(own));
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
      await act?.(page);
      await page.getByText(sign).first().waitFor();
      expect([path, sign, await accessibilityFindings(page), await overflowOf(page)]).toEqual([path, sign, [], 0]);
      await page.close();
    }
  },
);

test('the heading of a live timeline is one line at 1280 pixels', async () => {
  // Not at the end, so that the button for it is shown.
  const { page } = await site.open(`/sessions/${running}#event-1`, { key });
  await page.getByText('Live: new events appear by themselves.').waitFor();
  await page.getByRole('button', { name: 'Latest events' }).waitFor();
  const tops = await page
    .locator('.timeline-head > :is(.live, .button, .find)')
    .evaluateAll((parts) =>
      parts.map((part) => part.getBoundingClientRect()).map(({ top, height }) => top + height / 2),
    );
  expect(Math.max(...tops) - Math.min(...tops)).toBeLessThan(8);
});

test('events that a search finds have the style of the session, also if the page begins with the search', async () => {
  const { page } = await site.open(`/sessions/${failed}?text=invoices`, { key });
  await page.locator('.item').first().waitFor();
  await expect.poll(() => page.locator('link[data-session]').count()).toBe(1);
});

test('details that are opened in the middle of a session come into view', async () => {
  const { page } = await site.open(`/sessions/${running}`, { width: 390, key });
  await page.locator('.item').nth(5).waitFor();
  await page.locator('.item').last().scrollIntoViewIfNeeded();
  await openDetails(page);
  await expect.poll(async () => (await page.locator('#session-details').boundingBox())?.y).toBeGreaterThan(0);
});

test('the link of a section removes the filters of its list', async () => {
  const { page } = await site.open('/sessions?state=FAILED&title=invoices', { key });
  await page.getByRole('list', { name: 'Filters that are set' }).waitFor();
  await click('link', 'Sessions')(page);
  await expect.poll(() => page.getByRole('list', { name: 'Filters that are set' }).count()).toBe(0);
  expect([new URL(page.url()).search, await page.getByLabel('Title').inputValue()]).toEqual(['', '']);
  await page.getByRole('cell', { name: 'Fix the coupon total' }).first().waitFor();
});
