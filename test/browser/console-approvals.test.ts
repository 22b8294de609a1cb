import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createSession } from '../support/fixtures/sessions.ts';
import { type Outcome, callAt } from '../support/fixtures/tool-addresses.ts';
import { startApprovalFixture } from '../support/fixtures/tool-approvals.ts';
import { tool } from '../support/peers/listing-server.ts';
import { VIEWS, accessibilityFindings, overflowOf, saveScreenshot, startSite } from '../support/processes/browser.ts';

/** The page of calls that wait for another person: it follows by itself, and one key decides. */

const site = await startSite({ ALLOW_PRIVATE_NETWORK: 'true', RATE_LIMIT_PER_MINUTE: '0' });
const fixture = await startApprovalFixture(site);
const { caller, approver, place, group, server } = fixture;
afterAll(() => fixture.stop());
beforeEach(() => site.dependencies.sql.query('delete from tool_approval', []));

/** As long as the name of a tool can be at this address. */
const LONG = `write_${'x'.repeat(49)}`;
server.tools = [...server.tools, tool(LONG)];
const TOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';
const send = (args: object, at = place, name = 'write'): Promise<Outcome> =>
  callAt('session', at, caller.key, name, args);
const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
const isMarked = (row: Locator) => expect.poll(() => row.getAttribute('aria-current')).toBe('true');

async function isGood(page: Page, name: string): Promise<void> {
  await saveScreenshot(page, `approvals-${name}`);
  const cut = await page
    .locator('.table-frame')
    .evaluateAll((all) => all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length);
  expect([name, await accessibilityFindings(page), await overflowOf(page), cut]).toEqual([name, [], 0, 0]);
}

test.each(VIEWS)(
  '%s: a call that waits appears, a key decides about it, and the page follows its use',
  async (name, view) => {
    const sessionId = await createSession(site, caller.key, {
      title: `Mend the login ${'y'.repeat(100)}`,
      visibility: 'PUBLIC',
      mcpServers: [place.connectionId],
    });
    const { page, problems } = await site.open('/tool-approvals', { ...view, key: approver.key });
    await page.getByText('No call needs an approval.').waitFor();
    const args = { title: 'Hidden\u{E0041}\u200B text', token: TOKEN, text: 'x'.repeat(5_000) };
    const asked = await send(args, { ...place, sessionId }, LONG);
    const row = rowOf(page, 'write');
    await row.getByText('Pending', { exact: true }).waitFor();
    // Until the decision, all of the arguments are shown, also what is invisible or would be redacted.
    for (const shown of ['Hidden[U+E0041][U+200B] text', TOKEN, 'x'.repeat(5_000)])
      await row.getByText(shown).waitFor();
    await row.getByText(caller.email).waitFor();
    await row.getByRole('link', { name: 'Tracker' }).waitFor();
    await row.getByRole('link', { name: /^Mend the login/ }).waitFor();
    await isMarked(row);
    await isGood(page, `waiting-${name}`);
    await page.keyboard.press('a');
    await row.getByText('Approved', { exact: true }).waitFor();
    await page.getByText(`The call of ${LONG} was approved.`).waitFor();
    expect(await overflowOf(page)).toBe(0);
    expect([await row.getByText(TOKEN).count(), await row.getByRole('button').count()]).toEqual([0, 0]);
    expect(await send(args, { ...place, sessionId }, LONG)).toMatchObject({ kind: 'OK' });
    await row.getByText('Used', { exact: true }).waitFor();
    expect([asked.kind, problems]).toEqual(['ASKED', []]);
  },
);

test('a key decides about the call that is marked: not about one that comes later, nor twice while it is held', async () => {
  await send({ n: 1 });
  const { page, problems } = await site.open('/tool-approvals', { key: approver.key });
  const rows = page.getByRole('table', { name: 'Approvals' }).locator('tbody tr');
  await isMarked(rows.nth(0));
  await send({ n: 2 });
  await send({ n: 3 });
  await expect.poll(() => rows.count()).toBe(3);
  expect(await rows.locator('pre').allTextContents()).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
  await page.keyboard.down('a');
  await isMarked(rowOf(page, '{"n":2}'));
  await page.keyboard.down('a');
  await page.keyboard.up('a');
  // What somebody else has decided meanwhile is told.
  const { body } = await site.rest<{ items: { id: string; state: string; preview: string }[] }>(
    'GET',
    '/v1/tool-approvals',
    { key: approver.key },
  );
  expect(body.items.map(({ state }) => state)).toEqual(['PENDING', 'PENDING', 'APPROVED']);
  const id = body.items.find(({ preview }) => preview === '{"n":2}')?.id;
  await page.route('**/graphql', async (route) => {
    if (route.request().postData()?.includes('DecideToolApproval') === true) await fixture.decide(id, 'DENY');
    await route.continue();
  });
  await page.keyboard.press('a');
  await page.getByRole('alert').getByText('decided already').waitFor();
  // The moment a call is marked, a key decides about it.
  await page.evaluate(() => {
    const press = () => {
      if (document.querySelector('tr[aria-current=true] pre')?.textContent !== '{"n":3}') return;
      marking.disconnect();
      dispatchEvent(new KeyboardEvent('keydown', { key: 'd' }));
    };
    const marking = new MutationObserver(press);
    marking.observe(document.body, { subtree: true, childList: true, attributes: true });
    press();
  });
  await rowOf(page, '{"n":3}').getByText('Denied', { exact: true }).waitFor();
  expect((await send({ n: 3 })).text).toContain('was denied');
  expect(problems).toEqual([]);
});

test('the address in the text for the agent leads to the call: a button decides there, and who cannot decide is offered nothing', async () => {
  const { text } = await send({ n: 1 });
  const { pathname } = new URL(/\S+\/tool-approvals\/[\w-]+/.exec(text)?.[0] ?? '');
  await fixture.setMembers([approver.userId, caller.userId], group);
  const { page: own } = await site.open(pathname, { key: caller.key });
  await own.getByText('Pending', { exact: true }).waitFor();
  const { page, problems } = await site.open('/overview', { key: approver.key, width: 390 });
  // What needs a person leads there, too.
  await page.getByRole('listitem').filter({ hasText: 'waits for an approval' }).getByRole('link').press('Enter');
  await page.waitForURL(site.url + pathname);
  const deny = page.getByRole('button', { name: 'Deny' });
  await isMarked(rowOf(page, '{"n":1}'));
  await isGood(page, 'single');
  for (let presses = 0; presses < 40; presses += 1) {
    if (await deny.evaluate((button) => button === document.activeElement)) break;
    await page.keyboard.press('Tab');
  }
  expect(await own.getByRole('button', { name: /Approve|Deny/ }).count()).toBe(0);
  expect(await rowOf(own, '{"n":1}').getAttribute('aria-current')).toBe('false');
  await page.keyboard.press('Enter');
  for (const each of [page, own]) await each.getByText('Denied', { exact: true }).waitFor();
  expect(problems).toEqual([]);
});
