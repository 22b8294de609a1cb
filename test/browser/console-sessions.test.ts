import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { append, createSession, eventsOf, mutate } from '../support/fixtures/sessions.ts';
import { isGood, openActions, openDetails, startSite, VIEWS } from '../support/processes/browser.ts';

/** Sessions are created and changed in forms, on the list and on the page of a session. */

const site = await startSite();
const { key } = await site.createKey();
const dialog = (page: Page) => page.getByRole('dialog');

test.each(VIEWS)(
  '%s: a session is created, changed and moved to other states, and its page shows it at once',
  async (name, view) => {
    const { page, problems } = await site.open('/sessions', { ...view, key });
    await page.getByRole('button', { name: 'New session' }).focus();
    await page.keyboard.press('Enter');
    await dialog(page).waitFor();
    await page.keyboard.press('Enter');
    const title = dialog(page).getByLabel('Title');
    await expect.poll(() => title.getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => title.evaluate((field) => field === document.activeElement)).toBe(true);
    await isGood(page, `session-faults-${name}`);
    await title.fill('  ');
    expect(await title.inputValue()).toBe('');
    const long = `\u05D0\u05D1\u05D2${'w'.repeat(987)}`;
    await title.fill(long);
    await dialog(page).getByLabel('Description').fill(long);
    await dialog(page).getByLabel('Who can read it').selectOption('PUBLIC');
    await title.press('Enter');
    // The confirmation is shown for ten seconds, also while the page is being loaded.
    await page.getByText('The session was created.').waitFor();
    await page.getByRole('heading', { name: long, level: 1 }).waitFor();
    await isGood(page, `session-created-${name}`);

    await openDetails(page);
    await openActions(page);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await title.fill(`Short ${name}`);
    await dialog(page).getByLabel('Branch (optional)', { exact: true }).fill('feature');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: `Short ${name}`, level: 1 }).waitFor();
    await page.getByText('feature', { exact: true }).waitFor();

    const move = async (state: string, badge: string) => {
      await openActions(page);
      await page.getByRole('button', { name: 'Change state' }).click();
      await dialog(page).getByLabel('New state').selectOption(state);
      await dialog(page).getByRole('button', { name: 'Change state' }).click();
      await page.locator('.badge', { hasText: badge }).first().waitFor();
    };
    await move('IN_PROGRESS', 'In progress');
    await move('FAILED', 'Failed');
    await move('QUEUED', 'Queued');
    await move('CANCELLED', 'Cancelled');
    expect(problems).toEqual([]);
  },
);

test('a row of the list changes its session; a state that somebody else has changed is refused at its field', async () => {
  const id = await createSession(site, key, { title: 'In the list', description: 'kept', agent: 'codex' });
  const { page, problems } = await site.open('/sessions?title=list', { key });
  const row = page.getByRole('table', { name: 'Sessions' }).getByRole('row', { name: /list/i });
  await row.getByRole('button', { name: 'Edit' }).click();
  await dialog(page).getByLabel('Agent').fill('');
  await dialog(page).getByLabel('Title').fill('Still in the list');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByRole('link', { name: 'Still in the list' }).waitFor();
  await expect.poll(() => row.getByText('codex').count()).toBe(0);

  await row.getByRole('button', { name: 'Change state' }).click();
  await dialog(page).getByLabel('New state').selectOption('IN_PROGRESS');
  await mutate(site, key, 'transitionSession', { sessionId: id, state: 'CANCELLED' });
  await dialog(page).getByRole('button', { name: 'Change state' }).click();
  await dialog(page)
    .getByText(/a session that is CANCELLED can become QUEUED/)
    .waitFor();
  expect(await dialog(page).getByLabel('New state').getAttribute('aria-invalid')).toBe('true');
  const read = await site.rest<{ description: string; agent: string | null }>('GET', `/v1/sessions/${id}`, { key });
  expect([read.body.description, read.body.agent]).toEqual(['kept', null]);
  expect(problems).toEqual([]);
});

test('an empty list offers the form; a key that only reads is offered none', async () => {
  const { key: fresh } = await site.createKey();
  const { page } = await site.open('/sessions', { key: fresh });
  await page.getByText('No sessions yet.').waitFor();
  expect(await page.getByRole('button', { name: 'New session' }).count()).toBe(1);
  const reader = await mutate<{ key: string }>(
    site,
    fresh,
    'createApiKey',
    { name: 'reader', scopes: ['SESSIONS_READ'] },
    'key',
  );
  await createSession(site, fresh, { title: 'Read only', visibility: 'PUBLIC' });
  const { page: other } = await site.open('/sessions', { key: reader.key });
  await other.getByRole('link', { name: 'Read only' }).waitFor();
  expect(await other.getByRole('button', { name: /New session|Edit|Change state/ }).count()).toBe(0);
});

test('a session gets its MCP connections in the form that creates it, and others later; a form that changes something else keeps them', async () => {
  const { key: admin } = await site.createKey();
  for (const name of ['Billing', 'Archive'])
    await mutate(site, admin, 'createMcpServer', { stdio: { name, command: 'npx' } });
  const connections = async (page: Page) => {
    const { data } = await site.graphql<{ session: { mcpServers: { name: string }[] } }>(
      admin,
      'query($id: ID!) { session(id: $id) { mcpServers { name } } }',
      { id: new URL(page.url()).pathname.split('/').at(-1) },
    );
    return data?.session.mcpServers.map(({ name }) => name).toSorted();
  };
  const { page, problems } = await site.open('/sessions', { key: admin });
  await page.getByRole('button', { name: 'New session' }).click();
  await dialog(page).getByLabel('Title').fill('With tools');
  await dialog(page).getByRole('checkbox', { name: 'Billing' }).check();
  await dialog(page).getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'With tools', level: 1 }).waitFor();
  expect(await connections(page)).toEqual(['Billing']);
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await expect.poll(() => dialog(page).getByRole('checkbox', { name: 'Billing' }).isChecked()).toBe(true);
  await dialog(page).getByRole('checkbox', { name: 'Billing' }).uncheck();
  await dialog(page).getByRole('checkbox', { name: 'Archive' }).check();
  await isGood(page, 'session-connections');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await expect.poll(() => connections(page)).toEqual(['Archive']);
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await dialog(page).getByLabel('Title').fill('With other tools');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'With other tools', level: 1 }).waitFor();
  expect(await connections(page)).toEqual(['Archive']);
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByText('Nothing was changed.').waitFor();
  expect(problems).toEqual([]);
});

test('the list shows within a minute that a session is recorded, and moves it to the top', async () => {
  const { key: own } = await site.createKey();
  const id = await createSession(site, own, { title: 'Recorded' });
  await createSession(site, own, { title: 'Newer' });
  // An append notes the time at most once a minute.
  await site.dependencies.sql.query(
    `update session set last_seen_at = last_seen_at - interval '1 hour' where id = $1`,
    [id],
  );
  const context = await site.newContext({ key: own });
  let loads = 0;
  context.on('request', (request) => (loads += Number(/query Sessions/.test(request.postData() ?? ''))));
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(`${site.url}/sessions`);
  const titles = () => page.locator('tbody a').allTextContents();
  // The minute begins when the list is loaded, which is once more when its subscription has started.
  await expect.poll(() => loads).toBe(2);
  await page.locator('table[aria-busy=false]').waitFor();
  await expect.poll(titles).toEqual(['Newer', 'Recorded']);
  await append(site, own, id, eventsOf(1));
  await page.clock.runFor('01:01');
  await expect.poll(titles).toEqual(['Recorded', 'Newer']);
});
