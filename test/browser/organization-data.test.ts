import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createSession, mutate } from '../support/fixtures/sessions.ts';
import { HOST_NAME, VIEWS, startSite, isGood } from '../support/processes/browser.ts';

/** The retention and the export of an organization, on its page. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const limited = await startSite({ RATE_LIMIT_PER_MINUTE: '0', RETENTION_MAX_DAYS: '365' });

const dialog = (page: Page) => page.getByRole('dialog');
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const facts = (page: Page) => page.getByRole('region', { name: 'Recorded data' }).locator('dl.facts').textContent();

async function press(page: Page, name: string): Promise<void> {
  await button(page, name).focus();
  await page.keyboard.press('Enter');
}

/** A session that ended long ago. */
async function oldSession(key: string, title: string): Promise<string> {
  const id = await createSession(site, key, { title });
  await mutate(site, key, 'transitionSession', { sessionId: id, state: 'CANCELLED' });
  const at = new Date(Date.now() - 100 * 86_400_000);
  await site.dependencies.sql.query(
    'update session set updated_at = $2, created_at = $2, last_seen_at = $2 where id = $1',
    [id, at],
  );
  return id;
}

test.each(VIEWS)('%s: the retention is changed after its counts were shown', async (name, view) => {
  const { key } = await site.createKey();
  await oldSession(key, 'Old');
  const { page, problems } = await site.open('/organization', { ...view, key });
  await expect.poll(() => facts(page)).toMatch(/Sessions are kept\s*without limit/);
  await press(page, 'Change the retention…');
  const field = dialog(page).getByLabel('Days for sessions');
  const sessions = () => dialog(page).locator('dl.counts dd').first().textContent();
  await field.fill('many');
  await expect.poll(() => button(page, 'Save').getAttribute('aria-disabled')).toBe('false');
  await press(page, 'Save');
  await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true');
  await field.fill('101');
  await expect.poll(sessions).toBe('0');
  const counted = Promise.withResolvers<void>();
  await page.route('**/graphql', async (route, request) => {
    if (/query RetentionPreview/.test(request.postData() ?? '')) await counted.promise;
    await route.continue();
  });
  await field.fill('99');
  await expect.poll(() => button(page, 'Save').getAttribute('aria-disabled')).toBe('true');
  counted.resolve();
  await expect.poll(sessions).toBe('1');
  await expect.poll(() => button(page, 'Save').getAttribute('aria-disabled')).toBe('false');
  await isGood(page, `retention-${name}`);
  await press(page, 'Save');
  await page.getByText('The retention was changed.').waitFor();
  await expect.poll(() => facts(page)).toMatch(/Sessions are kept\s*99 days/);
  // The operator deletes entries of the audit log after a year.
  await page.getByText('The operator of this gateway').waitFor();
  await isGood(page, `organization-${name}`);
  await page.goto(`${site.url}/audit-log`);
  await page.getByRole('cell', { name: /Changed the retention|Changed session days/ }).waitFor();
  expect(problems).toEqual([]);
});

test('what somebody else has changed meanwhile is shown below its field', async () => {
  const { key, organizationId } = await site.createKey();
  const { page } = await site.open('/organization', { key });
  await press(page, 'Change the retention…');
  await dialog(page).getByLabel('Days for sessions').fill('50');
  await mutate(site, key, 'updateOrganizationRetention', { organizationId, sessionDays: 60 });
  await expect.poll(() => button(page, 'Save').getAttribute('aria-disabled')).toBe('false');
  await press(page, 'Save');
  await dialog(page).getByText('Changed meanwhile to: 60').waitFor();
  await press(page, 'Save');
  await expect.poll(() => facts(page)).toMatch(/Sessions are kept\s*50 days/);
});

test('the bound of the operator is said', async () => {
  const { key, organizationId } = await limited.createKey();
  await mutate(limited, key, 'updateOrganizationRetention', { organizationId, sessionDays: 30 });
  const { page } = await limited.open('/organization', { key });
  await page.getByText('The operator of this gateway keeps some of this for a shorter time').waitFor();
  await expect.poll(() => facts(page)).toMatch(/Sessions are kept\s*30 days.*Occurrences are kept\s*365 days/s);
});

test('members see neither the retention nor the export', async () => {
  const { organization } = await site.createKey();
  const { key } = await site.createKey({ organization, role: 'member' });
  const { page } = await site.open('/organization', { key });
  await button(page, 'Leave the organization').waitFor();
  for (const name of ['Change the retention…', 'Export everything…', 'Redact in all sessions…'])
    expect(await page.getByText(name).count()).toBe(0);
});

const EXPORT = '**/v1/organizations/*/export?*';

/** At an address of plain http that is not of this machine, where the page loads and saves the file. */
async function openOrganization(key: string): Promise<Page> {
  const page = await (await site.newContext()).newPage();
  const address = new URL(site.url);
  address.hostname = HOST_NAME;
  await page.goto(new URL('/sign-in', address).href);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Console' }).waitFor();
  await page.goto(new URL('/organization', address).href);
  await button(page, 'Export everything…').waitFor();
  return page;
}

const kinds = (text: string | undefined) =>
  text
    ?.trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly kind: string }).kind);

