import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { cutCells, openActions, startSite, isGood } from '../support/processes/browser.ts';
import { full } from '../support/proof.ts';

/** Invitations in the console, from their creation by an administrator to their acceptance. */

const site = await startSite();

/** Invites an e-mail address on the page of the members. @returns the displayed link */
async function invite(page: Page, email: string, role = 'Member'): Promise<string> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Role').selectOption(role);
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByText(`The link for ${email}.`).waitFor();
  return String(await page.locator('.secret code').textContent());
}

const member = (page: Page, name: string | RegExp) =>
  page.getByRole('table', { name: 'Members', exact: true }).getByRole('row', { name });

const WIDE = { width: 1280, isDark: false };
const PHONE = { width: 390, isDark: true };

test.each(full ? [WIDE, PHONE] : [PHONE])(
  '$width pixels: a person without an account opens the link, creates an account, sees its key once, and is a signed-in member',
  async (view) => {
    const { key, email: inviter, organization } = await site.createKey();
    const { page, problems } = await site.open('/members', { ...view, key });
    const email = `new-${view.width}@example.com`;
    const link = await invite(page, email, 'Administrator');
    expect(link).toMatch(new RegExp(`^${site.url}/invitations/accept#wgi_[\\w-]{43}$`));
    await page.getByRole('table', { name: 'Open invitations' }).getByRole('row', { name: email }).waitFor();
    await isGood(page, `members-invited-${view.width}`);

    const stranger = await site.open(link, view);
    await stranger.page.getByRole('heading', { name: 'I have no account' }).waitFor();
    await stranger.page
      .getByText(
        `${inviter} has invited ${email} to ${organization} as an administrator. The invitation is valid until`,
      )
      .waitFor();
    // The token is removed from the URL, so that it is not in the history.
    await stranger.page.waitForURL(`${site.url}/invitations/accept`);
    await isGood(stranger.page, `invitation-${view.width}`);
    await stranger.page.getByLabel('Your name (optional)').fill('Nora New');
    await stranger.page.keyboard.press('Enter');
    await stranger.page.getByRole('heading', { name: 'Welcome', level: 1 }).waitFor();
    const made = String(await stranger.page.locator('.secret code').textContent());
    expect(made).toMatch(/^wgk_[0-9A-Za-z]{36}$/);
    await isGood(stranger.page, `invitation-welcome-${view.width}`);
    await stranger.page.getByRole('link', { name: 'Continue to the console' }).click();
    await stranger.page.getByRole('link', { name: 'Members', exact: true }).click();
    await member(stranger.page, /Nora New.*Admin/).waitFor();
    expect(stranger.problems).toEqual([]);

    // The list of the administrator follows.
    await member(page, /Nora New/).waitFor();
    await expect.poll(() => page.getByRole('table', { name: 'Open invitations' }).count()).toBe(0);
    expect(problems).toEqual([]);
  },
);

test.each(full ? [WIDE, PHONE] : [WIDE])(
  '$width pixels: a person with an account signs in on the page and joins the organization',
  async (view) => {
    const admin = await site.createKey();
    const person = await site.createKey();
    const { page } = await site.open('/members', { ...view, key: admin.key });
    const link = await invite(page, person.email);
    const other = await site.open(link, view);
    await other.page.getByLabel('API key').fill('wgk_wrong');
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    await other.page.getByText('That key does not work').waitFor();
    await other.page.getByLabel('API key').fill(person.key);
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    await other.page.getByText(`You are signed in as ${person.email}.`).waitFor();
    await other.page.getByText(`You are invited to ${admin.organization} as member`).waitFor();
    await isGood(other.page, `invitation-known-${view.width}`);
    await other.page.getByRole('button', { name: 'Join the organization' }).click();
    await other.page.getByRole('heading', { name: 'Welcome', level: 1 }).waitFor();
    await member(page, person.email).waitFor();
    await expect.poll(() => page.getByRole('table', { name: 'Open invitations' }).count()).toBe(0);
  },
);

test('a person whose answer is lost sends the form again, even after a reload, and sees their key', async () => {
  const { key } = await site.createKey();
  const { page } = await site.open('/members', { key });
  const stranger = await site.open(await invite(page, 'lost@example.com'));
  // The gateway creates the account, but its answer does not arrive.
  await stranger.page.route('**/v1/invitations/accept', async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    expect((await route.fetch()).status()).toBe(201);
    await route.abort();
  });
  const name = stranger.page.getByLabel('Your name (optional)');
  await name.fill('Lena Lost');
  await name.press('Enter');
  await stranger.page.getByText('The gateway cannot be reached').waitFor();
  await stranger.page.unroute('**/v1/invitations/accept');
  await stranger.page.reload();
  await name.press('Enter');
  await stranger.page.getByRole('heading', { name: 'Welcome', level: 1 }).waitFor();
  expect(await stranger.page.locator('.secret code').textContent()).toMatch(/^wgk_[0-9A-Za-z]{36}$/);
  await expect.poll(() => stranger.page.evaluate(() => sessionStorage.length)).toBe(0);
});

