import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { indexSessions } from '../../src/domains/session-events/search-index.ts';
import { append, createSession, eventsOf, mutate } from '../support/fixtures/sessions.ts';
import { VIEWS, accessibilityFindings, overflowOf, saveScreenshot, startSite } from '../support/processes/browser.ts';

/** Finding in the console: each filter is in the address, survives a reload, and shows only what it asks for. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const { key, organization, email } = await site.createKey();
const other = await site.createKey({ organization, role: 'admin' });

const saying = (text: string) => ({
  eventType: 'stream_event',
  provider: 'anthropic',
  eventData: { type: 'stream_event', deltaType: 'text_delta', itemId: text, accumulatedText: text },
});

const links = (page: Page, table: string) => page.getByRole('table', { name: table }).getByRole('link');
const titles = (page: Page) => links(page, 'Sessions').allTextContents();

async function isGood(page: Page, name: string): Promise<void> {
  await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
  await saveScreenshot(page, name);
  expect([name, await accessibilityFindings(page), await overflowOf(page)]).toEqual([name, [], 0]);
}

test('sessions are found by agent, creator and date, and by the words in their events', async () => {
  site.setClock(new Date('2026-03-01T10:00:00Z'));
  await createSession(site, key, { title: 'Old', agent: 'codex' });
  site.setClock(new Date('2026-03-02T10:00:00Z'));
  await createSession(site, key, { title: 'Mine', agent: 'claude' });
  const theirs = await createSession(site, other.key, { title: 'Theirs', agent: 'claude', visibility: 'PUBLIC' });
  site.setClock(undefined);
  await mutate(site, other.key, 'appendSessionEvents', {
    sessionId: theirs,
    events: [saying('I begin'), saying('The cart total ignores the voucher')],
  });
  while ((await indexSessions(site.dependencies.database.em)) > 0);
  const { page, problems } = await site.open('/sessions', { key });
  await page.getByText('More filters').click();
  await page.getByLabel('Agent').selectOption('claude');
  await expect.poll(async () => (await titles(page)).toSorted()).toEqual(['Mine', 'Theirs']);
  await page.getByLabel('Created by').selectOption(other.email);
  await expect.poll(() => titles(page)).toEqual(['Theirs']);
  await page.reload();
  await expect.poll(() => titles(page)).toEqual(['Theirs']);
  const set = page.getByRole('list', { name: 'Filters that are set' });
  await set.getByText('Agent: claude').waitFor();
  await set.getByText(`Created by: ${other.email}`).waitFor();
  await isGood(page, 'sessions-filtered');
  await page.goto(`${site.url}/sessions?to=2026-03-01&from=never`);
  await expect.poll(() => titles(page)).toEqual(['Old']);
  await page.goto(`${site.url}/sessions`);
  await page.getByLabel('Text').fill('voucher "cart total"');
  await links(page, 'Found texts').getByText('Theirs').waitFor();
  await page.getByText('The cart total ignores the voucher').waitFor();
  await isGood(page, 'sessions-found');
  // The filters hold for what is found, too.
  const none = page.getByText('No session that matches the filter has all of these words.');
  await page.goto(`${site.url}/sessions?text=voucher&to=2026-03-01`);
  await none.waitFor();
  await page.getByText('More filters').click();
  await page.getByLabel('to', { exact: true }).fill('2026-03-02');
  const found = page.getByRole('table', { name: 'Found texts' });
  await found.getByText('Theirs').waitFor();
  await expect.poll(() => found.getByRole('columnheader').allTextContents()).toContain('Last recorded');
  await page.getByLabel('State').selectOption('Failed');
  await none.waitFor();
  await page.getByLabel('State').selectOption('Any');
  await found.getByText('Theirs').waitFor();
  await page.reload();
  await links(page, 'Found texts').click();
  await page.locator('.item.wanted', { hasText: 'The cart total' }).waitFor();
  expect(problems).toEqual([]);
});

test('definitions are found by label and by name, and occurrences by the value of a property', async () => {
  const propertyDefinitions = [
    { label: 'Plan', type: 'ENUMERATION', options: ['Free', 'Paid'].map((label) => ({ label, value: label })) },
    { label: 'Seats', type: 'NUMBER' },
  ];
  await mutate(site, key, 'createEventDefinition', { label: 'Trial started', name: 'trial', propertyDefinitions });
  await mutate(site, key, 'createEventDefinition', { label: 'Invoice paid' });
  const inputs = [
    { plan: 'Free', seats: 1 },
    { plan: 'Paid', seats: 12.5 },
  ].map((properties, index) => ({ eventName: 'trial', email: `${index}@example.com`, properties }));
  await mutate(site, key, 'sendEventOccurrences', { inputs });
  for (const [view, options] of VIEWS) {
    const { page, problems } = await site.open('/event-definitions', { ...options, key });
    await page.getByLabel('Label or name').fill('l started');
    await expect.poll(() => links(page, 'Event definitions').allTextContents()).toEqual(['Trial started']);
    await page.getByLabel('Label or name').fill('oice_p');
    await expect.poll(() => links(page, 'Event definitions').allTextContents()).toEqual(['Invoice paid']);
    await page.goto(`${site.url}/event-definitions/trial`);
    const rows = page.getByRole('table', { name: 'Latest occurrences' }).locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByLabel('Property').selectOption('Plan');
    await page.getByLabel('Value').selectOption('Paid');
    await expect.poll(() => rows.count()).toBe(1);
    await expect.poll(() => rows.textContent()).toContain('1@example.com');
    await page.getByLabel('Property').selectOption('Seats');
    await page.getByLabel('Value').fill('12.5');
    await page.waitForURL((url) => url.search === '?property=seats&value=12.5');
    await expect.poll(() => rows.count()).toBe(1);
    await page.reload();
    await expect.poll(() => rows.count()).toBe(1);
    expect(new URL(page.url()).search).toBe('?property=seats&value=12.5');
    await isGood(page, `occurrences-found-${view}`);
    await page.getByLabel('Value').fill('7');
    await page.getByText('No occurrence has this value.').waitFor();
    await page.getByRole('link', { name: 'History' }).click();
    const entries = page.getByRole('table', { name: 'Audit log' }).locator('td:nth-child(2)');
    await expect
      .poll(async () => (await entries.allTextContents()).map((text) => text.trim()))
      .toEqual(['Created the event definition']);
    expect(problems).toEqual([]);
  }
});

test('the audit log says what was done, to what, by whom and which fields changed; recording is hidden', async () => {
  const id = await createSession(site, key, { title: 'Audited' });
  await mutate(site, other.key, 'updateSession', { sessionId: id, visibility: 'PUBLIC', branchName: 'main' });
  await append(site, key, id, eventsOf(2));
  const gone = await createSession(site, key, { title: 'Gone' });
  const { page, problems } = await site.open(`/audit-log?object=${id}`, { key });
  const rows = page.getByRole('table', { name: 'Audit log' }).locator('tbody tr');
  const said = async () =>
    (await rows.locator('td:nth-child(2), td:nth-child(4) > bdi').allTextContents()).map((text) => text.trim());
  await expect
    .poll(said)
    .toEqual(['Changed branch name and visibility (public)', other.email, 'Created the session as private', email]);
  await expect.poll(() => rows.first().getByRole('link').allTextContents()).toEqual(['Audited']);
  await page.getByText('More filters').click();
  await page.getByLabel('With recording').check();
  await expect.poll(async () => (await said())[0]).toBe('Recorded events');
  await page.getByLabel('By').selectOption(other.email);
  await expect.poll(said).toEqual(['Changed branch name and visibility (public)', other.email]);
  await page.getByRole('button', { name: 'One object only' }).click();
  await page.getByLabel('By').selectOption(`${email} (you)`);
  await page.getByLabel('What').selectOption('Created the session');
  await page.waitForURL(/operation=createSession/);
  await page.reload();
  await expect.poll(() => rows.first().getByRole('link').textContent()).toBe('Gone');
  await expect
    .poll(async () => new Set((await said()).filter((_, index) => index % 2 === 0)))
    .toEqual(new Set(['Created the session as private']));
  await isGood(page, 'audit-log-filtered');
  await rows.first().getByRole('link').click();
  await page.getByRole('heading', { name: 'Gone', level: 1 }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/sessions/${gone}`);
  expect(problems).toEqual([]);
});

test('the filters of the audit log are in one line, and those that are set are chips that remove them', async () => {
  const { page, problems } = await site.open('/audit-log?from=2026-03-01&to=2026-03-02&refused=yes', { key });
  const bar = page.getByRole('search');
  const set = page.getByRole('list', { name: 'Filters that are set' });
  const texts = async () =>
    (await set.getByRole('button').allTextContents()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
  await expect
    .poll(texts)
    .toEqual([
      'Remove the filter From 2026-03-01 ×',
      'Remove the filter To 2026-03-02 ×',
      'Remove the filter Refused only ×',
      'Remove all',
    ]);
  await page.getByText('No entry matches this filter.').waitFor();
  const heightOf = (part: typeof bar) => part.evaluate((element) => element.getBoundingClientRect().height);
  expect(await heightOf(bar)).toBeLessThan(1.5 * (await heightOf(bar.getByLabel('What'))));
  await set.getByText('Refused only').click();
  await expect.poll(() => new URL(page.url()).search).toBe('?from=2026-03-01&to=2026-03-02');
  await set.getByText('Remove all').click();
  await expect.poll(() => new URL(page.url()).search).toBe('');
  await expect.poll(() => set.count()).toBe(0);
  await page.getByRole('table', { name: 'Audit log' }).waitFor();
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('page-title');
  expect(problems).toEqual([]);
});

test('the audit log names a person who was removed and an invitation that was revoked, and has the request on demand', async () => {
  const member = await site.createKey({ organization, role: 'member' });
  await mutate(site, member.key, 'updateViewer', { name: 'Grace Hopper' });
  await mutate(site, key, 'removeOrganizationMember', { userId: member.userId });
  const { invitation } = await mutate<{ invitation: { id: string } }>(
    site,
    key,
    'inviteOrganizationMember',
    { email: 'ada@example.com', role: 'ADMIN' },
    'invitation { id }',
  );
  await mutate(site, key, 'revokeOrganizationInvitation', { invitationId: invitation.id });
  for (const [view, options] of VIEWS) {
    const { page, problems } = await site.open('/audit-log', { ...options, key });
    const rows = page.getByRole('table', { name: 'Audit log' }).locator('tbody tr');
    const said = async () =>
      (await rows.locator('td:nth-child(2), td:nth-child(3)').allTextContents())
        .map((text) => text.replaceAll(/\s+/g, ' ').trim())
        .slice(0, 8)
        .filter((text) => !text.startsWith('Signed in') && !text.includes('API key'));
    await expect
      .poll(said)
      .toEqual(
        [
          'Revoked an invitation',
          'ada@example.com Invitation, no longer open',
          'Invited somebody as admin',
          'ada@example.com Invitation, no longer open',
          'Removed a member',
          `Grace Hopper (${member.email}) Person, no longer here`,
        ].slice(0, view.startsWith('wide') ? 6 : 4),
      );
    await rows.first().getByRole('button', { name: 'Actions' }).click();
    await rows.first().getByRole('button', { name: 'Details' }).click();
    const entry = page.getByRole('dialog', { name: 'Entry of the audit log' });
    await expect.poll(() => entry.locator('code').textContent()).toMatch(/^[\da-f-]{36}$/);
    await isGood(page, `audit-log-names-${view}`);
    expect(problems).toEqual([]);
  }
});

test('a list keeps the focus at its button while there are further pages, and gives it to the first row of the last one', async () => {
  const { key: own } = await site.createKey();
  for (let count = 0; count <= 100; count += 1) await createSession(site, own);
  const { page, problems } = await site.open('/audit-log', { key: own });
  const rows = page.getByRole('table', { name: 'Audit log' }).locator('tbody tr');
  const more = page.getByRole('button', { name: 'Load more' });
  const hasFocus = (wanted: Locator) => expect.poll(() => wanted.and(page.locator(':focus')).count()).toBe(1);
  await more.focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => rows.count()).toBe(100);
  await hasFocus(more);
  await page.keyboard.press('Enter');
  await hasFocus(rows.nth(100).getByRole('link'));
  expect(await more.count()).toBe(0);
  expect(problems).toEqual([]);
});
