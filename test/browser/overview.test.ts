import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { indexSessions } from '../../src/domains/session-events/search-index.ts';
import { createDemoWorkspace } from '../../src/operator/demo-workspace.ts';
import { startSite } from '../support/processes/browser.ts';

/** The overview of the demo workspace: its numbers lead to the lists behind them, and its plots can be read with the keyboard. */

const site = await startSite();
const key = (await createDemoWorkspace(site.dependencies))?.key ?? '';
while ((await indexSessions(site.dependencies.database.em)) > 0);

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
    // It may be gone at any moment, and a click would wait for it.
    await more.evaluateAll((buttons) => buttons.forEach((button) => (button as HTMLElement).click()));
    return [await rows.count(), await more.count()];
  };
  await expect.poll(loaded).toEqual([count, 0]);
}

/** The number of a link, which leads to a list with as many sessions. */
async function leadsToAsMany(page: Page, link: Locator): Promise<void> {
  const number = Number((await link.textContent())?.replaceAll(/\D/g, ''));
  await link.click();
  await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
  await expectListed(page, number);
  await page.goBack();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
}

test('every number of sessions leads to a list with as many, also in another time zone', async () => {
  const context = await site.newContext({ key });
  const { page, problems } = await site.open('/overview', {}, context);
  for (const name of ['Sessions', 'Run now', 'Failed']) await leadsToAsMany(page, figure(page, name));
  // The days of the plot, with those of each state.
  const plot = page.getByRole('region', { name: 'Sessions by day and state' });
  const bar = plot.getByRole('link').nth(3);
  const words = (await bar.getAttribute('aria-label')) ?? '';
  await bar.focus();
  await page.keyboard.press('Enter');
  await expectListed(page, Number(/: (\d+) session/.exec(words)?.[1]));
  await page.goBack();
  for (const state of ['COMPLETED', 'FAILED', 'IN_PROGRESS', 'QUEUED', 'CANCELLED']) {
    await plot.getByText('As a table').click();
    const cell = plot
      .locator(`tbody a[href*="state=${state}"]`)
      .filter({ hasText: /^[1-9]/ })
      .first();
    await leadsToAsMany(page, cell);
  }
  expect(problems).toEqual([]);
});

test('the numbers of each group lead to its sessions, and those of tools to the sessions in which they were called or failed', async () => {
  const context = await site.newContext({ key });
  const { page, problems } = await site.open('/overview?days=90', {}, context);
  for (const [by, chip] of [
    ['Agent', /^Agent: /],
    ['Project', /^Project: [A-Z]/],
    ['Person', /^Created by: .*@example\.com/],
    ['Model', /^Used the model /],
  ] as const) {
    await page.getByRole('button', { name: by, exact: true }).click();
    const table = page.getByRole('table', { name: `Costs by ${by.toLowerCase()}` });
    const row = table
      .locator('tbody tr')
      .filter({ has: page.locator('td:first-child a') })
      .first();
    await row.waitFor();
    await leadsToAsMany(page, row.locator('td').nth(3).locator('a'));
    await leadsToAsMany(page, row.locator('td').nth(4).locator('a'));
    await row.locator('td').nth(1).locator('a').click();
    const chips = page.getByRole('list', { name: 'Filters that are set' });
    await chips.getByText(chip).waitFor();
    await chips.getByText(/^Last recorded from .* \(UTC\)/).waitFor();
    await page.getByRole('table', { name: 'Sessions' }).locator('tbody tr').first().waitFor();
    await page.goBack();
  }
  const tool = page.getByRole('table', { name: 'Tools' }).getByRole('row', { name: /WebFetch/ });
  for (const [cell, chip, filter] of [
    [1, 'The tool WebFetch has failed', { failedTools: ['WebFetch'] }],
    [2, 'Called the tool WebFetch', { tools: ['WebFetch'] }],
  ] as const) {
    await tool.locator('td').nth(cell).locator('a').click();
    await page.getByRole('list', { name: 'Filters that are set' }).getByText(chip).waitFor();
    const { data } = await site.graphql<{ viewer: { organization: { sessions: { totalCount: number } } } }>(
      key,
      'query($filter: SessionFilter) { viewer { organization { sessions(filter: $filter) { totalCount } } } }',
      { filter },
    );
    const many = data?.viewer.organization.sessions.totalCount ?? 0;
    expect(many).toBeGreaterThan(0);
    await expectListed(page, many);
    await page.goBack();
  }
  expect(problems).toEqual([]);
});

test('occurrences of events are shown beside the refused ones, on the overview, in the list and on the page of each', async () => {
  const { page, problems } = await site.open('/overview', { key });
  const plot = page.getByRole('region', { name: 'Event occurrences by day' });
  const all = plot.locator('.plot-value');
  await all.getByText(/\d+ accepted, 5 refused/).waitFor();
  await plot.locator('svg a').last().focus();
  await page.keyboard.press('Enter');
  // The small plot of a row is one stop of the keyboard too.
  const small = page.getByRole('group', { name: /^Order completed: occurrences by day\. \d+ accepted, 5 refused/ });
  const last = small.locator('a').last();
  await last.focus();
  expect(await small.locator('a[tabindex="0"]').count()).toBe(1);
  await page.keyboard.press('ArrowLeft');
  const words = await small.locator('a').nth(-2).getAttribute('aria-label');
  await page.getByText(words ?? 'no words', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Order completed' }).click();
  const region = page.locator('.chart').first();
  await region.getByText(/\d+ accepted, 5 refused/).waitFor();
  await region.getByText('As a table').click();
  const rows = region.locator('tbody tr');
  const refused = rows.locator('td:nth-child(3) a').filter({ hasText: /^[1-9]/ });
  const count = Number(await refused.last().textContent());
  await refused.last().click();
  const faults = page.getByRole('table', { name: 'Refused occurrences' }).locator('tbody tr td:nth-child(5)');
  // Each occurrence of the demo has two faults.
  await expect
    .poll(async () => (await faults.allTextContents()).reduce((sum, text) => sum + Number(text), 0))
    .toBe(2 * count);
  const accepted = rows.locator('td:nth-child(2) a').filter({ hasText: /^[1-9]/ });
  const stored = Number(await accepted.first().textContent());
  await accepted.first().click();
  const latest = page.getByRole('table', { name: 'Latest occurrences' }).locator('tbody tr');
  await expect.poll(() => latest.count()).toBe(stored);
  const value = page.getByRole('region', { name: 'By Payment method' }).getByRole('row', { name: /Voucher/ });
  // Each value is counted by a request of its own.
  const counted = value.locator('a').filter({ hasText: /^\d/ });
  const ofValue = Number(await counted.textContent());
  await counted.click();
  await expect.poll(() => page.getByLabel('Property').inputValue()).toBe('payment_method');
  // At most 20 are on the first page.
  expect(ofValue).toBeLessThan(20);
  await expect.poll(() => latest.count()).toBe(ofValue);
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

test('costs are downloaded as CSV, by the chosen group', async () => {
  const { page, problems } = await site.open('/overview?by=CREATOR', { key });
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  expect(file.suggestedFilename()).toMatch(/^usage-by-creator-\d{4}-\d\d-\d\d\.csv$/);
  const [head, ...rows] = readFileSync(await file.path(), 'utf8')
    .trimEnd()
    .split('\r\n');
  expect(head).toMatch(/^key,label,sessions,/);
  expect(rows.map((row) => row.split(',')[1])).toContain('demo@example.com');
  expect(problems).toEqual([]);
});
