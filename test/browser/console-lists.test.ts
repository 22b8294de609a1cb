import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { append, createSession, moveTo, mutate } from '../support/fixtures/sessions.ts';
import { accessibilityFindings, overflowOf, startSite } from '../support/processes/browser.ts';

/** Long lists: their order, their place after Back, several rows chosen at once, and the keys for all of it. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });

const titles = (page: Page) => page.getByRole('table', { name: 'Sessions' }).locator('tbody td.wide a');
const textsOf = (page: Page) => titles(page).allTextContents();

/** A session whose agent has reported its cost. */
async function record(key: string, title: string, costUsd: number): Promise<string> {
  const id = await createSession(site, key, { title });
  await moveTo(site, key, id, 'IN_PROGRESS');
  const eventData = { type: 'usage', usage: { costUsd } };
  await append(site, key, id, [{ eventType: 'usage', provider: 'anthropic', eventData }]);
  return id;
}

test('Back shows the pages that were loaded, at the same place, with the focus on the opened link; changes are counted', async () => {
  const { key } = await site.createKey();
  const ids: string[] = [];
  for (let count = 1; count <= 60; count += 1) ids.push(await createSession(site, key, { title: `Session ${count}` }));
  const { page, problems } = await site.open('/sessions', { key });
  await page.getByText('1–50 of 60').waitFor();
  // The list is read again when the tab is seen again. Who asks for more meanwhile gets it.
  const [asked, isAnswered] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  await page.route('**/graphql', async (route) => {
    if (route.request().postDataJSON().operationName === 'Sessions') {
      asked.resolve(undefined);
      await isAnswered.promise;
    }
    await route.continue();
  });
  for (const isHidden of [true, false])
    await page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
  await asked.promise;
  // Nobody has asked for it, so no bar is shown; one of what the page has asked for before goes.
  const bar = page.locator('.progress');
  await bar.waitFor({ timeout: 500 }).catch(() => undefined);
  await expect.poll(() => bar.count()).toBe(0);
  await page.getByRole('button', { name: 'Load more' }).click();
  isAnswered.resolve(undefined);
  await page.getByText('1–60 of 60').waitFor();
  const link = page.getByRole('link', { name: 'Session 3', exact: true });
  await link.scrollIntoViewIfNeeded();
  const scrolled = await page.evaluate(() => scrollY);
  expect(scrolled).toBeGreaterThan(200);
  await link.click();
  await page.getByRole('heading', { name: 'Session 3', level: 1 }).waitFor();
  await mutate(site, key, 'updateSession', { sessionId: ids[9], title: 'Renamed meanwhile' });
  await page.goBack();
  await page.getByText('1–60 of 60').waitFor();
  await expect.poll(() => link.evaluate((each) => each === document.activeElement)).toBe(true);
  expect(await page.evaluate(() => scrollY)).toBe(scrolled);
  await page.getByText('One object has changed.').waitFor();
  expect(await textsOf(page)).not.toContain('Renamed meanwhile');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await expect.poll(() => textsOf(page)).toContain('Renamed meanwhile');
  expect(await titles(page).count()).toBe(60);
  expect(problems).toEqual([]);
});

test('a session that moves into the rows while the page with it is read is listed once', async () => {
  const { key } = await site.createKey();
  const oldest = await createSession(site, key, { title: 'Oldest' });
  for (let count = 1; count <= 59; count += 1) await createSession(site, key, { title: `Session ${count}` });
  const { page, problems } = await site.open('/sessions', { key });
  await page.getByText('1–50 of 60').waitFor();
  await page.route('**/graphql', async (route) => {
    const { operationName, variables } = route.request().postDataJSON();
    if (operationName !== 'Sessions' || !variables.after) return route.continue();
    const response = await route.fetch();
    await moveTo(site, key, oldest, 'IN_PROGRESS');
    await page.getByRole('link', { name: 'Oldest', exact: true }).waitFor();
    return route.fulfill({ response });
  });
  await page.getByRole('button', { name: 'Load more' }).click();
  await expect.poll(() => page.getByText(/^1–/).textContent()).not.toMatch(/^1–5/);
  expect(await titles(page).count()).toBe(60);
  await page
    .getByRole('row', { name: /Oldest/ })
    .getByText('In progress')
    .waitFor();
  expect(problems).toEqual([]);
});

