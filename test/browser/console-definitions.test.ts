import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { mutate } from '../support/fixtures/sessions.ts';
import { VIEWS, cutCells, startSite, isGood } from '../support/processes/browser.ts';

/** Event definitions and their properties are created, changed and deleted in forms. */

const site = await startSite();
const { key } = await site.createKey();

/** As long as a label and a description may be, without a space. */
const LONG = 'a'.repeat(100);
const HOSTILE = { label: LONG, description: `\u05D0\u05D1\u05D2 <b>${'x'.repeat(990)}` };

const create = async (input: object) => {
  const answer = await mutate(site, key, 'createEventDefinition', input);
  expect(answer.__typename).toBe('CreateEventDefinitionPayload');
};

const dialog = (page: Page) => page.getByRole('dialog');
const focused = (page: Page) =>
  page.evaluate(
    () => document.activeElement?.id && document.querySelector(`label[for=${document.activeElement.id}]`)?.textContent,
  );

test.each(VIEWS)(
  '%s: a definition is created by keyboard; a fault is shown at its field, which gets the focus',
  async (name, view) => {
    const { page, problems } = await site.open('/event-definitions', { ...view, key });
    await page.getByRole('button', { name: 'New event definition' }).focus();
    await page.keyboard.press('Enter');
    await dialog(page).waitFor();
    // The first field has the focus; Enter sends the form.
    await page.keyboard.press('Enter');
    const label = dialog(page).getByLabel('Label');
    await expect.poll(() => label.getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => focused(page)).toBe('Label');
    await page.keyboard.type(`Trial started ${name}`);
    await dialog(page).getByLabel('Name (optional)').fill('1st');
    await dialog(page).getByLabel('Object').selectOption('Custom object');
    await page.keyboard.press('Enter');
    await dialog(page).getByRole('button', { name: 'Create' }).click();
    await dialog(page).getByText('must be').first().waitFor();
    await expect.poll(() => dialog(page).locator('[aria-invalid=true]').count()).toBe(2);
    await expect.poll(() => focused(page)).toBe('Name (optional)');
    await isGood(page, `definition-faults-${name}`);
    await dialog(page).getByLabel('Name (optional)').fill('');
    await dialog(page).getByLabel('Name of the custom object').fill('Machine');
    await page.keyboard.press('Enter');
    // The confirmation is shown for ten seconds, also while the page is being loaded.
    await page.getByText('was created').waitFor();
    await page.getByRole('heading', { name: `Trial started ${name}`, level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/event-definitions\/trial_started/);
    await isGood(page, `definition-created-${name}`);
    expect(problems).toEqual([]);
  },
);

test('a definition can find its records by a property, which is created with it; a fault is shown at its field', async () => {
  const { page, problems } = await site.open('/event-definitions', { key });
  await page.getByRole('button', { name: 'New event definition' }).click();
  await dialog(page).getByLabel('Label').fill('Machine started');
  await dialog(page).getByLabel('Find the record by a property of the event').check();
  const own = dialog(page).getByLabel('Property of the event', { exact: true });
  await own.fill('svc_device_type');
  await dialog(page).getByLabel('Property of the record').fill('serial');
  await dialog(page).getByRole('button', { name: 'Create' }).click();
  await expect.poll(() => own.getAttribute('aria-invalid')).toBe('true');
  await isGood(page, 'definition-matching');
  await own.fill('serial_number');
  await dialog(page).getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'Machine started', level: 1 }).waitFor();
  await page.getByText('serial_number = serial').waitFor();
  await page
    .getByRole('table', { name: 'Properties', exact: true })
    .getByRole('row', { name: /serial_number/ })
    .waitFor();
  expect(problems).toEqual([]);
});

