import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createSession } from '../support/fixtures/sessions.ts';
import { createWebhook, deliver } from '../support/fixtures/webhooks.ts';
import { WebhookReceiver } from '../support/peers/webhook-receiver.ts';
import { isGood, startSite, VIEWS } from '../support/processes/browser.ts';

/** Webhooks are created, tried and repaired in the console. */

const site = await startSite({ ALLOW_PRIVATE_NETWORK: 'true' });

const dialog = (page: Page) => page.getByRole('dialog');
const log = (page: Page) => page.getByRole('table', { name: 'Deliveries' }).getByRole('row');

test.each(VIEWS)(
  '%s: created with its secret shown once, pinged, changed, disabled and deleted',
  async (name, view) => {
    const { key } = await site.createKey();
    const receiver = await new WebhookReceiver().start();
    const { page, problems } = await site.open('/webhooks', { ...view, key });
    await page.getByText('No webhooks yet').waitFor();
    await page.getByRole('button', { name: 'New webhook' }).click();
    await dialog(page).getByLabel('Address').fill('ftp://example.com');
    await dialog(page).getByLabel('Send').selectOption('Only these');
    await dialog(page).getByRole('button', { name: 'Create' }).click();
    await dialog(page).getByText('must be an http or https URL').waitFor();
    await dialog(page).getByText('must have at least 1 item').waitFor();
    await isGood(page, `webhook-faults-${name}`);
    await dialog(page).getByLabel('Address').fill(receiver.url);
    await dialog(page).getByLabel('A session has another state').check();
    await dialog(page).getByLabel('Completed').check();
    await dialog(page).getByLabel('Failed').check();
    await dialog(page).getByRole('button', { name: 'Create' }).click();
    const shown = page.locator('.secret code');
    await shown.waitFor();
    receiver.secret = (await shown.textContent()) ?? '';
    await isGood(page, `webhook-created-${name}`);
    await page.getByRole('link', { name: receiver.url }).click();
    await page.getByText('A session has another state (of the states of sessions only: Completed, Failed)').waitFor();
    await page.getByText('Nothing was sent yet').waitFor();
    await page.getByRole('button', { name: 'Send a ping' }).click();
    await expect.poll(() => log(page).count()).toBe(2);
    await log(page).getByText('waits').waitFor();
    await deliver(site);
    // The page follows what waits by itself.
    await log(page).getByText('Succeeded').waitFor();
    await log(page).getByRole('button', { name: 'Send again' }).click();
    await expect.poll(() => log(page).count()).toBe(3);
    await deliver(site);
    expect(receiver.received.map(({ type }) => type)).toEqual(['webhook.ping', 'webhook.ping']);
    await expect.poll(() => log(page).getByText('waits').count()).toBe(0);
    await isGood(page, `webhook-${name}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog(page).getByLabel('Send').selectOption('All changes, also those of later versions');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await page.getByText('All changes (of the states of sessions only: Completed, Failed)').waitFor();
    await page.getByRole('button', { name: 'Disable' }).click();
    await dialog(page).getByRole('button', { name: 'Disable' }).click();
    await page.getByText('an administrator disabled it').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No webhooks yet').waitFor();
    expect(problems).toEqual([]);
    await receiver.stop();
  },
);

test('a webhook that stopped is announced, with the answer, and goes on when it is enabled', async () => {
  const { key } = await site.createKey();
  const receiver = await new WebhookReceiver().start();
  const { secret } = await createWebhook(site, key, receiver.url);
  receiver.secret = secret;
  receiver.answer = (_, response) => response.writeHead(410).end('<b>moved away</b>');
  await createSession(site, key);
  await deliver(site);
  const { page, problems } = await site.open('/webhooks', { key });
  await page.getByText('A webhook was disabled').waitFor();
  await page.getByText('it answered 410').waitFor();
  await page.getByRole('link', { name: receiver.url }).click();
  await page.getByText('The webhook was disabled').waitFor();
  await log(page).locator('summary').click();
  await page.getByText('<b>moved away</b>').waitFor();
  receiver.answer = (_, response) => response.writeHead(204).end();
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByText('Waiting', { exact: true }).waitFor();
  await deliver(site);
  // The page follows by itself.
  await page.getByText('Delivering').waitFor();
  await log(page).getByText('Succeeded').first().waitFor();
  await page.getByText('All are shown. Each is kept for 30 days.').waitFor();
  await page.getByLabel('Failed only').check();
  await expect.poll(() => log(page).getByText('Succeeded').count()).toBe(0);
  expect(await log(page).getByText('Failed').count()).toBe(1);
  await page.getByLabel('Failed only').uncheck();
  await page.getByRole('button', { name: 'Replay' }).click();
  await dialog(page).getByLabel('After the entry with the id').fill('0');
  await dialog(page).getByRole('button', { name: 'Replay' }).click();
  await page.getByText('The entries are sent again').waitFor();
  await page.getByRole('button', { name: 'Rotate the secret' }).click();
  await dialog(page).getByRole('button', { name: 'Rotate the secret' }).click();
  await page.getByText('The new secret').waitFor();
  expect(await page.locator('.secret code').textContent()).not.toBe(secret);
  expect(problems).toEqual([]);
  await receiver.stop();
});

test('one that fails says when it will be disabled, and is tried again at once', async () => {
  const { key } = await site.createKey();
  const receiver = await new WebhookReceiver().start();
  const { id, secret } = await createWebhook(site, key, receiver.url);
  receiver.secret = secret;
  receiver.answer = (_, response) => response.writeHead(500).end();
  await createSession(site, key);
  await deliver(site);
  await site.dependencies.sql.query(`update webhook set disable_after = now() + interval '1 day' where id = $1`, [id]);
  const { page, problems } = await site.open('/webhooks', { key });
  await page.getByText('It will be disabled after').waitFor();
  await page.getByRole('link', { name: receiver.url }).click();
  await page.getByText('It will be disabled after').waitFor();
  receiver.answer = (_, response) => response.writeHead(204).end();
  await page.getByRole('button', { name: 'Try now' }).click();
  await expect.poll(() => page.getByRole('button', { name: 'Try now' }).count()).toBe(0);
  await deliver(site);
  await page.getByText('Delivering').waitFor();
  await log(page).getByText('Succeeded').waitFor();
  await expect.poll(() => page.getByText('It will be disabled after').count()).toBe(0);
  expect(problems).toEqual([]);
  await receiver.stop();
});

test('a member is told that webhooks are for administrators, and is offered no form', async () => {
  const { organization } = await site.createKey();
  const { key: member } = await site.createKey({ organization, role: 'member' });
  const { page } = await site.open('/webhooks', { key: member });
  await page.getByText('Only administrators of the organization can do this').waitFor();
  expect(await page.getByRole('button', { name: 'New webhook' }).count()).toBe(0);
});
