import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { append, createSession, moveTo, mutate } from '../support/fixtures/sessions.ts';
import { VIEWS, startSite, openActions, openDetails, isGood } from '../support/processes/browser.ts';

/** Sessions are held, released and deleted on their page. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const { key, email, organization } = await site.createKey();

const dialog = (page: Page) => page.getByRole('dialog');
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const titles = (page: Page) => page.getByRole('table', { name: 'Sessions' }).getByRole('link').allTextContents();

/** Presses a button with the keyboard. */
async function press(page: Page, name: string): Promise<void> {
  await button(page, name).focus();
  await page.keyboard.press('Enter');
}

async function recorded(title: string, count: number): Promise<string> {
  const id = await createSession(site, key, { title, visibility: 'PUBLIC' });
  await moveTo(site, key, id, 'IN_PROGRESS');
  for (let left = count; left > 0; left -= 1000) {
    const events = Array.from({ length: Math.min(1000, left) }, () => ({
      eventType: 'line',
      provider: 'anthropic',
      eventData: { type: 'line' },
    }));
    await append(site, key, id, events);
  }
  return id;
}

test.each(VIEWS)('%s: a session is deleted with its counts, and leaves the filtered list', async (name, view) => {
  const id = await recorded(`Small ${name}`, 2);
  const { page, problems } = await site.open('/sessions?title=Small', { ...view, key });
  await page.getByRole('link', { name: `Small ${name}` }).click();
  await openActions(page);
  await press(page, 'Delete…');
  await dialog(page).getByText('This cannot be undone').waitFor();
  const counts = dialog(page).locator('dl.counts > div');
  await expect
    .poll(async () => (await counts.allTextContents()).map((text) => text.replaceAll(/\s+/g, ' ').trim()))
    .toEqual(['Events2', 'Results0', 'Pull requests0']);
  await isGood(page, `session-delete-${name}`);
  await page.keyboard.press('Escape');
  await expect.poll(() => button(page, 'Delete…').evaluate((each) => each === document.activeElement)).toBe(true);
  await page.keyboard.press('Enter');
  await dialog(page).getByText('This cannot be undone').waitFor();
  await press(page, 'Delete permanently');
  await page.getByText('The session was deleted.').waitFor();
  await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
  await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
  await expect.poll(() => titles(page)).not.toContain(`Small ${name}`);
  expect(new URL(page.url()).search).toBe('?title=Small');
  expect((await site.rest('GET', `/v1/sessions/${id}`, { key })).status).toBe(404);
  expect(problems).toEqual([]);
});

test('the title of a session with more than 1,000 events has to be typed again', async () => {
  const id = await recorded('A  large “run”', 1001);
  const { page } = await site.open(`/sessions/${id}`, { key });
  await openActions(page);
  await press(page, 'Delete…');
  const field = dialog(page).getByLabel('Type the title');
  await field.fill('A large');
  await page.keyboard.press('Enter');
  expect(await button(page, 'Delete permanently').getAttribute('aria-disabled')).toBe('true');
  await field.fill('A large “run”');
  await page.keyboard.press('Enter');
  await page.getByText('The session was deleted.').waitFor();
  expect((await site.rest('GET', `/v1/sessions/${id}`, { key })).status).toBe(404);
});

test('the page and the list of a session that somebody else deletes say so', async () => {
  const id = await recorded('Short-lived', 1);
  const { page } = await site.open(`/sessions/${id}`, { key });
  await page.getByText('Live: new events appear by themselves.').waitFor();
  await mutate(site, key, 'deleteSession', { sessionId: id });
  await page.getByText('This session was deleted, or you can no longer read it.').waitFor();
  await expect.poll(() => page.getByText('Live: new events').count()).toBe(0);
});

test.each(VIEWS)('%s: a hold is shown with its reason, and a held session cannot be deleted', async (name, view) => {
  const id = await recorded(`Kept ${name}`, 1);
  const { page, problems } = await site.open(`/sessions/${id}`, { ...view, key });
  await openActions(page);
  await press(page, 'Hold…');
  await press(page, 'Hold');
  await expect.poll(() => dialog(page).getByLabel('Reason').getAttribute('aria-invalid')).toBe('true');
  await dialog(page).getByLabel('Reason').fill('Case 12');
  await press(page, 'Hold');
  await expect.poll(() => page.locator('.session-head').textContent()).toMatch(/Held[^]*Case 12/);
  await openDetails(page);
  await expect
    .poll(() => page.locator('dl.facts').textContent())
    .toMatch(new RegExp(`Held by ${email} since .*: Case 12`));
  await isGood(page, `session-held-${name}`);

  await openActions(page);
  await press(page, 'Delete…');
  await dialog(page).getByText(`Held by ${email}`).waitFor();
  await isGood(page, `session-held-delete-${name}`);
  expect(await button(page, 'Delete permanently').getAttribute('aria-disabled')).toBe('true');
  await press(page, 'Cancel');

  await page.goto(`${site.url}/sessions?held=yes`);
  await expect.poll(() => titles(page)).toEqual([`Kept ${name}`]);
  await page.goto(`${site.url}/sessions/${id}`);
  await openActions(page);
  await press(page, 'Release');
  await dialog(page).getByText('Release the session?').waitFor();
  await page.keyboard.press('Enter');
  await expect.poll(() => button(page, 'Release').count()).toBe(0);
  await openActions(page);
  await button(page, 'Hold…').waitFor();
  await press(page, 'History');
  const changes = page.getByRole('table', { name: 'Changes' }).getByRole('row');
  await expect.poll(() => changes.nth(1).textContent()).toContain('Released the session');
  await expect.poll(() => changes.nth(2).textContent()).toContain('Held the session');
  expect(problems.filter((problem) => !problem.includes('ERR_ABORTED'))).toEqual([]);
});

test('a hold that is set while the dialog is open is said in the dialog', async () => {
  const id = await recorded('Held late', 1);
  const { page } = await site.open(`/sessions/${id}`, { key });
  await openActions(page);
  await press(page, 'Delete…');
  await dialog(page).getByText('This cannot be undone').waitFor();
  await mutate(site, key, 'holdSession', { sessionId: id, reason: 'Case 13' });
  await press(page, 'Delete permanently');
  await dialog(page)
    .getByText(/Held by .*Case 13/)
    .waitFor();
  expect(await button(page, 'Delete permanently').getAttribute('aria-disabled')).toBe('true');
});

test('who can only read a session sees no button that deletes or holds it; its creator deletes it', async () => {
  const id = await recorded('Of an administrator', 1);
  const member = await site.createKey({ organization, role: 'member' });
  const { page } = await site.open(`/sessions/${id}`, { key: member.key });
  await openActions(page);
  await page.getByRole('link', { name: 'Export as NDJSON' }).waitFor();
  for (const name of ['Delete…', 'Hold…', 'Release'])
    expect([name, await button(page, name).count()]).toEqual([name, 0]);
  const own = await createSession(site, member.key, { title: 'Of a member' });
  await page.goto(`${site.url}/sessions/${own}`);
  await openActions(page);
  await button(page, 'Delete…').waitFor();
  expect(await button(page, 'Hold…').count()).toBe(0);
});