test.each(VIEWS)(
  '%s: properties are added, changed, given another type and deleted, and the page shows it at once',
  async (name, view) => {
    const event = `properties_${view.width}`;
    await create({ name: event, ...HOSTILE });
    const { page, problems } = await site.open(`/event-definitions/${event}`, { ...view, key });
    const row = page.getByRole('table', { name: 'Properties', exact: true }).getByRole('row', { name: /plan/i });
    await page.getByRole('button', { name: 'Add a property' }).click();
    await dialog(page).getByLabel('Label', { exact: true }).fill('Plan');
    await dialog(page).getByLabel('Type').selectOption('ENUMERATION');
    await dialog(page).getByText('The value of an option, not its label.').waitFor();
    await dialog(page).getByLabel('Label of option 1').fill('Free');
    await dialog(page).getByRole('button', { name: 'Add an option' }).click();
    await dialog(page).getByLabel('Label of option 2').fill('Free');
    await dialog(page).getByRole('button', { name: 'Add', exact: true }).click();
    const second = dialog(page).getByLabel('Value of option 2');
    await expect.poll(() => second.getAttribute('aria-invalid')).toBe('true');
    await isGood(page, `property-faults-${name}`);
    await second.fill('paid');
    await dialog(page).getByLabel('Label of option 2').fill('Paid \u05E9\u05DC\u05D5\u05DD');
    await page.keyboard.press('Enter');
    await row.getByText('Free, Paid').waitFor();
    await isGood(page, `property-added-${name}`);
    await page.getByText('32 default properties').click();
    await page.getByText('svc_page_content_type').waitFor();
    expect(await cutCells(page)).toEqual([]);

    await row.getByRole('button', { name: 'Edit' }).click();
    await dialog(page).getByRole('button', { name: 'Remove option 1' }).click();
    await dialog(page).getByLabel('Label', { exact: true }).fill('The plan');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await row.getByText('The plan').waitFor();
    await expect.poll(() => row.getByText('Free').count()).toBe(0);

    await row.getByRole('button', { name: 'Change type' }).click();
    await dialog(page).getByLabel('Type').selectOption('NUMBER');
    await dialog(page).getByText('At most 15 digits, of which one is a decimal').waitFor();
    await dialog(page).getByRole('button', { name: 'Change type' }).click();
    await row.getByText('Number').waitFor();

    await row.getByRole('button', { name: 'Delete' }).click();
    await isGood(page, `property-deletion-${name}`);
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('The property “plan” was deleted.').waitFor();
    await page.getByText('None but the default ones.').waitFor();
    expect(problems).toEqual([]);
  },
);

test('a change of somebody else is not overwritten unseen: the form keeps what was typed and shows the new value', async () => {
  await create({ name: 'contended', label: 'First', description: 'one' });
  const { page } = await site.open('/event-definitions/contended', { key });
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await dialog(page).getByLabel('Label').fill('Mine');
  await mutate(site, key, 'updateEventDefinition', { eventName: 'contended', label: 'Theirs', description: 'two' });
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).getByText('Somebody else has changed this').waitFor();
  await dialog(page).getByText('Changed meanwhile to: Theirs').waitFor();
  await dialog(page).getByText('Changed meanwhile to: two').waitFor();
  expect(await dialog(page).getByLabel('Label').inputValue()).toBe('Mine');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Mine', level: 1 }).waitFor();
  // The description was not touched in this form.
  await expect.poll(() => page.locator('.page-head p').textContent()).toBe('two');
});

test('a repetition after a lost answer changes nothing twice, and closing a form asks before it discards what was typed', async () => {
  const { page } = await site.open('/event-definitions', { key });
  const keys: (string | undefined)[] = [];
  await page.route('**/graphql', async (route, request) => {
    if (!/mutation CreateEventDefinition/.test(request.postData() ?? '')) return route.fallback();
    keys.push((await request.headerValue('idempotency-key')) ?? undefined);
    if (keys.length > 1) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await page.getByRole('button', { name: 'New event definition' }).click();
  await dialog(page).getByLabel('Label').fill('Sent twice');
  await page.keyboard.press('Enter');
  await dialog(page).getByText('The gateway cannot be reached').waitFor();
  await page.keyboard.press('Escape');
  await dialog(page).getByRole('button', { name: 'Keep editing' }).click();
  await dialog(page).getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'Sent twice', level: 1 }).waitFor();
  expect(keys).toEqual([keys[0], keys[0]]);
  expect(keys[0]).toMatch(/^[\w-]{10,}$/);
  expect(new URL(page.url()).pathname).toBe('/event-definitions/sent_twice');
});

