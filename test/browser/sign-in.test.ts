import { expect, test } from 'vitest';
import { HOST_NAME, startSite } from '../support/processes/browser.ts';

/** Signing in with the form, at an address without https and with a host name: the browser sends less about the origin of requests there. */

const site = await startSite();
const { key } = await site.createKey();

test('a person signs in over plain http by host name, uses the console, and signs out', async () => {
  const address = new URL(site.url);
  address.hostname = HOST_NAME;
  const page = await (await site.newContext()).newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())));
  await page.goto(new URL('/sign-in', address).href);
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Console' }).waitFor();
  expect(new URL(page.url()).hostname).toBe(HOST_NAME);
  await page.getByRole('link', { name: 'Members' }).click();
  await page.getByRole('heading', { name: 'Members' }).waitFor();
  await page.goto(new URL('/sign-in', address).href);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  await page.goto(new URL('/members', address).href);
  await page.waitForURL(/\/sign-in/);
  // Browsers say that they ignore this header at http addresses.
  expect(problems.filter((problem) => !/401|Cross-Origin-Opener-Policy/.test(problem))).toEqual([]);
});
