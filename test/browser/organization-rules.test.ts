import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createPerson } from '../support/fixtures/api-keys.ts';
import { createGroup } from '../support/fixtures/groups.ts';
import { createServiceAccount } from '../support/fixtures/service-accounts.ts';
import { createSession } from '../support/fixtures/sessions.ts';
import { suspendMember } from '../support/fixtures/suspended-members.ts';
import { accessibilityFindings, openActions, overflowOf, startSite } from '../support/processes/browser.ts';
import { runJobs } from '../support/processes/jobs.ts';

/** Administrators change the rules of their organization, roles, and suspended people. */

const site = await startSite();

test('the rules about keys and event definitions are changed, with the faults of the API at their fields', async () => {
  const admin = await site.createKey();
  const { page } = await site.open('/organization', { key: admin.key });
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
  await openActions(row(member.email));
  await row(member.email).getByRole('button', { name: 'Make viewer' }).click();
  await dialog.getByRole('button', { name: 'Make viewer' }).click();
  await row(member.email).getByText('Viewer', { exact: true }).waitFor();
  await openActions(row(email));
  await row(email).getByRole('button', { name: 'Reactivate' }).click();
  await dialog.getByRole('button', { name: 'Reactivate' }).click();
  await openActions(
    page.getByRole('table', { name: 'Members', exact: true }).getByRole('row').filter({ hasText: email }),
  );
  await row(email).getByRole('button', { name: 'Remove' }).waitFor();
  const { page: other } = await site.open('/members', { key: member.key });
  await other.getByRole('row').filter({ hasText: email }).waitFor();
  expect(await other.getByRole('button', { name: /Invite|More actions/ }).count()).toBe(0);
});

test('somebody who was removed is found by name, with what they did, and is erased', async () => {
  const admin = await site.createKey();
  const member = await site.createKey({ organization: admin.organization, role: 'member' });
  const stays = await site.createKey({ organization: admin.organization, role: 'member' });
  await createSession(site, member.key, { title: 'Private plan', visibility: 'PRIVATE' });
  const { page, problems } = await site.open('/members', { key: admin.key });
  const row = page.getByRole('row').filter({ hasText: member.email });
  const erase = row.getByRole('button', { name: 'Erase…' });
  await openActions(row);
  await row.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  const former = page.getByRole('table', { name: 'Former members' });
  await former.getByText(member.email).waitFor();
  await page.getByLabel('Search').fill(member.email);
  await page.getByText(stays.email).waitFor({ state: 'detached' });
  expect([await row.count(), await accessibilityFindings(page), await overflowOf(page)]).toEqual([1, [], 0]);
  await openActions(row);
  await row.getByRole('link', { name: 'Sessions' }).click();
  await page.getByText('Private plan').waitFor();
  await page.getByText(`Created by: ${member.email} (left)`).waitFor();
  await page.goBack();
  await openActions(row);
  await row.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText(`By: ${member.email} (left)`).waitFor();
  await page.getByRole('row').filter({ hasText: 'Private plan' }).waitFor();
  await page.goBack();
  await openActions(row);
  await erase.click();
  await page.getByRole('dialog').getByLabel(`Type ${member.email}`).fill(member.email);
  await page.getByRole('dialog').getByRole('button', { name: 'Erase' }).click();
  await page.getByText('The deletion was requested.').waitFor();
  await runJobs(site);
  await page.reload();
  await row.waitFor({ state: 'detached' });
  expect(problems).toEqual([]);
});

test('unbound keys of others are found, ended here and given back; a group of more than a hundred is edited', async () => {
  const admin = await site.createKey();
  const { organization } = admin;
  const person = await createPerson(site);
  await person.join(organization);
  const members = await Promise.all(
    Array.from({ length: 100 }, () => createServiceAccount(site, admin.key, { name: `Builds ${randomUUID()}` })),
  );
  await createGroup(site, admin.key, { name: 'Large', memberIds: [admin.userId, ...members.map(({ id }) => id)] });
  const { page, problems } = await site.open('/api-keys', { key: admin.key });
  const dialog = page.getByRole('dialog');
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const keys = page.getByRole('table', { name: 'API keys' }).getByRole('row');
  await expect.poll(() => keys.count()).toBe(4);
  await page.getByRole('combobox', { name: 'Of' }).selectOption(person.userId);
  await expect.poll(() => keys.count()).toBe(3);
  await page.getByLabel('In any organization of the person').check();
  await expect.poll(() => keys.count()).toBe(2);
  await page.getByText('All of theirs').waitFor();
  await openActions(page);
  await button('Revoke').click();
  await dialog.getByText('for this organization?').waitFor();
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('ended here').waitFor();
  expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
  await openActions(page);
  await button('Let act again').click();
  await dialog.getByRole('button', { name: 'Let act again' }).click();
  await page.getByText('ended here').waitFor({ state: 'detached' });
  await openActions(page);
  await button('Revoke').waitFor();

  await page.goto(`${site.url}/groups`);
  await button('Edit').click();
  await dialog.getByText('Members: 101').waitFor();
  await dialog.getByLabel(person.email).check();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('cell', { name: '102', exact: true }).waitFor();
  expect(problems).toEqual([]);
});
