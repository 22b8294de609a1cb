import { afterAll, expect, test } from 'vitest';
import { startIdentityProvider } from '../support/peers/identity-provider.ts';
import { startSite } from '../support/processes/browser.ts';

/** Signing in with the identity provider, on its pages and those of the gateway. */

let url = '';
const provider = await startIdentityProvider(() => `${url}/sign-in/oidc/callback`);
const site = await startSite({ ...provider.env, OIDC_ORGANIZATION: 'company', OIDC_DEFAULT_ROLE: 'member' });
url = site.url;
site.dependencies.address.url = url;
const owner = await site.createKey({ organization: 'company' });
provider.people.set('ada', { email: 'ada@example.com', email_verified: true, name: 'Ada' });
provider.people.set('eve', { email: 'eve@elsewhere.example', email_verified: true, name: 'Eve' });

afterAll(() => provider.stop());

test('a person signs in with the provider, in two browsers, lands on the page that was asked for, signs out, and is signed out by a removal', async () => {
  const contexts = [await site.newContext(), await site.newContext()];
  const pages = [];
  for (const context of contexts) {
    const page = await context.newPage();
    pages.push(page);
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => void (message.type() === 'error' && faults.push(message.text())));
    await page.goto(new URL('/members', url).href);
    await page.waitForURL(/\/sign-in/);
    expect(await page.locator('a.button, button').first().textContent()).toBe('Sign in with Example');
    await page.getByRole('link', { name: 'Sign in with Example' }).click();
    await page.locator('input[name=login]').fill('ada');
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    // The page of consent.
    await page.locator('button[type=submit]').click();
    await page.getByRole('heading', { name: 'Members' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/members');
    expect(faults.filter((fault) => !fault.includes('401') && fault.includes(url))).toEqual([]);
  }
  const [one, other] = pages;
  if (!one || !other) throw new Error('two pages');
  await one.goto(new URL('/sign-in', url).href);
  await one.getByRole('button', { name: 'Sign out' }).click();
  await one.getByRole('link', { name: 'Sign in with Example' }).waitFor();
  await other.reload();
  await other.getByRole('heading', { name: 'Members' }).waitFor();

  const { body } = await site.rest('POST', '/graphql', {
    key: owner.key,
    body: { query: '{ viewer { organization { members { nodes { user { databaseId email } } } } } }' },
  });
  const found = /"databaseId":"([^"]+)","email":"ada@example.com"/.exec(JSON.stringify(body))?.[1] ?? '';
  const query = `mutation { removeOrganizationMember(input: { userId: "${found}" }) { __typename } }`;
  await site.rest('POST', '/graphql', { key: owner.key, body: { query } });
  // A page that notices the removal itself leaves at that moment, which ends the reload.
  await other.reload().catch(() => undefined);
  await other.waitForURL(/\/sign-in/);
});

test('a person whom the gateway refuses sees why, and what to do', async () => {
  const page = await (await site.newContext()).newPage();
  await page.goto(new URL('/sign-in', url).href);
  await page.getByRole('link', { name: 'Sign in with Example' }).click();
  await page.locator('input[name=login]').fill('eve');
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.locator('button[type=submit]').click();
  await page.getByRole('heading', { name: 'You cannot sign in here' }).waitFor();
  await page.getByRole('alert').filter({ hasText: 'OIDC_DOMAINS' }).waitFor();
  const cookies = (await page.context().cookies(url)).map(({ name }) => name);
  expect(cookies.filter((name) => name.startsWith('workspace_'))).toEqual([]);
});
