import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createDemoWorkspace } from '../../src/operator/demo-workspace.ts';
import { startSite } from '../support/processes/browser.ts';

/** The overview of the demo workspace: its numbers lead to the lists behind them, and its plots can be read with the keyboard. */

const site = await startSite();
const key = (await createDemoWorkspace(site.dependencies))?.key ?? '';

const figure = (page: Page, name: string) =>
  page
    .locator('.tiles > div')
    .filter({ has: page.getByText(name, { exact: true }) })
    .locator('a');
/** The list of sessions has so many rows on all its pages. It begins anew when its subscription has started. */
async function expectListed(page: Page, count: number): Promise<void> {
  const rows = page.getByRole('table', { name: 'Sessions' }).locator('tbody tr');
  const more = page.getByRole('button', { name: 'Load more' });
  const loaded = async () => {
    if ((await more.count()) > 0) await more.click();
    return [await rows.count(), await more.count()];
  };
  await expect.poll(loaded).toEqual([count, 0]);
}

test('every number leads to a list with as many sessions, also in another time zone', async () => {
  const context = await site.newContext({ key });
  const { page, problems } = await site.open('/overview', {}, context);
  for (const name of ['Sessions', 'Run now', 'Failed']) {
    const number = Number(await figure(page, name).textContent());
    await figure(page, name).click();
    await expectListed(page, number);
    await page.goBack();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  }
  const bar = page
    .getByRole('group', { name: /^Sessions by day/ })
    .getByRole('link')
    .nth(3);
  const words = (await bar.getAttribute('aria-label')) ?? '';
  await bar.focus();
  await page.keyboard.press('Enter');
  await expectListed(page, Number(/: (\d+) session/.exec(words)?.[1]));
  expect(problems).toEqual([]);
});

test('a plot is one stop of the keyboard, in which arrow keys show the value of each bar; its table has the same values', async () => {
  const { page } = await site.open('/overview?days=7', { key });
  const plot = page.getByRole('region', { name: 'Sessions by day and state' });
  const bars = plot.locator('svg a');
  await bars.first().waitFor();
  await expect.poll(() => plot.locator('svg a[tabindex="0"]').count()).toBe(1);
  await bars.last().focus();
  const shown = plot.locator('.plot-value');
  const values: string[] = [];
  for (let index = 6; index >= 0; index -= 1) {
    const words = (await bars.nth(index).getAttribute('aria-label')) ?? '';
    await expect.poll(() => shown.textContent()).toContain(words);
    values.unshift(/: (\d+)/.exec(words)?.[1] ?? '');
    await page.keyboard.press('ArrowLeft');
  }
  await plot.getByText('As a table').click();
  const cells = plot.locator('tbody tr td:nth-child(2)');
  await expect.poll(async () => (await cells.allTextContents()).map((cell) => cell.trim())).toEqual(values);
});

test('what needs a person is shown, and costs by agent, project, person and model', async () => {
  const { page, problems } = await site.open('/overview', { key });
  const needs = page.getByRole('region', { name: 'Needs a person' });
  await needs.getByRole('link', { name: 'Issue tracker' }).waitFor();
  await needs.getByRole('link', { name: 'https://hooks.example/gateway' }).waitFor();
  for (const [by, first] of [
    ['Project', 'Shop'],
    ['Person', 'demo@example.com'],
    ['Model', 'claude-opus-4-5'],
    ['Agent', 'coder'],
  ] as const) {
    await page.getByRole('button', { name: by, exact: true }).click();
    await page
      .getByRole('table', { name: `Costs by ${by.toLowerCase()}` })
      .getByText(first)
      .first()
      .waitFor();
  }
  await page.getByRole('table', { name: 'Tools' }).getByText('WebFetch').waitFor();
  expect(problems).toEqual([]);
});
