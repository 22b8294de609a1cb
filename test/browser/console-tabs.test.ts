import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createSession, moveTo, mutate } from '../support/fixtures/sessions.ts';
import { receive } from '../support/fixtures/webhooks.ts';
import { startTcpProxy } from '../support/peers/tcp-proxy.ts';
import { openActions, startSite } from '../support/processes/browser.ts';
import { createMetricsReader } from '../support/processes/metrics.ts';

/** Several tabs of one browser, and pages that the gateway does not answer for a while. */

const site = await startSite({ ALLOW_PRIVATE_NETWORK: 'true' });
const { key } = await site.createKey();
const metrics = createMetricsReader();

const LIVE = 'Live: new events appear by themselves.';

const record = (sessionId: string, type: string) =>
  mutate(site, key, 'appendSessionEvents', {
    sessionId,
    events: [{ eventType: 'note', provider: 'anthropic', eventData: { type, accumulatedText: type } }],
  });

async function startSession(title: string): Promise<string> {
  const id = await createSession(site, key, { title });
  await moveTo(site, key, id, 'IN_PROGRESS');
  return id;
}

/** A person with an unbound key who administers two organizations, and a member of both. */
async function createPeople() {
  const { key: unbound, keyId, email, organization: first } = await site.createKey();
  const { organization: second, key: keyOfSecond } = await site.createKey({ email });
  const member = await site.createKey({ organization: first });
  await site.dependencies.sql.query('update api_key set organization_id = null where id = any($1)', [
    [keyId, member.keyId],
  ]);
  await site.createKey({ email: member.email, organization: second });
  const membersOf = async (organization: string) => {
    const { data } = await site.graphql<{
      viewer: { organization: { members: { nodes: { user: { email: string } }[] } } };
    }>(
      unbound,
      '{ viewer { organization { members { nodes { user { email } } } } } }',
      {},
      { 'X-Organization-Id': organization },
    );
    return data?.viewer.organization.members.nodes.map(({ user }) => user.email);
  };
  return { unbound, email, first, second, keyOfSecond, member, membersOf };
}

const organizationIn = (page: Page) => new URL(page.url()).searchParams.get('organization');

test('nine tabs load and stay live with one connection of the browser, and their requests are answered', async () => {
  const id = await startSession('Followed by all');
  const context = await site.newContext({ key });
  const lists: Page[] = [];
  const details: Page[] = [];
  for (let count = 0; count < 9; count++) {
    const { page } = await site.open(count % 2 ? '/sessions' : `/sessions/${id}`, {}, context);
    await page
      .getByText(count % 2 ? 'Followed by all' : LIVE)
      .first()
      .waitFor();
    (count % 2 ? lists : details).push(page);
  }
  await record(id, 'recorded for all');
  for (const page of details) await page.getByText('recorded for all', { exact: true }).waitFor();
  await createSession(site, key, { title: 'Created for all' });
  for (const page of lists) await page.getByRole('link', { name: 'Created for all' }).waitFor();
  await details[0]?.getByRole('button', { name: 'More actions' }).click();
  await details[0]?.getByRole('button', { name: 'Pin' }).click();
  await details[0]?.getByRole('button', { name: 'Unpin' }).waitFor();
  await expect.poll(() => metrics.fresh(site.url)).toMatch(/^gateway_websockets_open(?:\{.*\})? 1$/m);
});

