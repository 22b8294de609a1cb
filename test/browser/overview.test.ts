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

/** How many sessions the API finds. */
async function countSessions(filter: object): Promise<number> {
  const { data } = await site.graphql<{ viewer: { organization: { sessions: { totalCount: number } } } }>(
    key,
    'query($filter: SessionFilter) { viewer { organization { sessions(filter: $filter) { totalCount } } } }',
    { filter },
  );
  return data?.viewer.organization.sessions.totalCount ?? 0;
}

test('every number of sessions leads to a list with as many, also in another time zone', async () => {
  const context = await site.newContext({ key });
  const { page, problems } = await site.open('/overview', {}, context);
  for (const name of ['Sessions', 'Running', 'Failed']) await leadsToAsMany(page, figure(page, name));
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
    const many = await countSessions(filter);
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
  await page.getByRole('link', { name: '5 in the last 30 days' }).click();
  await page.getByText(/^In this list: (?:\w+ (?:not allowed|bad format) \(5\)(?:, |\.$)){2}/).waitFor();
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
  // Each value has its own request.
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
  for (const [by, first, shown] of [
    ['Project', 'Shop', /^\$\d+\.\d\d, \d.* s$/],
    ['Person', 'demo@example.com', /^\$\d+\.\d\d, \d.* s$/],
    ['Model', 'claude-opus-4-5', /^\$\d+\.\d\d$/],
    ['Agent', 'claude', /^\$\d+\.\d\d, \d.* s$/],
  ] as const) {
    await page.getByRole('button', { name: by, exact: true }).click();
    const row = page.getByRole('table', { name: `Costs by ${by.toLowerCase()}` }).getByRole('row', { name: first });
    // What a session has cost and taken. The files of Claude Code have the time of a turn without its model.
    await row.getByText(shown).last().waitFor();
  }
  await page.getByRole('table', { name: 'Tools' }).getByText('WebFetch').waitFor();
  expect(problems).toEqual([]);
});

test('what each running session does, and why each of the latest failed, is beside its name', async () => {
  const { page, problems } = await site.open('/overview', { key });
  const failed = page.getByRole('region', { name: 'Needs a person' }).getByRole('listitem');
  await failed
    .filter({ hasText: 'Import the invoices of 2024' })
    .getByText('The database of the old shop cannot be reached.')
    .waitFor();
  const running = page.getByRole('region', { name: 'Running' }).getByRole('listitem');
  await running.filter({ hasText: 'Fix the coupon total' }).getByText('Bash npm test -- cart, running').waitFor();
  // Which others run, and what they do, depends on the day and the hour.
  const others = running.filter({ hasNotText: 'Fix the coupon total' });
  await others.nth(1).waitFor();
  for (const other of await others.all()) await other.locator('.latest', { hasText: /^[A-Z][A-Za-z]+ \S/ }).waitFor();
  await running.getByRole('link', { name: 'Fix the coupon total' }).click();
  const words = page.locator('.speaker').filter({ hasText: 'Subagent' }).first();
  await words.waitFor();
  const linesOfFirstWord = await words.evaluate((element) => {
    const range = document.createRange();
    const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode() ?? element;
    range.setStart(text, 0);
    range.setEnd(text, 'Subagent'.length);
    return range.getClientRects().length;
  });
  expect(linesOfFirstWord).toBe(1);
  expect(problems).toEqual([]);
});

test('a page that is asked for at the moment in which its button appears is listed once', async () => {
  const context = await site.newContext({ key });
  await context.addInitScript(() => {
    const press = () => {
      document.querySelector<HTMLElement>('button.more')?.click();
      const { dataset } = document.documentElement;
      dataset['most'] = String(Math.max(Number(dataset['most'] ?? 0), document.querySelectorAll('tbody tr').length));
    };
    new MutationObserver(press).observe(document, { childList: true, subtree: true });
  });
  const many = await countSessions({});
  expect(many).toBeGreaterThan(50);
  const { page, problems } = await site.open('/sessions', {}, context);
  await expectListed(page, many);
  expect(await page.locator('html').getAttribute('data-most')).toBe(String(many));
  expect(problems).toEqual([]);
});