test('everything is exported by a link', async () => {
  const { key, organizationId } = await site.createKey();
  await createSession(site, key, { title: 'Taken out' });
  const { page } = await site.open('/organization', { key });
  const saved = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Export everything…' }).click();
  const download = await saved;
  expect(download.suggestedFilename()).toBe(`organization-${organizationId}.ndjson`);
  const text = await readFile(await download.path(), 'utf8');
  expect(text).toContain('Taken out');
  expect([kinds(text)?.at(0), kinds(text)?.at(-1)]).toEqual(['export', 'end']);
  await page.goto(`${site.url}/audit-log`);
  await page.getByRole('cell', { name: 'Exported everything' }).waitFor();
});

test('without a secure context everything is exported into a file without a dialog, and the page says that it is complete', async () => {
  const { key, organization } = await site.createKey();
  await createSession(site, key, { title: 'Taken out' });
  const page = await openOrganization(key);
  const saved = page.waitForEvent('download');
  await press(page, 'Export everything…');
  const download = await saved;
  await page.getByText(/The export is complete: \d+ lines/).waitFor();
  expect(download.suggestedFilename()).toBe(`${organization}.ndjson`);
  const text = await readFile(await download.path(), 'utf8');
  expect(text).toContain('Taken out');
  expect([kinds(text)?.at(0), kinds(text)?.at(-1)]).toEqual(['export', 'end']);
  await isGood(page, 'export-complete');
});

test('an export that was cut is said to be incomplete, and leaves no file', async () => {
  const { key } = await site.createKey();
  const page = await openOrganization(key);
  const saved: string[] = [];
  page.on('download', (download) => saved.push(download.suggestedFilename()));
  await page.route(EXPORT, async (route) => {
    const url = route.request().url().replace(HOST_NAME, '127.0.0.1');
    const text = await (await route.fetch({ url })).text();
    const body = text.slice(0, text.lastIndexOf('{"kind":"end"'));
    await route.fulfill({ contentType: 'application/x-ndjson', body });
  });
  await press(page, 'Export everything…');
  await page.getByText('The file is not complete: the connection was cut.').waitFor();
  expect(saved).toEqual([]);
  await isGood(page, 'export-cut');
  await page.unroute(EXPORT);
  await press(page, 'Export everything…');
  await page.getByText(/The export is complete/).waitFor();
});

test('while another export of the organization runs, the page says so; a canceled one can be repeated', async () => {
  const { key, organizationId } = await site.createKey();
  const { sql } = site.dependencies;
  await sql.query(`insert into running_export values ($1, $1, now() + interval '1 hour')`, [organizationId]);
  const page = await openOrganization(key);
  await press(page, 'Export everything…');
  await page.getByText('An export of this organization is running; wait until it has ended').waitFor();
  await sql.query('delete from running_export where organization_id = $1', [organizationId]);

  const asked = Promise.withResolvers<undefined>();
  await page.route(EXPORT, () => asked.resolve(undefined));
  await press(page, 'Export everything…');
  await asked.promise;
  await press(page, 'Cancel');
  await page.getByText('The export was canceled.').waitFor();
  await page.unroute(EXPORT);
  await press(page, 'Export everything…');
  await page.getByText(/The export is complete/).waitFor();
  expect(await page.getByText('The export was canceled.').count()).toBe(0);
});

test('the occurrences of an event are exported as a file', async () => {
  const { key } = await site.createKey();
  await mutate(site, key, 'createEventDefinition', { label: 'Paid', primaryObject: 'CONTACT' });
  const sent = await site.rest('POST', '/events/2026-03/send', {
    key,
    body: { eventName: 'paid', email: 'ann@example.com', properties: {} },
  });
  expect(sent.status).toBe(204);
  const { page, problems } = await site.open('/event-definitions/paid', { key });
  const saved = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Export all…' }).click();
  expect(JSON.parse(await readFile(await (await saved).path(), 'utf8'))).toMatchObject({ id: expect.any(String) });
  await isGood(page, 'occurrences-export');
  expect(problems).toEqual([]);
});

test('an administrator erases the object of an occurrence; members have no such button', async () => {
  const { key, organization } = await site.createKey();
  await mutate(site, key, 'createEventDefinition', { label: 'Paid', primaryObject: 'CONTACT' });
  await site.rest('POST', '/events/2026-03/send', {
    key,
    body: { eventName: 'paid', email: 'ann@example.com', properties: {} },
  });
  const { page } = await site.open('/event-definitions/paid', { key });
  await press(page, 'Erase…');
  await dialog(page).getByText('All occurrences of “').waitFor();
  await isGood(page, 'object-erasure');
  await press(page, 'Erase');
  await page.getByText('The object is being erased.').waitFor();
  await page.goto(`${site.url}/audit-log`);
  await page.getByRole('cell', { name: /Erased an object of events: SHA-256 of/ }).waitFor();

  const member = await site.createKey({ organization, role: 'member' });
  const other = await site.open('/event-definitions/paid', { key: member.key });
  await other.page.getByRole('link', { name: 'Export all…' }).waitFor();
  await other.page.getByRole('table', { name: 'Latest occurrences' }).waitFor();
  expect(await button(other.page, 'Erase…').count()).toBe(0);
});