test('the deletion of a definition shows what is lost, and asks for the name', async () => {
  const properties = [{ name: 'price', label: 'Price', type: 'NUMBER' }];
  await create({ name: 'short_lived', label: 'Short', propertyDefinitions: properties });
  const inputs = [{ eventName: 'short_lived', email: 'a@example.com', properties: { price: 1 } }];
  await mutate(site, key, 'sendEventOccurrences', { inputs });
  const { page, problems } = await site.open('/event-definitions/short_lived', { key });
  await page.getByRole('button', { name: 'Delete…' }).click();
  await expect.poll(() => dialog(page).locator('dl').textContent()).toMatch(/Occurrences\s*1\s*Properties\s*1/);
  await dialog(page).getByLabel('Type short_lived').fill('short');
  await page.keyboard.press('Enter');
  expect(await dialog(page).getByRole('button', { name: 'Delete permanently' }).getAttribute('aria-disabled')).toBe(
    'true',
  );
  await dialog(page).getByLabel('Type short_lived').fill('short_lived');
  await page.keyboard.press('Enter');
  await page.getByText('The event definition “Short” was deleted.').waitFor();
  await page.getByRole('heading', { name: 'Event definitions', level: 1 }).waitFor();
  // Other tests have definitions, too: the list has been loaded when it shows one.
  await page.getByRole('table', { name: 'Event definitions' }).getByRole('link').first().waitFor();
  await expect.poll(() => page.getByRole('link', { name: 'Short', exact: true }).count()).toBe(0);
  expect(problems).toEqual([]);
});

test.each(VIEWS)('%s: names that no event has are shown with the list of definitions', async (name, view) => {
  const { key: other } = await site.createKey();
  const { page, problems } = await site.open('/event-definitions', { ...view, key: other });
  await page.getByText(`export GATEWAY=${site.url} KEY=`).waitFor();
  expect(await page.getByRole('heading', { name: 'Refused names' }).count()).toBe(0);
  const eventName = `<b>Checkout</b>_${'x'.repeat(200)}`;
  for (const each of ['chekout_started', 'chekout_started', eventName])
    await site.rest('POST', '/events/2026-03/send', { key: other, body: { eventName: each, email: 'a@example.com' } });
  await page.reload();
  const rows = page.getByRole('table', { name: 'Refused names' });
  await rows.getByRole('row', { name: /chekout_started.*2/ }).waitFor();
  await rows.getByText(eventName.slice(0, 100), { exact: true }).waitFor();
  await isGood(page, `refused-names-${name}`);
  expect(problems).toEqual([]);
});

test.each(VIEWS)('%s: occurrences without a record are counted and shown with the reason', async (name, view) => {
  const { key: other } = await site.createKey();
  const body = {
    label: 'Machine started',
    primaryObject: 'machine',
    customMatchingId: { primaryObjectRule: { targetObjectPropertyName: 'serial', eventPropertyName: 'number' } },
    propertyDefinitions: [{ label: 'Number', type: 'string' }],
  };
  await site.rest('POST', '/events/2026-03/event-definitions', { key: other, body });
  const { page, problems } = await site.open('/event-definitions/machine_started', { ...view, key: other });
  await page.getByText('No occurrence of the last 30 days is without a record.').waitFor();
  await mutate(site, other, 'registerObjectIdentifiers', {
    objectType: 'machine',
    propertyName: 'serial',
    identifiers: [{ value: 'A7', objectId: 'machine-7' }],
  });
  for (const properties of [{ number: 'A7' }, { number: 'A8' }, { number: 'A9' }, {}])
    await site.rest('POST', '/events/2026-03/send', { key: other, body: { eventName: 'machine_started', properties } });
  await page.reload();
  const counts = page.getByRole('table', { name: 'Occurrences of the last 30 days without a record' });
  await counts.getByRole('row', { name: /value registered for no record.*2.*registerObjectIdentifiers/ }).waitFor();
  await counts.getByRole('row', { name: /no value to find a record by.*1.*objectId/ }).waitFor();
  const occurrences = page.getByRole('table', { name: 'Latest occurrences' });
  await occurrences.getByText('machine-7').waitFor();
  await page.getByRole('combobox', { name: 'Record' }).selectOption('value registered for no record');
  const shown = ['machine-7', 'value registered for no record'].map((text) => occurrences.getByText(text));
  await expect.poll(() => Promise.all(shown.map((each) => each.count()))).toEqual([0, 2]);
  expect(new URL(page.url()).searchParams.get('record')).toBe('NOT_REGISTERED');
  await isGood(page, `unmatched-${name}`);
  expect(problems).toEqual([]);
});

test('a key that cannot change definitions is offered no form', async () => {
  const other = await mutate<{ key: string }>(
    site,
    key,
    'createApiKey',
    { name: 'reader', scopes: ['SESSIONS_READ'] },
    'key',
  );
  const { page } = await site.open('/event-definitions', { key: other.key });
  await page.getByRole('heading', { name: 'Event definitions', level: 1 }).waitFor();
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('button', { name: 'New event definition' }).count()).toBe(0);
});
