import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createDemoWorkspace } from '../../src/operator/demo-workspace.ts';
import { mutate } from '../support/fixtures/sessions.ts';
import { accessibilityFindings, startSite } from '../support/processes/browser.ts';

/** Two whole jobs with the keyboard alone: nothing is clicked, and no script moves the focus. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const key = (await createDemoWorkspace(site.dependencies))?.key ?? '';

const dialog = (page: Page) => page.getByRole('dialog');
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });
const button = (within: Page | Locator, name: string) => within.getByRole('button', { name, exact: true });
const hasFocus = (wanted: Locator) => wanted.evaluate((each) => each === document.activeElement);

/** What is wrong with the place of the focus: it must be in the window, uncovered and marked; in a dialog while one is open. */
function faultOfFocus(page: Page): Promise<string | undefined> {
  return page.evaluate(() => {
    const one = document.activeElement;
    const open = document.querySelector('dialog[open]');
    // From the end of a dialog, Tab leads to the browser itself, and then to its beginning.
    if (!one || one === document.body) return open ? undefined : 'nothing has the focus';
    const name = `${one.tagName} ${one.getAttribute('aria-label') ?? one.textContent.trim().slice(0, 40)}`;
    if (open && !open.contains(one)) return `${name}: is behind the dialog`;
    // The title of a page is where it begins.
    if (one.id === 'page-title') return undefined;
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    // A bar of a plot has another background instead.
    const bar = one.querySelector('.bar-place');
    const isMarked = bar
      ? getComputedStyle(bar).fill !== 'rgba(0, 0, 0, 0)'
      : outlineStyle !== 'none' && parseFloat(outlineWidth) > 0;
    if (!one.matches(':focus-visible') || !isMarked) return `${name}: has no outline`;
    const { top, bottom, left, right } = one.getBoundingClientRect();
    return bottom > 0 && top < innerHeight && right > 0 && left < innerWidth ? undefined : `${name}: is out of view`;
  });
}

/** Presses Tab, or Shift+Tab, until the element has the focus. @throws Error if that takes more presses */
async function tabTo(page: Page, wanted: Locator, { most = 25, back = false } = {}): Promise<void> {
  await wanted.waitFor();
  for (let presses = 0; presses <= most; presses += 1) {
    if (await hasFocus(wanted)) return;
    await page.keyboard.press(back ? 'Shift+Tab' : 'Tab');
    expect(await faultOfFocus(page)).toBeUndefined();
  }
  throw new Error(`${String(wanted)} is not reached with ${most} presses`);
}

async function press(page: Page, wanted: Locator, options: { most?: number; back?: boolean } = {}): Promise<void> {
  await tabTo(page, wanted, options);
  await page.keyboard.press('Enter');
}

const focusIsAt = (wanted: Locator) => expect.poll(() => hasFocus(wanted)).toBe(true);

async function write(page: Page, field: Locator, text: string): Promise<void> {
  await tabTo(page, field);
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(text);
}

/** Chooses in a list without opening it. */
async function choose(page: Page, field: Locator, option: string): Promise<void> {
  await tabTo(page, field);
  await page.keyboard.type(option);
  await expect.poll(() => field.locator('option:checked').textContent()).toContain(option);
}

test('a person signs in, finds what failed, reads why, shares the session and comes back to the list', async () => {
  const { body } = await site.rest<{ items: { id: string; title: string }[] }>('GET', '/v1/sessions?limit=3', { key });
  const { id = '', title = '' } = body.items[1] ?? {};
  await mutate(site, key, 'updateSession', { sessionId: id, visibility: 'PRIVATE' });
  const { page, problems } = await site.open('/');
  await write(page, page.getByLabel('API key'), key);
  await page.keyboard.press('Enter');
  await heading(page, 'Overview').waitFor();
  await focusIsAt(page.locator('#page-title'));

  const failed = page.getByRole('region', { name: 'Needs a person' }).getByRole('link', { name: title });
  await press(page, failed, { most: 15 });
  await heading(page, title).waitFor();
  await focusIsAt(page.locator('#page-title'));

  const strip = page.getByRole('slider', { name: 'Place in the session' });
  await tabTo(page, strip);
  await page.keyboard.press('Home');
  await page.locator('#event-1.wanted').waitFor();
  await page.keyboard.press('PageDown');
  const call = page.locator('.item.wanted', { hasText: 'shell' });
  await call.waitFor();
  await focusIsAt(strip);
  await page.keyboard.press('Enter');
  // The keyboard goes on in the row of the event.
  await focusIsAt(call.locator('.anchor'));
  await tabTo(page, call.locator('summary'), { most: 5 });
  await call.getByText('Exit code 2').waitFor();

  await press(page, button(page, 'More actions'), { back: true, most: 40 });
  await press(page, button(page, 'Edit'));
  await focusIsAt(dialog(page).getByLabel('Title'));
  await choose(page, dialog(page).getByLabel('Who can read it'), 'Public');
  await press(page, button(dialog(page), 'Save'), { most: 30 });
  await page.getByText('The session was changed.').waitFor();
  await focusIsAt(button(page, 'Edit'));
  expect((await site.rest('GET', `/v1/sessions/${id}`, { key })).body).toMatchObject({ visibility: 'public' });

  await press(page, page.getByRole('link', { name: 'Sessions', exact: true }), { back: true, most: 30 });
  await heading(page, 'Sessions').waitFor();
  await focusIsAt(page.locator('#page-title'));
  expect(problems).toEqual([]);
});

