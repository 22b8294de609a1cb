import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { mutate } from '../support/fixtures/sessions.ts';
import { isGood, startSite, VIEWS } from '../support/processes/browser.ts';

/** API keys are created in the console with the scopes and the expiry that they need. */

const site = await startSite();
const DAY_MS = 86_400_000;

const dialog = (page: Page) => page.getByRole('dialog');
const scope = (page: Page, name: string) => dialog(page).getByRole('checkbox', { name });

async function openForm(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New API key' }).click();
  await dialog(page).waitFor();
}

/** Creates the key. @returns its scopes, and after how many days it expires */
async function create(page: Page) {
  await dialog(page).getByRole('button', { name: 'Create' }).click();
  const key = (await page.locator('.secret code').textContent()) ?? '';
  const { data } = await site.graphql<{
    viewer: { scopes: string[]; apiKey: { createdAt: string; expiresAt: string | null } };
  }>(key, '{ viewer { scopes apiKey { createdAt expiresAt } } }');
  const { scopes = [], apiKey } = data?.viewer ?? {};
  const lifetimeMs = apiKey?.expiresAt ? Date.parse(apiKey.expiresAt) - Date.parse(apiKey.createdAt) : undefined;
  return { scopes: scopes.toSorted(), days: lifetimeMs === undefined ? null : Math.round(lifetimeMs / DAY_MS) };
}

const chosenScopes = async (page: Page) => {
  const boxes = await dialog(page).getByRole('checkbox', { checked: true }).all();
  const names = await Promise.all(boxes.map((box) => box.locator('xpath=..').locator('code').textContent()));
  return names.map(String).toSorted();
};

test.each([
  [1280, 720],
  [390, 700],
])('%i × %i: no field of the form is below its buttons when it gets the focus with Tab', async (width, height) => {
  const { key } = await site.createKey();
  const { page } = await site.open('/api-keys', { width, key });
  await page.setViewportSize({ width, height });
  await openForm(page);
  const last = dialog(page).getByLabel('Expires');
  const covered: string[] = [];
  for (let isLast = false; !isLast; isLast = await last.evaluate((field) => field === document.activeElement)) {
    await page.keyboard.press('Tab');
    covered.push(...(await coveredFocus(page)));
  }
  expect(covered).toEqual([]);
});

/** The focused field, if the buttons of the form cover it. */
const coveredFocus = (page: Page) =>
  page.evaluate(() => {
    const [field, buttons] = [document.activeElement, document.querySelector('dialog .form-end')];
    if (!field || !buttons || buttons.contains(field)) return [];
    const isCovered = field.getBoundingClientRect().bottom > buttons.getBoundingClientRect().top;
    return isCovered ? [field.parentElement?.textContent ?? field.tagName] : [];
  });