test('the page of a revoked invitation reports that it was not found', async () => {
  const { key } = await site.createKey();
  const { page, problems } = await site.open('/members', { key });
  const link = await invite(page, 'revoked@example.com');
  const row = page.getByRole('table', { name: 'Open invitations' }).getByRole('row', { name: 'revoked@example.com' });
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect.poll(() => row.count()).toBe(0);
  const { page: stranger } = await site.open(link);
  // Before and after the form is sent.
  await stranger.getByRole('alert').waitFor();
  await stranger.getByRole('button', { name: 'Create my account and join' }).click();
  await expect.poll(() => stranger.getByRole('alert').count()).toBe(2);
  for (const text of await stranger.getByRole('alert').allTextContents())
    expect(text).toMatch(/not found.*used or revoked/);
  expect(problems).toEqual([]);
});

test('an administrator can promote and remove a member, but can only export their own data', async () => {
  const admin = await site.createKey();
  const { email } = await site.createKey({ organization: admin.organization, role: 'member' });
  const { page, problems } = await site.open('/members', { key: admin.key });
  await member(page, email).waitFor();
  await openActions(member(page, admin.email));
  expect(await member(page, admin.email).getByRole('button').allTextContents()).toEqual(['…']);
  await page.keyboard.press('Escape');
  await openActions(member(page, email));
  await member(page, email).getByRole('button', { name: 'Make administrator' }).click();
  await page.getByRole('dialog').getByText('They can then').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Make administrator' }).click();
  await member(page, email).getByText('Administrator', { exact: true }).waitFor();
  await openActions(member(page, email));
  await member(page, email).getByRole('button', { name: 'Make member' }).waitFor();
  await member(page, email).getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect.poll(() => member(page, email).count()).toBe(0);
  expect(problems).toEqual([]);
});

test('a member sees the other members without buttons to change them, and can leave the organization', async () => {
  const admin = await site.createKey();
  const { key } = await site.createKey({ organization: admin.organization, role: 'member' });
  const { page } = await site.open('/members', { key });
  await member(page, admin.email).waitFor();
  expect(await page.getByRole('button', { name: /^(?:Invite|More actions)/ }).count()).toBe(0);
  await page.getByRole('link', { name: 'Organization', exact: true }).click();
  await page.getByRole('button', { name: 'Leave the organization' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Leave the organization' }).click();
  // The key was bound to the organization, so it ended with the membership.
  await page.waitForURL(/\/sign-in\?/);
});

test('an administrator sees which data would be lost, confirms with the slug, and deletes the organization', async () => {
  const admin = await site.createKey();
  const { page } = await site.open('/organization', { key: admin.key, width: 390 });
  await page.getByRole('button', { name: 'Delete the organization…' }).click();
  const form = page.getByRole('dialog', { name: 'Delete the organization' });
  await form.getByText('Events of sessions').waitFor();
  const remove = form.getByRole('button', { name: 'Delete permanently' });
  expect(await remove.getAttribute('aria-disabled')).toBe('true');
  await form.getByRole('textbox').fill(admin.organization);
  await isGood(page, 'organization-deletion-390');
  await remove.click();
  await page.waitForURL(/\/sign-in\?/);
});

test('the list of keys shows the organization of a bound key, and all organizations of the caller for an unbound key', async () => {
  const { key: unbound, keyId, email, organization } = await site.createKey();
  const bound = await site.createKey({ email, organization });
  await site.createKey({ email });
  await site.dependencies.sql.query('update api_key set organization_id = null where id = $1', [keyId]);
  await site.dependencies.sql.query(`update api_key set name = 'Bound' where id = $1`, [bound.keyId]);
  const { data } = await site.graphql<{ viewer: { organizations: { nodes: { name: string; slug: string }[] } } }>(
    unbound,
    '{ viewer { organizations { nodes { name slug } } } }',
  );
  const organizations = data?.viewer.organizations.nodes ?? [];
  const { page, problems } = await site.open('/api-keys', { key: unbound });
  const acting = String(organizations.find(({ slug }) => slug === organization)?.name);
  await page.getByRole('combobox', { name: 'Organization' }).selectOption(acting);
  // It may be another document.
  await page.waitForURL((url) => url.searchParams.get('organization') === organization);
  const cellOf = (text: string) =>
    page.getByRole('table', { name: 'API keys' }).getByRole('row').filter({ hasText: text }).getByRole('cell').nth(1);
  await cellOf('signed in with').getByText('All of yours').waitFor();
  expect(await cutCells(page)).toEqual([]);
  await cellOf('signed in with').getByText('All of yours').click();
  await expect
    .poll(() => cellOf('signed in with').getByRole('listitem').allTextContents())
    .toEqual(organizations.map(({ name }) => name));
  await expect.poll(() => cellOf('Bound').textContent()).toBe(acting);
  expect(organizations).toHaveLength(2);
  expect(problems).toEqual([]);
});
