import { expect, test } from 'vitest';
import { createSession } from '../support/fixtures/sessions.ts';
import { VIEWS, accessibilityFindings, openActions, overflowOf, startSite } from '../support/processes/browser.ts';

/** Administrators manage service accounts on the page of the members. */

const site = await startSite();

test.each(VIEWS)(
  '%s: a service account is created, gets a key that is shown once, is named as an author, changed and deleted',
  async (_, options) => {
    const admin = await site.createKey();
    const { page } = await site.open('/members', { ...options, key: admin.key });
    const dialog = page.getByRole('dialog');
    const row = (name: string) => page.getByRole('row').filter({ hasText: name });
    await page.getByRole('button', { name: 'New service account' }).click();
    await dialog.getByLabel('Name').fill('Builds');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await openActions(row('Builds'));
    await row('Builds').getByRole('button', { name: 'New API key' }).click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('CI');
    await dialog.getByLabel('Purpose').selectOption({ label: 'Recorder: a program that runs agents' });
    await dialog.getByRole('button', { name: 'Create' }).click();
    const key = (await page.locator('.secret code').textContent()) ?? '';
    expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
    const id = await createSession(site, key, { title: 'Recorded by CI', visibility: 'PUBLIC' });

    await openActions(row('Builds'));
    await row('Builds').getByRole('button', { name: 'Rename' }).click();
    await page.getByLabel('Name of the service account').fill('Nightly');
    await page.getByRole('button', { name: 'Save' }).click();
    await openActions(row('Nightly'));
    await row('Nightly').getByRole('button', { name: 'Make administrator' }).click();
    await dialog.getByRole('button', { name: 'Make administrator' }).click();
    await row('Nightly').getByText('Administrator', { exact: true }).waitFor();

    const { page: session } = await site.open(`/sessions/${id}`, { ...options, key: admin.key });
    await session.getByRole('button', { name: 'Details' }).click();
    await session.getByText('Nightly (service account)').first().waitFor();

    await openActions(row('Nightly'));
    await row('Nightly').getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There are no service accounts yet.').waitFor();
    expect((await site.rest('GET', '/v1/sessions', { key })).status).toBe(401);
  },
);