test('a click on a head orders by it, in both directions; the order is in the address, and rows stay when they change', async () => {
  const { key } = await site.createKey();
  await createSession(site, key, { title: 'Free' });
  const cheap = await record(key, 'Cheap', 0.5);
  await record(key, 'Dear', 12);
  const { page, problems } = await site.open('/sessions', { key });
  await expect.poll(() => textsOf(page)).toEqual(['Dear', 'Cheap', 'Free']);
  await page.getByRole('button', { name: 'Cost' }).click();
  await page.getByRole('button', { name: 'Cost' }).click();
  await expect.poll(() => textsOf(page)).toEqual(['Cheap', 'Dear', 'Free']);
  expect(new URL(page.url()).searchParams.get('sort')).toBe('-cost');
  expect(await page.getByRole('columnheader', { name: 'Cost' }).getAttribute('aria-sort')).toBe('ascending');
  // Nobody has failed calls or has reported tokens, so these columns are not there.
  expect(await page.getByRole('columnheader').allTextContents()).toEqual([
    'Title',
    'State',
    'Agent',
    'Cost',
    'Last recorded',
  ]);
  await moveTo(site, key, cheap, 'COMPLETED');
  await page.getByText('One object has changed.').waitFor();
  expect(await textsOf(page)).toEqual(['Cheap', 'Dear', 'Free']);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByRole('row', { name: /Cheap/ }).getByText('Completed').waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  expect(await overflowOf(page)).toBe(0);
  expect(problems).toEqual([]);
});

test('several chosen sessions are pinned, made private and deleted, after what goes is shown; who is refused is told', async () => {
  const { key } = await site.createKey();
  for (const title of ['One', 'Two', 'Three']) await createSession(site, key, { title, visibility: 'PUBLIC' });
  const { page, problems } = await site.open('/sessions', { key });
  const choose = async (...names: string[]) => {
    for (const name of names) await page.getByRole('checkbox', { name: `Choose ${name}` }).check();
  };
  const chosen = page.getByRole('group', { name: 'Chosen sessions' });
  await choose('One', 'Two');
  await chosen.getByText('2 sessions chosen').waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  await chosen.getByRole('button', { name: 'Pin' }).click();
  await expect.poll(() => page.getByRole('img', { name: 'Pinned' }).count()).toBe(2);
  await choose('Three');
  await chosen.getByRole('button', { name: 'Make private' }).click();
  await page.getByText('Private', { exact: true }).waitFor();
  await choose('One', 'Three');
  await chosen.getByRole('button', { name: 'Change state' }).click();
  await page.getByRole('dialog').getByLabel('New state').selectOption('COMPLETED');
  await page.getByRole('dialog').getByRole('button', { name: 'Change state' }).click();
  // Queued sessions do not complete.
  await page.getByRole('dialog').getByText('2 of 2 sessions not changed.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await chosen.getByRole('button', { name: 'Delete…' }).click();
  await page.getByText('Deleting 2 sessions deletes everything in them').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete permanently' }).click();
  await expect.poll(() => textsOf(page)).toEqual(['Two']);
  expect(problems).toEqual([]);
});

test('with the keyboard alone: a page, a session and an action are found, and a list is read and opened', async () => {
  const { key } = await site.createKey();
  for (const title of ['First of all', 'Second of all']) await createSession(site, key, { title });
  const { page, problems } = await site.open('/members', { key });
  const { keyboard } = page;
  await page.getByRole('table', { name: 'Members', exact: true }).waitFor();
  await keyboard.press('Control+k');
  const found = page.getByRole('listbox', { name: 'Found' });
  await keyboard.type('sess');
  await found.getByRole('option', { name: 'Sessions Page' }).waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  await keyboard.press('Enter');
  await expect.poll(() => textsOf(page)).toEqual(['Second of all', 'First of all']);
  await keyboard.press('j');
  await keyboard.press('j');
  await keyboard.press('k');
  await keyboard.press('j');
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'First of all', level: 1 }).waitFor();
  await keyboard.press('Control+k');
  await keyboard.type('second');
  await found.getByRole('option', { name: 'Second of all Session' }).waitFor();
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Second of all', level: 1 }).waitFor();
  await page.goBack();
  await page.goBack();
  await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
  await keyboard.press('/');
  await keyboard.type('j?');
  expect(await page.getByLabel('Text').inputValue()).toBe('j?');
  await keyboard.press('Control+k');
  await keyboard.type('new session');
  await found.getByRole('option', { name: 'New session Action' }).waitFor();
  await keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'New session' }).waitFor();
  await keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Sessions', level: 1 }).focus();
  await keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Go to the next row').waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  expect(problems).toEqual([]);
});
