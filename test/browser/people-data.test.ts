import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createSession } from '../support/fixtures/sessions.ts';
import { isGood, openActions, startSite } from '../support/processes/browser.ts';
import { runJobs } from '../support/processes/jobs.ts';

/** What administrators hand out, erase and redact. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });

const dialog = (page: Page) => page.getByRole('dialog');
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const isBlocked = (page: Page, name: string) => button(page, name).getAttribute('aria-disabled');

const titleOf = async (key: string, id: string) => {
  const { status, body } = await site.rest<{ title: string }>('GET', `/v1/sessions/${id}`, { key });
  return status === 200 ? body.title : status;
};

test('a person is handed out as a file, and erased after their address was typed', async () => {
  const { key, email, organization } = await site.createKey();
  const member = await site.createKey({ organization, role: 'member' });
  const hidden = await createSession(site, member.key, { title: 'Private plan' });
  const { page, problems } = await site.open('/members', { key });
  const row = page.getByRole('row').filter({ hasText: member.email });
  const saved = page.waitForEvent('download');
  await openActions(row);
  await row.getByRole('link', { name: 'Export…' }).click();
  expect((await saved).suggestedFilename()).toBe(`person-${member.userId}.ndjson`);
  await isGood(page, 'person-export');

  await openActions(row);
  await row.getByRole('button', { name: 'Erase…' }).click();
  await dialog(page).getByText('The private sessions of').waitFor();
  await isGood(page, 'person-erasure');
  expect(await isBlocked(page, 'Erase')).toBe('true');
  await dialog(page).getByLabel(`Type ${member.email}`).fill(member.email);
  await expect.poll(() => isBlocked(page, 'Erase')).toBe('false');
  await button(page, 'Erase').click();
  await page.getByText('The deletion was requested.').waitFor();
  await runJobs(site);
  expect([await titleOf(key, hidden), (await site.rest('GET', '/v1/users/me', { key: member.key })).status]).toEqual([
    404, 200,
  ]);
  // Nobody erases themselves here, and members erase nobody.
  await openActions(
    page.getByRole('table', { name: 'Members', exact: true }).getByRole('row').filter({ hasText: email }),
  );
  expect(await button(page, 'Erase…').count()).toBe(0);
  const other = await site.open('/members', { key: member.key });
  await other.page.getByRole('row').filter({ hasText: member.email }).waitFor();
  for (const name of ['Export…', 'Erase…']) expect(await other.page.getByText(name).count()).toBe(0);
  expect(problems).toEqual([]);
});

test('a text is redacted in all sessions after the slug was typed, and the profile says in how many', async () => {
  const { key, organization } = await site.createKey();
  const member = await site.createKey({ organization, role: 'member' });
  const [first, second, held] = await Promise.all(
    [key, member.key, key].map((by) => createSession(site, by, { title: 'About hunter-2' })),
  );
  await site.rest('PUT', `/v1/sessions/${held}/hold`, { key, body: { reason: 'Kept' } });
  const { page, problems } = await site.open('/organization', { key });
  await button(page, 'Redact in all sessions…').click();
  await dialog(page).getByRole('textbox', { name: 'Text' }).fill('hunter-2');
  expect(await isBlocked(page, 'Redact')).toBe('true');
  await dialog(page).getByLabel(`Type ${organization}`).fill(organization);
  await expect.poll(() => isBlocked(page, 'Redact')).toBe('false');
  await isGood(page, 'organization-redaction');
  await button(page, 'Redact').click();
  await page.getByText('The redaction was requested.').waitFor();
  await runJobs(site);
  const titles = [first, second, held].map((id = '') => titleOf(key, id));
  expect(await Promise.all(titles)).toEqual(['About [redacted]', 'About [redacted]', 'About hunter-2']);
  await page.goto(`${site.url}/profile`);
  await page.getByText('2 sessions changed, 1 held session left').waitFor();
  await isGood(page, 'organization-redacted');
  expect(problems).toEqual([]);
});