test('a hidden tab follows nothing; shown again, it has what happened meanwhile', async () => {
  const id = await startSession('Hidden');
  const { page } = await site.open(`/sessions/${id}`, { key });
  await page.getByText(LIVE).waitFor();
  const show = (isHidden: boolean) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { value, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
  const tails = async () => /^gateway_tails_open\{api="graphql"\} (\d+)$/m.exec(await metrics.fresh(site.url))?.[1];
  // The session, and its events.
  await expect.poll(tails).toBe('2');
  await show(true);
  await expect.poll(tails).toBe('0');
  await record(id, 'while hidden');
  await show(false);
  await page.getByText('while hidden', { exact: true }).waitFor();
});

test('each tab keeps its organization, in its address and in what it changes, whatever another tab chooses', async () => {
  const { unbound, email, first, second, member, membersOf } = await createPeople();
  const context = await site.newContext({ key: unbound });
  const { page } = await site.open(`/members?organization=${first}`, {}, context);
  const members = page.getByRole('table', { name: 'Members', exact: true });
  const row = members.getByRole('row').filter({ hasText: member.email });
  await row.waitFor();
  const { page: other } = await site.open(`/members?organization=${first}`, {}, context);
  await other.getByRole('combobox', { name: 'Organization' }).selectOption(second);
  await expect.poll(() => organizationIn(other)).toBe(second);
  await other.getByRole('row').filter({ hasText: member.email }).waitFor();
  const { page: theirs } = await site.open(`/members?organization=${first}`, { key: member.key });
  await theirs.getByRole('row').filter({ hasText: email }).waitFor();

  await openActions(row);
  await row.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect.poll(() => row.count()).toBe(0);
  await theirs.getByRole('link', { name: 'Usage', exact: true }).click();
  await theirs.getByText('You do not belong to this organization, or it was deleted.').waitFor();
  expect(await membersOf(first)).toEqual([email]);
  expect((await membersOf(second))?.toSorted()).toEqual([email, member.email].toSorted());

  await page.getByRole('link', { name: 'Usage', exact: true }).click();
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
  expect([organizationIn(page), organizationIn(other)]).toEqual([first, second]);
  await page.reload();
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
  await expect
    .poll(() => page.getByRole('combobox', { name: 'Organization' }).locator('option:checked').textContent())
    .toBe(first);
  await page.getByRole('link', { name: 'GraphiQL' }).click();
  await page.waitForURL(`${site.url}/graphql?organization=${first}`);
  await expect.poll(() => page.getByLabel('Organization').locator('option:checked').textContent()).toBe(first);
});

test('a link to a session opens in the organization that has it; one to a foreign organization says so', async () => {
  const { unbound, second, keyOfSecond } = await createPeople();
  const id = await createSession(site, keyOfSecond, { title: 'In the second' });
  const context = await site.newContext({ key: unbound });
  const { page } = await site.open(`/sessions/${id}`, {}, context);
  await page.getByRole('heading', { name: 'In the second', level: 1 }).waitFor();
  expect(organizationIn(page)).toBe(second);
  const { organization: foreign } = await site.createKey();
  const { page: refused } = await site.open(`/sessions?organization=${foreign}`, {}, context);
  await refused.getByRole('heading', { name: 'Another organization', level: 1 }).waitFor();
  await refused.getByRole('button', { name: 'My organization' }).click();
  await refused.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
});

test('a session of one of several organizations is exported by a link that names the organization', async () => {
  const { unbound, keyOfSecond } = await createPeople();
  const id = await createSession(site, keyOfSecond, { title: 'Exported' });
  const { page, problems } = await site.open(`/sessions/${id}`, { key: unbound });
  await page.getByRole('button', { name: 'More actions' }).click();
  const link = page.getByRole('link', { name: 'Export as Markdown' });
  await link.waitFor();
  const [file] = await Promise.all([page.waitForEvent('download'), link.click()]);
  expect(file.suggestedFilename()).toBe(`session-${id}.md`);
  expect(await readFile(await file.path(), 'utf8')).toContain('# Exported');
  expect(problems).toEqual([]);
});

test('a link to a webhook opens in the organization that has it, and the links of the page stay there', async () => {
  const { unbound, second, keyOfSecond } = await createPeople();
  await using webhook = await receive(site, keyOfSecond);
  const { url } = webhook.receiver;
  const { page } = await site.open(`/webhooks/${webhook.id}`, { key: unbound });
  await page.getByText(url).waitFor();
  expect(organizationIn(page)).toBe(second);
  await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
  const link = page.getByRole('link', { name: url });
  await expect.poll(() => link.getAttribute('href')).toBe(`/webhooks/${webhook.id}?organization=${second}`);
  await page.getByRole('combobox', { name: 'Organization' }).selectOption({ index: 0 });
  await page.getByText('No webhooks yet').waitFor();
});

test('a link to an event survives the sign-in', async () => {
  const id = await createSession(site, key, { title: 'Linked' });
  await record(id, 'linked to');
  const { page } = await site.open(`/sessions/${id}#event-1`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.item.wanted', { hasText: 'linked to' }).waitFor();
  expect(new URL(page.url()).hash).toBe('#event-1');
});

test('a page that is refused for a while says so, is not asked again before its time, and goes on by itself', async () => {
  await createSession(site, key, { title: 'Shown later' });
  const context = await site.newContext({ key });
  let requests = 0;
  let isLimited = true;
  await context.route('**/graphql', async (route, request) => {
    if (!/query Sessions/.test(request.postData() ?? '')) return route.continue();
    requests += 1;
    const answer = { status: 429, headers: { 'Retry-After': '3600' }, json: { errors: [{ message: 'later' }] } };
    return isLimited ? route.fulfill(answer) : route.continue();
  });
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(`${site.url}/sessions`);
  await page.getByText('Too many requests in this minute.').waitFor();
  // The list, and its reload when the subscription has begun.
  await expect.poll(() => requests).toBe(2);
  await page.clock.runFor('30:00');
  await page.getByText(/Loading continues in 1[78]\d\d s/).waitFor();
  expect(requests).toBe(2);
  isLimited = false;
  await page.clock.runFor('31:00');
  await page.getByRole('link', { name: 'Shown later' }).waitFor();
});

test('a page whose gateway cannot be reached says so, and continues when the network is back', async () => {
  const { page } = await site.open('/sessions', { key });
  await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole('link', { name: 'Members', exact: true }).click();
  await page.getByText('The gateway cannot be reached.').first().waitFor();
  await page.context().setOffline(false);
  await page.getByRole('table', { name: 'Members' }).waitFor();
  await expect.poll(() => page.getByText('The gateway cannot be reached.').count()).toBe(0);
});

test('a connection that has gone silent counts as lost within 20 seconds', async () => {
  const proxy = await startTcpProxy(site.url);
  const id = await startSession('Silent');
  const context = await site.newContext({ key });
  const { host, hostname } = new URL(proxy.url);
  const [cookie] = await context.cookies(site.url);
  if (cookie) await context.addCookies([{ ...cookie, domain: hostname }]);
  // Without a worker the connection has the clock of the page.
  await context.addInitScript(() => Object.defineProperty(window, 'SharedWorker', { value: undefined }));
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(`http://${host}/sessions/${id}`);
  await page.getByText(LIVE).waitFor();
  proxy.stopForwarding();
  await record(id, 'while silent');
  await page.clock.runFor(20_000);
  await page.getByText('The connection was lost; reconnecting…').waitFor();
  proxy.resumeForwarding();
  await page.getByText('while silent', { exact: true }).waitFor();
  await page.getByText(LIVE).waitFor();
  await expect.poll(() => page.locator('.item .note').allTextContents()).toEqual(['while silent']);
  await page.close();
  await proxy.close();
});
