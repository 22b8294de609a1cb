import { afterAll, expect, test } from 'vitest';
import { invite } from '../support/fixtures/invitations.ts';
import { startIdentityProvider } from '../support/peers/identity-provider.ts';
import { accessibilityFindings, startSite } from '../support/processes/browser.ts';

/** Invitations that people accept by signing in with their company, where keys sign no browser in. */

let url = '';
const provider = await startIdentityProvider(() => `${url}/sign-in/oidc/callback`);
const site = await startSite({ ...provider.env, OIDC_ONLY: 'true' });
url = site.url;
site.dependencies.address.url = url;
const { key, organization } = await site.createKey();
provider.people.set('bea', { email: 'bea@example.com', email_verified: true, name: 'Bea' });

afterAll(() => provider.stop());

test('an invited person without an account signs in with the provider, joins, and sees how they signed in', async () => {
  const { token } = await invite(site, key, 'bea@example.com');
  const page = await (await site.newContext()).newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(`${url}/invitations/accept#${token}`);
  const button = page.getByRole('link', { name: 'Sign in with Example' });
  await button.waitFor();
  await page.getByText(`to ${organization} as a member`).waitFor();
  expect(await page.locator('input').count()).toBe(0);
  expect(await accessibilityFindings(page)).toEqual([]);
  await button.click();
  await page.locator('input[name=login]').fill('bea');
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  // The page of consent.
  await page.locator('button[type=submit]').click();
  await page.getByText('You are signed in as bea@example.com.').waitFor();
  expect(page.url()).toBe(`${url}/invitations/accept`);
  await page.getByRole('button', { name: 'Join the organization' }).click();
  await page.getByText(`You are now a member of ${organization}`).waitFor();
  await page.getByRole('link', { name: 'Continue to the console' }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();

  await page.goto(new URL('/profile', url).href);
  await page.getByRole('table', { name: 'Identities' }).getByText(provider.issuer).waitFor();
  await page.getByRole('table', { name: 'Sign-ins' }).getByText('this browser').waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  expect(errors).toEqual([]);
  await page.getByRole('table', { name: 'Sign-ins' }).getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(/\/sign-in/);
});