test.each(VIEWS)(
  '%s: a new key starts without scopes and with 90 days; a purpose chooses its scopes, which are shown with their names and sentences',
  async (name, view) => {
    const { key } = await site.createKey();
    const { page, problems } = await site.open('/api-keys', { ...view, key });
    await openForm(page);
    expect(await chosenScopes(page)).toEqual([]);
    expect(await dialog(page).getByLabel('Expires').inputValue()).toBe('90');
    await dialog(page).getByRole('button', { name: 'Create' }).click();
    await expect.poll(() => dialog(page).getByLabel('Name', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    await dialog(page).getByText('must have at least 1 item').waitFor();
    await isGood(page, `key-faults-${name}`);
    await dialog(page).getByLabel('Name', { exact: true }).fill('CI runner');
    await dialog(page).getByLabel('Purpose').selectOption('CRM integration: events and their definitions');
    await expect
      .poll(() => chosenScopes(page))
      .toEqual(['analytics.behavioral_events.send', 'behavioral_events.event_definitions.read_write']);
    await dialog(page).getByLabel('Purpose').selectOption('Recorder: a program that runs agents');
    await expect.poll(() => chosenScopes(page)).toEqual(['sessions.record']);
    await dialog(page).getByText('Record sessions and their events; for agent runners.').waitFor();
    await scope(page, 'sessions.read').check();
    await expect
      .poll(() => dialog(page).getByLabel('Purpose').locator('option:checked').textContent())
      .toBe('My own choice of scopes');
    await isGood(page, `key-form-${name}`);
    expect(await create(page)).toEqual({ scopes: ['SESSIONS_READ', 'SESSIONS_RECORD'], days: 90 });
    const row = page.getByRole('row', { name: /CI runner/ });
    await row.getByText('2 scopes').click();
    await expect.poll(() => row.getByRole('listitem').allTextContents()).toEqual(['sessions.read', 'sessions.record']);
    await isGood(page, `key-created-${name}`);
    expect(problems).toEqual([]);
  },
);

test('a key without expiry, and one that expires on a day; a day in the past is a fault at its field', async () => {
  const { key } = await site.createKey();
  const { page } = await site.open('/api-keys', { key });
  const begin = async (text: string, expiry: string) => {
    await openForm(page);
    await dialog(page).getByLabel('Name', { exact: true }).fill(text);
    await dialog(page).getByLabel('Purpose').selectOption('Read only');
    await dialog(page).getByLabel('Expires').selectOption(expiry);
  };
  await begin('endless', 'Never');
  expect(await create(page)).toEqual({
    scopes: ['API_KEYS_READ', 'MCP_CONNECTIONS_READ', 'SESSIONS_READ'],
    days: null,
  });
  await begin('until a day', 'At the end of a day');
  await dialog(page).getByLabel('Last day').fill('2001-01-01');
  await dialog(page).getByRole('button', { name: 'Create' }).click();
  await expect.poll(() => dialog(page).getByLabel('Expires').getAttribute('aria-invalid')).toBe('true');
  const inFortyDays = new Date(Date.now() + 40 * DAY_MS);
  await dialog(page).getByLabel('Last day').fill(inFortyDays.toISOString().slice(0, 10));
  const row = page.getByRole('row', { name: /until a day/ });
  await dialog(page).getByRole('button', { name: 'Create' }).click();
  await row.waitFor();
  const at = new Date(String(await row.locator('time').last().getAttribute('datetime')));
  expect(at > inFortyDays || at.toDateString() === inFortyDays.toDateString()).toBe(true);
});

test('a key is shown with its owner, when it was created, and that it was never used', async () => {
  const { key } = await site.createKey();
  const expiresAt = new Date(Date.now() + 10 * DAY_MS).toISOString();
  await mutate(site, key, 'createApiKey', { name: 'unused', scopes: ['API_KEYS_READ'], expiresAt }, 'key');
  const { page, problems } = await site.open('/api-keys', { key });
  const row = page.getByRole('row', { name: /unused/ });
  await row.getByRole('cell', { name: 'you', exact: true }).waitFor();
  expect(await row.getByRole('cell').first().getAttribute('title')).toMatch(/^unused \(created .+\)$/);
  await row.getByText('never', { exact: true }).waitFor();
  expect(problems).toEqual([]);
});

test('a key offers only scopes that it has itself, and purposes that they are enough for', async () => {
  const { key: admin } = await site.createKey();
  const expiresAt = new Date(Date.now() + 10 * DAY_MS).toISOString();
  const scopes = ['API_KEYS_READ', 'API_KEYS_WRITE', 'SESSIONS_WRITE'];
  const { key } = await mutate<{ key: string }>(
    site,
    admin,
    'createApiKey',
    { name: 'weak', scopes, expiresAt },
    'key',
  );
  const { page } = await site.open('/api-keys', { key });
  await openForm(page);
  await expect
    .poll(() => dialog(page).getByLabel('Purpose').locator('option').allTextContents())
    .toEqual(['None yet', 'Read only', 'Everything that your own key may do']);
  await expect.poll(() => dialog(page).getByRole('checkbox').count()).toBe(3);
  expect(await dialog(page).getByLabel('Expires').locator('option:checked').textContent()).toBe('With your own key');
  await dialog(page).getByLabel('Name', { exact: true }).fill('as strong');
  await dialog(page).getByLabel('Purpose').selectOption('Everything that your own key may do');
  expect(await create(page)).toEqual({ scopes, days: 10 });
  const { data } = await site.graphql<{ viewer: { apiKeys: { nodes: { name: string }[] } } }>(
    admin,
    '{ viewer { apiKeys { nodes { name } } } }',
  );
  expect(data?.viewer.apiKeys.nodes.map(({ name }) => name)).toContain('as strong');
});

test('a key is offered the sections that it can read, begins with the first of them, and is told once what another one needs', async () => {
  const { key } = await site.createKey();
  const few = { name: 'few', scopes: ['API_KEYS_READ', 'WEBHOOKS_WRITE'] };
  const made = await mutate<{ key: string }>(site, key, 'createApiKey', few, 'key');
  const { page } = await site.open('/', { key: made.key });
  await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
  const sections = page.getByRole('navigation', { name: 'Console' }).getByRole('link');
  await expect.poll(() => sections.allTextContents()).toEqual(['Webhooks', 'Members', 'API keys', 'Organization']);
  await page.goto(`${site.url}/sessions`);
  await page.getByText('sessions.read').waitFor();
  await expect.poll(() => page.locator('.notice').count()).toBe(1);
});