test('the failed sessions that need a person are a list of their own', async () => {
  const { page, problems } = await site.open('/sessions?needs=yes', { key });
  await page.getByRole('list', { name: 'Filters that are set' }).getByText('Needs a person').waitFor();
  const many = await countSessions({ needsPerson: true });
  expect(many).toBeGreaterThan(0);
  await expectListed(page, many);
  expect(problems).toEqual([]);
});

test('costs are downloaded as CSV, by the chosen group', async () => {
  const { page, problems } = await site.open('/overview?by=CREATOR', { key });
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download CSV' }).click(),
  ]);
  expect(file.suggestedFilename()).toMatch(/^usage-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
  const [head, ...rows] = readFileSync(await file.path(), 'utf8')
    .trimEnd()
    .split('\r\n');
  expect(head).toMatch(/^key,label,sessions,/);
  expect(rows.map((row) => row.split(',')[1])).toContain('demo@example.com');
  expect(problems).toEqual([]);
});

test('the costs of the last month of the calendar are downloaded as CSV', async () => {
  const { page, problems } = await site.open('/overview?days=7', { key });
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Last month as CSV' }).click(),
  ]);
  const until = new Date(`${new Date().toISOString().slice(0, 7)}-01T00:00:00Z`);
  const day = (at: Date) => at.toISOString().slice(0, 10);
  const from = `${day(new Date(until.getTime() - 1)).slice(0, 7)}-01`;
  expect(file.suggestedFilename()).toBe(`usage-${from}-${day(until)}.csv`);
  const asked = Object.fromEntries(new URL(file.url()).searchParams);
  expect(asked).toEqual({ from, until: day(until), groupBy: 'AGENT', format: 'csv', organization: expect.any(String) });
  expect(problems).toEqual([]);
});

test('cost and tokens are beside those of the period before, which has as many days', async () => {
  const { page, problems } = await site.open('/overview?days=7', { key });
  const dayAt = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const totals = async (from: string, until: string) => {
    const { data } = await site.graphql<{
      viewer: { organization: { usageReport: { totals: Record<'costUsd' | 'inputTokens' | 'outputTokens', number> } } };
    }>(
      key,
      `query($from: Date!, $until: Date!) { viewer { organization {
        usageReport(from: $from, until: $until) { totals { costUsd inputTokens outputTokens } }
      } } }`,
      { from, until },
    );
    const { costUsd = 0, inputTokens = 0, outputTokens = 0 } = data?.viewer.organization.usageReport.totals ?? {};
    const tokens = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
    return { cost: `$${costUsd.toFixed(2)}`, tokens: tokens.format(inputTokens + outputTokens) };
  };
  const [now, before] = [await totals(dayAt(-6), dayAt(1)), await totals(dayAt(-13), dayAt(-6))];
  expect(before.cost).not.toBe('$0.00');
  const tile = (name: string) => page.locator('.tiles > div').filter({ has: page.getByText(name, { exact: true }) });
  for (const name of ['cost', 'tokens'] as const) {
    const texts = tile(name === 'cost' ? 'Cost' : 'Tokens').locator('dd');
    await expect.poll(() => texts.allTextContents()).toEqual([now[name], `${before[name]} in the 7 days before`]);
  }
  expect(problems).toEqual([]);
});

test('who has used nothing sees no empty plot of costs, and whose costs are meant', async () => {
  const { data } = await site.graphql<{ viewer: { organization: { slug: string } } }>(
    key,
    '{ viewer { organization { slug } } }',
  );
  const member = await site.createKey({ organization: data?.viewer.organization.slug ?? '', role: 'member' });
  const { page, problems } = await site.open('/overview', { key: member.key });
  await page.getByText('Nothing was used in this period.').waitFor();
  await page.getByRole('heading', { name: 'Sessions by day and state' }).waitFor();
  expect(await page.getByRole('heading', { name: 'Cost by day' }).count()).toBe(0);
  const cost = page.locator('.tiles > div').filter({ has: page.getByText('Cost', { exact: true }) });
  expect(await cost.locator('dd').allTextContents()).toEqual(['–', 'of your sessions']);
  expect(problems).toEqual([]);
});