test('an event definition and its property are created, changed and deleted, and the audit log says so', async () => {
  const { page, problems } = await site.open('/event-definitions', { key });
  await heading(page, 'Event definitions').waitFor();
  await focusIsAt(page.locator('#page-title'));
  await press(page, button(page, 'New event definition'));
  await focusIsAt(dialog(page).getByLabel('Label'));
  await page.keyboard.type('Trial started');
  await page.keyboard.press('Enter');
  await heading(page, 'Trial started').waitFor();
  await focusIsAt(page.locator('#page-title'));

  const add = button(page, 'Add a property');
  await press(page, add);
  await focusIsAt(dialog(page).getByLabel('Label', { exact: true }));
  await page.keyboard.type('Plan');
  await choose(page, dialog(page).getByLabel('Type'), 'One of several');
  await write(page, dialog(page).getByLabel('Label of option 1'), 'Free');
  for (const [number, text] of [
    [2, 'Paid'],
    [3, 'Wrong'],
  ] as const) {
    await press(page, button(dialog(page), 'Add an option'));
    await focusIsAt(dialog(page).getByLabel(`Label of option ${number}`));
    await page.keyboard.type(text);
  }
  await press(page, button(dialog(page), 'Remove option 3'));
  await focusIsAt(dialog(page).getByLabel('Label of option 2'));
  await press(page, button(dialog(page), 'Add'));
  const row = page.getByRole('table', { name: 'Properties', exact: true }).getByRole('row', { name: /plan/ });
  await row.getByText('Free, Paid').waitFor();
  await focusIsAt(add);

  await press(page, button(row, 'Edit'));
  await focusIsAt(dialog(page).getByLabel('Label', { exact: true }));
  // The dialog keeps the focus: after its last element, Tab leads to its first one again.
  await tabTo(page, button(dialog(page), 'Cancel'));
  await tabTo(page, dialog(page).getByLabel('Label', { exact: true }), { most: 4 });
  await write(page, dialog(page).getByLabel('Label', { exact: true }), 'The plan');
  await page.keyboard.press('Enter');
  await row.getByText('The plan').waitFor();
  await focusIsAt(button(row, 'Edit'));
  await press(page, button(row, 'Change type'));
  await dialog(page).waitFor();
  await page.keyboard.press('Escape');
  await focusIsAt(button(row, 'Change type'));

  await press(page, button(row, 'Delete'));
  await press(page, button(dialog(page), 'Delete'));
  await page.getByText('None but the default ones.').waitFor();
  // The button is gone with its row.
  await focusIsAt(page.locator('#page-title'));

  await press(page, button(page, 'Delete…'));
  await write(page, dialog(page).getByLabel('Type trial_started'), 'trial_started');
  await page.keyboard.press('Enter');
  await heading(page, 'Event definitions').waitFor();
  await focusIsAt(page.locator('#page-title'));

  await press(page, page.getByRole('link', { name: 'Audit log', exact: true }), { back: true });
  await heading(page, 'Audit log').waitFor();
  const said = page.getByRole('table', { name: 'Audit log' }).locator('td:nth-child(2)');
  await expect
    .poll(async () => (await said.allTextContents()).map((text) => text.trim()).slice(0, 5))
    .toEqual([
      'Deleted the event definition',
      'Deleted a property',
      'Changed label',
      'Added a property',
      'Created the event definition',
    ]);
  expect(problems).toEqual([]);
});

test('the first stop of a page leads over its navigation', async () => {
  const { page, problems } = await site.open('/usage', { key });
  await heading(page, 'Usage').waitFor();
  await focusIsAt(page.locator('#page-title'));
  const skip = page.getByRole('link', { name: 'Skip to the content' });
  await tabTo(page, skip, { back: true });
  expect(await accessibilityFindings(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await focusIsAt(page.locator('#page-title'));
  expect(new URL(page.url()).hash).toBe('');
  expect(problems).toEqual([]);
});
