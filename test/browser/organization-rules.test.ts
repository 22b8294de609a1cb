import { expect, test } from 'vitest';
import { suspendMember } from '../support/fixtures/suspended-members.ts';
import { accessibilityFindings, overflowOf, startSite } from '../support/processes/browser.ts';

/** Administrators change the rules of their organization, roles, and suspended people on the page of the members. */

const site = await startSite();

test('the rules about keys and event definitions are changed, with the faults of the API at their fields', async () => {
  const admin = await site.createKey();
  const { page } = await site.open('/members', { key: admin.key });
  const dialog = page.getByRole('dialog');
  const open = () => page.getByRole('button', { name: 'Change the rules…' }).click();
  await open();
  await dialog.getByLabel('Days for API keys').fill('5000');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText(/3650/).waitFor();
  await dialog.getByLabel('Days for API keys').fill('400');
  await dialog.getByLabel('No new keys for all organizations').check();
  await dialog.getByLabel('Event definitions are deleted by').selectOption({ label: 'Administrators and the creator' });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('for 400 days').waitFor();
  await page.getByText('Administrators and the creator', { exact: true }).waitFor();
  expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
  const path = `/v1/organizations/${admin.organizationId}/key-policy`;
  expect((await site.rest('GET', path, { key: admin.key })).body).toEqual({ maxDays: 400, boundOnly: true });
});

test('a member becomes a viewer, who is offered nothing that changes; a suspended one is reactivated', async () => {
  const admin = await site.createKey();
  const { organization } = admin;
  const member = await site.createKey({ organization, role: 'member' });
  const email = `suspended-${member.userId}@example.com`;
  await suspendMember(site, organization, email);
  const { page } = await site.open('/members', { key: admin.key });
  const dialog = page.getByRole('dialog');
  const row = (name: string) => page.getByRole('row').filter({ hasText: name });
  await row(member.email).getByRole('button', { name: 'Make viewer' }).click();
  await dialog.getByRole('button', { name: 'Make viewer' }).click();
  await row(member.email).getByText('Viewer', { exact: true }).waitFor();
  await row(email).getByRole('button', { name: 'Reactivate' }).click();
  await dialog.getByRole('button', { name: 'Reactivate' }).click();
  await row(email).getByRole('button', { name: 'Remove' }).waitFor();
  const { page: other } = await site.open('/members', { key: member.key });
  await other.getByRole('row').filter({ hasText: email }).waitFor();
  expect(await other.getByRole('button', { name: /Invite|Make|Remove/ }).count()).toBe(0);
});
