import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { isGood, startSite, VIEWS } from '../support/processes/browser.ts';
import { runJobs } from '../support/processes/jobs.ts';

/** The profile, the account and the organizations of a person in the console. */

const site = await startSite({ USER_DELETION_DELAY: '3600' });

const dialog = (page: Page) => page.getByRole('dialog');
const deletions = (page: Page) => page.getByRole('table', { name: 'Deletions' }).locator('tbody').getByRole('row');
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });

/** A person whose key acts in all their organizations. */
async function createPerson() {
  const created = await site.createKey();
  await site.dependencies.sql.query('update api_key set organization_id = null where id = $1', [created.keyId]);
  return created;
}

test.each(VIEWS)(
  '%s: the profile is reached from the navigation, and the name is changed there',
  async (name, view) => {
    const { key, email, organization } = await createPerson();
    const { page, problems } = await site.open('/sessions', { ...view, key });
    await page.getByRole('link', { name: email }).click();
    await heading(page, 'Profile').waitFor();
    const row = page.getByRole('table', { name: 'Organizations' }).getByRole('row', { name: organization });
    await row.waitFor();
    expect(await row.getByRole('cell').allTextContents()).toEqual([
      expect.stringContaining(organization),
      'Administrator',
      '1',
    ]);
    await isGood(page, `profile-${name}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    // A bound counts code points, as that of the API.
    await dialog(page).getByLabel('Name').fill('😀'.repeat(101));
    await dialog(page).getByText('Only the first 100 characters were kept.').waitFor();
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe('😀'.repeat(100));
    await dialog(page).getByLabel('Name').fill('Nora Neu');
    await page.keyboard.press('Enter');
    await page.getByText('Your profile was changed.').waitFor();
    await page.getByRole('link', { name: 'Nora Neu' }).waitFor();
    expect(problems).toEqual([]);
  },
);

test.each(VIEWS)(
  '%s: an organization is deleted, its deletion is followed, and the next one is created where there is none',
  async (name, view) => {
    const { key, organization } = await createPerson();
    const { page, problems } = await site.open('/organization', { ...view, key });
    await page.getByRole('button', { name: 'Delete the organization…' }).click();
    await dialog(page).getByText('Events of sessions').waitFor();
    await isGood(page, `organization-deletion-${name}`);
    await dialog(page).getByLabel(`Type ${organization}`).fill(organization);
    await dialog(page).getByRole('button', { name: 'Delete permanently' }).click();
    await heading(page, 'Profile').waitFor();
    await page.getByText('You belong to no organization.').waitFor();
    // Until it leaves, the page follows its members, and the organization can be gone already.
    expect(problems.filter((problem) => !/\b404\b/.test(problem))).toEqual([]);
    problems.length = 0;
    await deletions(page).getByText('Queued').waitFor();
    await isGood(page, `profile-deletion-${name}`);
    await runJobs(site);
    await deletions(page).getByText('Done').waitFor();

    await page.getByRole('link', { name: 'Workspace gateway' }).click();
    await heading(page, 'No organization yet').waitFor();
    await isGood(page, `no-organization-${name}`);
    await page.getByRole('button', { name: 'New organization' }).click();
    await dialog(page).getByLabel('Name').fill('Example Works');
    await dialog(page).getByLabel('Slug').fill('Not A Slug');
    await page.keyboard.press('Enter');
    await dialog(page).getByText('must be lowercase letters').waitFor();
    await isGood(page, `organization-faults-${name}`);
    const slug = `works-${view.width}-${view.isDark ? 'dark' : 'light'}`;
    await dialog(page).getByLabel('Slug').fill(slug);
    await page.keyboard.press('Enter');
    await heading(page, 'Sessions').waitFor();
    await page.getByText('No sessions yet').waitFor();
    await page.getByRole('link', { name: 'Organization', exact: true }).click();
    await page.getByText(slug, { exact: true }).waitFor();
    expect(problems).toEqual([]);
  },
);

test('a new organization opens in the tab that created it, and another tab stays where it is', async () => {
  const { key, organization } = await createPerson();
  const context = await site.newContext({ key });
  const { page: other } = await site.open('/members', {}, context);
  await other.getByText(organization, { exact: true }).first().waitFor();
  const { page } = await site.open('/profile', {}, context);
  await page.getByRole('button', { name: 'New organization' }).click();
  await dialog(page).getByLabel('Name').fill('Second Works');
  await page.keyboard.press('Enter');
  await heading(page, 'Sessions').waitFor();
  const choice = page.getByRole('combobox', { name: 'Organization' });
  await expect.poll(() => choice.locator('option:checked').textContent()).toBe('Second Works');
  expect(new URL(page.url()).searchParams.get('organization')).toBe('second-works');
  await other.getByRole('link', { name: 'Usage', exact: true }).click();
  await heading(other, 'Usage').waitFor();
  await other.getByText(organization, { exact: true }).first().waitFor();
});

test('an organization is renamed, and the navigation shows the new name at once', async () => {
  const { key, organization } = await createPerson();
  const { page, problems } = await site.open('/organization', { key });
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await dialog(page).getByLabel('Name').fill('Renamed Works');
  await dialog(page).getByLabel('Address of the logo').fill('no address');
  await page.keyboard.press('Enter');
  const logo = dialog(page).getByLabel('Address of the logo');
  await expect.poll(() => logo.getAttribute('aria-invalid')).toBe('true');
  await logo.fill('https://example.com/logo.svg');
  await page.keyboard.press('Enter');
  await page.locator('.organization', { hasText: 'Renamed Works' }).waitFor();
  const { data } = await site.graphql(key, '{ viewer { organization { name slug logoUrl } } }');
  expect(data).toEqual({
    viewer: { organization: { name: 'Renamed Works', slug: organization, logoUrl: 'https://example.com/logo.svg' } },
  });
  expect(problems).toEqual([]);
});

test('with a bound key, a new organization comes with a key of its own, which opens it', async () => {
  const { key } = await site.createKey();
  const { page } = await site.open('/profile', { key });
  await page.getByRole('button', { name: 'New organization' }).click();
  await dialog(page).getByText('You are signed in with a key that acts only in').waitFor();
  await dialog(page).getByLabel('Name').fill('Apart');
  await page.keyboard.press('Enter');
  const made = String(await page.locator('.secret code').textContent());
  const { page: next } = await site.open('/members', { key: made });
  await next.locator('.organization', { hasText: 'Apart' }).waitFor();
  expect(made).toMatch(/^wgk_/);
});

test.each(VIEWS)(
  '%s: the deletion of an account shows what is lost, is listed in every browser, and can be canceled',
  async (name, view) => {
    const { key, email, organization } = await createPerson();
    const { organization: shared } = await site.createKey({ email });
    await site.createKey({ organization: shared });
    const { page, problems } = await site.open('/profile', { ...view, key });
    await page.getByRole('button', { name: 'Delete my account…' }).click();
    await dialog(page).getByText(`the organization ${organization} with everything in it`).waitFor();
    await dialog(page).getByText(`your membership in ${shared}`).waitFor();
    await isGood(page, `account-deletion-${name}`);
    const remove = dialog(page).getByRole('button', { name: 'Delete permanently' });
    expect(await remove.getAttribute('aria-disabled')).toBe('true');
    await dialog(page).getByLabel(`Type ${email}`).fill(email);
    // They created both organizations, and would leave the shared one without an administrator.
    await site.dependencies.sql.query(
      `update membership set role = 'member' where organization_id = (select id from organization where slug = $1) and user_id <> (select id from user_account where email = $2)`,
      [shared, email],
    );
    await remove.click();
    await dialog(page).getByText('make another member an administrator first').waitFor();
    await site.dependencies.sql.query(
      `update membership set role = 'admin' where organization_id = (select id from organization where slug = $1)`,
      [shared],
    );
    await remove.click();
    await deletions(page).getByText('Queued').waitFor();
    const { page: elsewhere } = await site.open('/profile', { ...view, key });
    await deletions(elsewhere).getByText('Queued').waitFor();
    await isGood(elsewhere, `account-deletion-queued-${name}`);
    await deletions(page).getByRole('button', { name: 'Cancel the deletion' }).click();
    await deletions(page).getByText('Cancelled').waitFor();
    // The other browser follows it.
    await deletions(elsewhere).getByText('Cancelled').waitFor();
    expect(problems).toEqual([]);
  },
);
