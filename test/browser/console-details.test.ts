import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { runJobs } from '../support/processes/jobs.ts';
import { append, createSession, moveTo, mutate } from '../support/fixtures/sessions.ts';
import { accessibilityFindings, overflowOf, saveScreenshot, startSite } from '../support/processes/browser.ts';

/** Details of the console that people met: widths, words, what is open and what has gone. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const { key, organization } = await site.createKey();

const bottomOf = async (page: Page, selector: string) => {
  const box = await page.locator(selector).first().boundingBox();
  return box ? box.y : Infinity;
};

test('lists use a wide window, and a phone shows the list before its filters, which open on demand or with the address', async () => {
  await createSession(site, key, { title: 'Seen' });
  const wide = await site.open('/sessions', { width: 1920, key });
  await wide.page.getByRole('link', { name: 'Seen' }).waitFor();
  const frame = await wide.page.locator('.table-frame').boundingBox();
  expect((frame?.x ?? 0) + (frame?.width ?? 0)).toBeGreaterThan(1800);
  const { page, problems } = await site.open('/sessions', { width: 390, key });
  await page.getByRole('link', { name: 'Seen' }).waitFor();
  expect(await bottomOf(page, '.table-frame')).toBeLessThan(422);
  const state = page.getByLabel('State');
  expect(await state.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Filters' }).click();
  await state.selectOption('Failed');
  await page.getByText('No session matches this filter.').waitFor();
  await saveScreenshot(page, 'phone-filters');
  expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
  await page.reload();
  await page.getByText('No session matches this filter.').waitFor();
  expect(await state.isVisible()).toBe(true);
  expect([problems, wide.problems]).toEqual([[], []]);
});

test('the scope for the tools of MCP connections has a purpose of its own', async () => {
  const { page, problems } = await site.open('/api-keys', { key });
  await page.getByRole('button', { name: 'New API key' }).click();
  await page.getByLabel('Purpose').selectOption('MCP client: calls the tools of MCP connections');
  await expect
    .poll(() => page.locator('.scope-choice label:has(:checked) code').allTextContents())
    .toEqual(['mcp_connections.use']);
  expect(problems).toEqual([]);
});

test('a confirmation stays when its action opens a page, and goes with the next page', async () => {
  const { page, problems } = await site.open('/event-definitions', { key });
  await page.getByRole('button', { name: 'New event definition' }).click();
  await page.getByLabel('Label', { exact: true }).fill('Order paid');
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  const said = page.getByText('The event definition “Order paid” was created.');
  await said.waitFor();
  await page.waitForURL(`${site.url}/event-definitions/order_paid`);
  await page.clock.install();
  await page.clock.fastForward(2000);
  await page.getByRole('link', { name: 'Members' }).click();
  await page.getByRole('heading', { name: 'Members', level: 1 }).waitFor();
  await expect.poll(() => said.count()).toBe(0);
  expect(problems).toEqual([]);
});

test('an hour of refused occurrences is a span, and names are not broken', async () => {
  const { key: sender } = await site.createKey();
  const name = 'subscription_renewal_reminder_sent';
  await site.rest('POST', '/events/2026-03/send', { key: sender, body: { eventName: name, email: 'a@example.com' } });
  const { page, problems } = await site.open('/event-definitions', { key: sender });
  const row = page.getByRole('table', { name: 'Refused names' }).locator('tbody tr');
  expect(await row.locator('time').textContent()).toMatch(/:00\D*–.*:00/);
  expect(await row.locator('code').evaluate((code) => code.getClientRects().length)).toBe(1);
  expect(problems).toEqual([]);
});

test('people without an organization see no sections that need one', async () => {
  const alone = await site.createKey({ organization, role: 'member' });
  await site.dependencies.sql.query('update api_key set organization_id = null where id = $1', [alone.keyId]);
  await mutate(site, alone.key, 'leaveOrganization', { organizationId: alone.organizationId });
  const { page, problems } = await site.open('/', { key: alone.key });
  await page.getByRole('heading', { name: 'No organization yet', level: 1 }).waitFor();
  expect(await page.getByRole('navigation', { name: 'Console' }).getByRole('link').count()).toBe(0);
  await page.locator('.side-foot').getByRole('link', { name: alone.email }).click();
  await page.getByRole('heading', { name: 'Profile', level: 1 }).waitFor();
  expect(problems).toEqual([]);
});

test('earlier events of a session load when the reader scrolls up', async () => {
  const id = await createSession(site, key, { title: 'Long' });
  await moveTo(site, key, id, 'IN_PROGRESS');
  const events = Array.from({ length: 900 }, (_, index) => ({
    eventType: 'x',
    provider: 'p',
    eventData: { type: 'x', deltaType: 'text_delta', itemId: `i${index}`, accumulatedText: `message ${index + 1}` },
  }));
  await append(site, key, id, events);
  const { page, problems } = await site.open(`/sessions/${id}#event-900`, { key });
  await page.locator('#event-900').waitFor();
  expect(await page.locator('#event-1').count()).toBe(0);
  const first = page.locator('.item').first();
  await expect
    .poll(async () => {
      await page.keyboard.press('Home');
      return first.getAttribute('id');
    })
    .toBe('event-1');
  expect(problems).toEqual([]);
});

test('the deletion of an account ends at the sign-in page, which says why', async () => {
  const leaving = await site.createKey({ organization, role: 'member' });
  const { page } = await site.open('/profile', { key: leaving.key });
  await page.getByRole('button', { name: 'Delete my account…' }).click();
  await page.getByLabel(`Type ${leaving.email}`).fill(leaving.email);
  await page.getByRole('button', { name: 'Delete permanently' }).click();
  await page.getByRole('table', { name: 'Deletions' }).waitFor();
  await runJobs(site);
  await page.getByText('Your account is being deleted. Its API keys no longer work.').waitFor();
  expect(new URL(page.url()).pathname).toBe('/sign-in');
  expect(await accessibilityFindings(page)).toEqual([]);
});
