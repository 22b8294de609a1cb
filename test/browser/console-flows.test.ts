import type { Page, Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { createGateway } from '../../src/gateway/gateway.ts';
import { serve } from '../../src/gateway/http/server.ts';
import { invite } from '../support/fixtures/invitations.ts';
import { createSession, moveTo, mutate } from '../support/fixtures/sessions.ts';
import { VIEWS, accessibilityFindings, saveScreenshot, overflowOf, startSite } from '../support/processes/browser.ts';

/** Tasks in the console by keyboard and by URL, and its behavior while the gateway is unavailable. */

const site = await startSite();
const { key } = await site.createKey();

const titles = (page: Page) => page.getByRole('table', { name: 'Sessions' }).getByRole('link').allTextContents();

test('filters of a list are in its URL: they survive a reload, and live changes are filtered, too', async () => {
  const running = await createSession(site, key, { title: 'Blue run' });
  await createSession(site, key, { title: 'Blue wait' });
  await createSession(site, key, { title: 'Green wait' });
  await moveTo(site, key, running, 'IN_PROGRESS');
  const context = await site.newContext({ key });
  let loads = 0;
  context.on('request', (request) => (loads += Number(/query Sessions/.test(request.postData() ?? ''))));
  const { page, problems } = await site.open('/sessions', {}, context);
  // The list is loaded again when its subscription has started: from then on the page receives later changes.
  await expect.poll(() => loads).toBe(2);
  await page.getByLabel('Title').fill('blue');
  await page.getByLabel('State').selectOption('Queued');
  await expect.poll(() => titles(page)).toEqual(['Blue wait']);
  await page.waitForURL((url) => url.search === '?title=blue&state=QUEUED');

  loads = 0;
  await page.reload();
  await expect.poll(() => loads).toBe(2);
  await expect.poll(() => titles(page)).toEqual(['Blue wait']);
  expect(await page.getByLabel('Title').inputValue()).toBe('blue');
  await createSession(site, key, { title: 'Green again' });
  await createSession(site, key, { title: 'Blue again' });
  await expect.poll(() => titles(page)).toEqual(['Blue again', 'Blue wait']);
  expect(problems).toEqual([]);
});

test('a key can be renamed and revoked with the keyboard only; Escape cancels both', async () => {
  await mutate(site, key, 'createApiKey', { name: 'misnamed', scopes: ['SESSIONS_READ'] });
  const { page, problems } = await site.open('/api-keys', { key });
  const row = page.getByRole('row', { name: /misnamed|spare/ });
  const rename = row.getByRole('button', { name: 'Rename' });
  await row.getByRole('button', { name: 'More actions' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const field = page.getByRole('textbox', { name: 'Name of the key' });
  await field.waitFor();
  // The text field has the focus, and its text is selected.
  await page.keyboard.type('Not this');
  await page.keyboard.press('Escape');
  // The button has the focus again.
  await rename.waitFor();
  await page.keyboard.press('Enter');
  await field.waitFor();
  await page.keyboard.type('spare');
  await page.keyboard.press('Enter');
  await page.getByText('spare', { exact: true }).waitFor();
  const answer = async (press: 'Escape' | 'Enter') => {
    await row.getByRole('button', { name: 'Revoke' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press(press);
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  };
  const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent?.trim());
  await answer('Escape');
  expect(await row.count()).toBe(1);
  await expect.poll(focused).toBe('Revoke');
  await answer('Enter');
  await expect.poll(() => row.count()).toBe(0);
  // The button is gone with its row.
  await expect.poll(focused).toBe('page-title');
  expect(problems).toEqual([]);
});

test('the icon of the tab shows the state of the session, and is the plain one on other pages', async () => {
  const id = await createSession(site, key, { title: 'With an icon' });
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  const icon = async () => decodeURIComponent((await page.locator('link[rel=icon]').getAttribute('href')) ?? '');
  await page.getByRole('heading', { name: 'With an icon', level: 1 }).waitFor();
  const plain = await icon();
  expect(plain).toMatch(/^\/assets\//);
  await moveTo(site, key, id, 'IN_PROGRESS');
  await expect.poll(icon).toMatch(/^data:.*fill="#f2b705"/s);
  await moveTo(site, key, id, 'FAILED');
  await expect.poll(icon).toMatch(/^data:.*fill="#d92d20"/s);
  await page.getByRole('link', { name: 'Usage', exact: true }).click();
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
  await expect.poll(async () => new URL(await icon(), site.url).pathname).toBe(plain);
  expect(problems).toEqual([]);
});

test('printed, a page is its content without navigation and buttons', async () => {
  const { page } = await site.open('/members', { key });
  await page.getByRole('table', { name: 'Members' }).waitFor();
  await page.emulateMedia({ media: 'print' });
  expect(await page.getByRole('navigation', { name: 'Console' }).isVisible()).toBe(false);
  expect(await page.getByRole('button').count()).toBe(0);
  expect(await page.getByRole('heading', { name: 'Members', level: 1 }).isVisible()).toBe(true);
  await saveScreenshot(page, 'printed-members');
});

test('the audit log can be filtered by operation and links to the changed session', async () => {
  const id = await createSession(site, key, { title: 'Audited' });
  const { page } = await site.open('/audit-log?operation=createSession', { key });
  const rows = page.getByRole('table', { name: 'Audit log' }).getByRole('row');
  await expect.poll(() => rows.count()).toBeGreaterThan(1);
  await expect
    .poll(async () => new Set(await rows.locator('td:nth-child(2)').allTextContents()))
    .toEqual(new Set(['Created the session as private']));
  await rows.nth(1).getByRole('link', { name: 'Audited' }).click();
  await page.getByRole('heading', { name: 'Audited', level: 1 }).waitFor();
  await page.getByText(`node record.mjs --session ${id}`).waitFor();
});

test('the page of an event definition shows which occurrences were refused, by hour, property, reason and key, without values', async () => {
  const { key: sender, organization } = await site.createKey();
  const property = { label: 'Price', type: 'NUMBER' };
  await mutate(site, sender, 'createEventDefinition', { label: 'Order paid', propertyDefinitions: [property] });
  await mutate(site, sender, 'createEventDefinition', { label: 'Other' });
  const other = await site.createKey({ organization });
  const send = (by: string, occurrence: object) =>
    site.rest('POST', '/events/2026-03/send', { key: by, body: { email: 'ann@example.com', ...occurrence } });
  site.setClock(new Date('2026-03-01T10:30:00Z'));
  await send(sender, { eventName: 'order_paid', properties: { price: 'much' } });
  await send(sender, { eventName: 'order_paid', properties: { price: 'Secret-4711' } });
  site.setClock(new Date('2026-03-01T11:30:00Z'));
  await send(other.key, { eventName: 'order_paid', properties: { '<b>prize': 1 } });
  await send(sender, { eventName: 'other', properties: { unknown: 1 } });
  site.setClock(undefined);
  const { page, problems } = await site.open('/event-definitions/order_paid', { key: sender });
  const table = page.getByRole('table', { name: 'Refused occurrences' });
  await table.waitFor();
  const rows = await table.locator('tbody tr').all();
  const cells = await Promise.all(rows.map((row) => row.getByRole('cell').allTextContents()));
  expect(cells.map(([, ...rest]) => rest.map((text) => text.trim()))).toEqual([
    ['–', 'Unknown field', expect.any(String), '1'],
    ['price', 'Bad format At most 15 digits, of which one is a decimal: 12.5, not 12.55.', expect.any(String), '2'],
  ]);
  const times = await table.locator('time').evaluateAll((found) => found.map((time) => time.getAttribute('datetime')));
  expect(times).toEqual(['2026-03-01T11:00:00.000Z', '2026-03-01T10:00:00.000Z']);
  expect(await page.content()).not.toContain('4711');
  await mutate(site, sender, 'createEventDefinition', { label: 'Fine' });
  await page.goto(`${site.url}/event-definitions/fine`);
  await page.getByText('None in the last 30 days.').waitFor();
  expect(problems).toEqual([]);
});

test('a timeline reports a lost connection, and after reconnecting it continues and shows each event once', async () => {
  const once = await serve(createGateway(site.dependencies), { host: '127.0.0.1', port: 0 });
  const { port } = new URL(once.url);
  const id = await createSession(site, key, { title: 'Interrupted' });
  const say = (text: string) =>
    mutate(site, key, 'appendSessionEvents', {
      sessionId: id,
      events: [
        { eventType: 'note', provider: 'anthropic', eventData: { type: 'x', source: 'system', accumulatedText: text } },
      ],
    });
  await say('before');
  const { page } = await site.open(`${once.url}/sessions/${id}`, { key });
  await page.getByText('Live: new events appear by themselves.').waitFor();
  await say('live');
  await page.getByText('live', { exact: true }).waitFor();
  await once.stop(1_000);
  await page.getByText('The connection was lost; reconnecting…').waitFor();
  await say('meanwhile');
  const again = await serve(createGateway(site.dependencies), { host: '127.0.0.1', port: Number(port) });
  await page.getByText('meanwhile', { exact: true }).waitFor();
  await say('after');
  await page.getByText('after', { exact: true }).waitFor();
  await expect
    .poll(() => page.locator('.item .note').allTextContents())
    .toEqual(['before', 'live', 'meanwhile', 'after']);
  await page.close();
  await again.stop(1_000);
});

test('what can no longer be read leaves the list and ends its page, which says so once and sends no further requests', async () => {
  const admin = await site.createKey();
  const member = await site.createKey({ organization: admin.organization });
  const id = await createSession(site, admin.key, { title: 'Shared', visibility: 'PUBLIC' });
  const context = await site.newContext({ key: member.key });
  const { page: list } = await site.open('/sessions', {}, context);
  const page = await context.newPage();
  const [asked, answered]: [string[], string[]] = [[], []];
  const noteIn = (names: string[]) => (request: Request) =>
    names.push(/^{"query":"query (\w+)/.exec(request.postData() ?? '')?.[1] ?? '');
  page.on('request', noteIn(asked));
  page.on('requestfinished', noteIn(answered));
  await page.goto(`${site.url}/sessions/${id}`);
  await page.getByText('Live: new events appear by themselves.').waitFor();
  await expect.poll(() => titles(list)).toEqual(['Shared']);
  // The page loads its session once more when its subscription has started, and its results once it shows the timeline.
  await expect
    .poll(() => answered.filter((name) => name !== '').toSorted())
    .toEqual(['Artifacts', 'Session', 'Session', 'SessionEntries', 'Viewer']);
  asked.length = 0;
  await mutate(site, admin.key, 'updateSession', { sessionId: id, visibility: 'PRIVATE' });
  await page.getByText('This session was deleted, or you can no longer read it.').waitFor();
  await expect.poll(() => titles(list)).toEqual([]);
  // The next request of the page is the one of this click.
  await page.getByRole('link', { name: 'Usage', exact: true }).click();
  // The heading is shown before the page sends its request.
  await expect.poll(() => asked.filter((name) => name !== '')).toEqual(['Session', 'Usage']);
  await context.close();
});

test('a page whose subscription is refused says why, and a revoked key leads to the sign-in', async () => {
  const admin = await site.createKey();
  const member = await site.createKey({ organization: admin.organization });
  const context = await site.newContext({ key: member.key });
  // Without a worker the page itself has the connection, which the test answers.
  await context.addInitScript(() => Object.defineProperty(window, 'SharedWorker', { value: undefined }));
  const page = await context.newPage();
  let connections = 0;
  await page.routeWebSocket(/\/graphql$/, (socket) => {
    connections += 1;
    socket.onMessage((text) => {
      const { type, id } = JSON.parse(String(text)) as { type: string; id?: string };
      const refused = [{ message: 'not for you', extensions: { code: 'FORBIDDEN' } }];
      socket.send(
        JSON.stringify(type === 'subscribe' ? { id, type: 'error', payload: refused } : { type: 'connection_ack' }),
      );
    });
  });
  await page.goto(`${site.url}/sessions`);
  await page.getByText('The list does not update itself: not for you').waitFor();
  expect(connections).toBe(1);
  await page.close();
  const { page: next } = await site.open('/sessions', {}, context);
  await next.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
  await mutate(site, admin.key, 'revokeApiKey', { apiKeyId: member.keyId });
  await next.waitForURL(/\/sign-in\?/);
  await context.close();
});

test('a link on another site opens the page, although the browser does not send the sign-in cookie with that request', async () => {
  const { page, problems } = await site.open('/usage', { key });
  const follow = async (path: string) => {
    await page.goto('about:blank');
    await page.setContent(`<a href="${site.url}${path}">elsewhere</a>`);
    const answered = page.waitForResponse(site.url + path.replace(/#.*/, ''));
    await page.getByRole('link', { name: 'elsewhere' }).click();
    const headers = await (await answered).request().allHeaders();
    expect([headers['sec-fetch-site'], headers['cookie']]).toEqual(['cross-site', undefined]);
  };
  await follow('/members');
  await page.getByRole('heading', { name: 'Members', level: 1 }).waitFor();
  await follow(`/invitations/accept#${(await invite(site, key, 'elsewhere@example.com')).token}`);
  await page.getByText('You are signed in as').waitFor();
  expect(problems).toEqual([]);
});

test('an event is shown with the data that was recorded, its type and its provider', async () => {
  const id = await createSession(site, key, { title: 'Raw' });
  const events = [{ eventType: 'note', provider: 'anthropic', eventData: { type: 'error', unknown: { kept: [1] } } }];
  await mutate(site, key, 'appendSessionEvents', { sessionId: id, events });
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  await page.getByRole('button', { name: 'event 1' }).click();
  const shown: unknown = JSON.parse(String(await page.locator('.raw pre').textContent()));
  expect(shown).toMatchObject({ id: 1, eventType: 'note', eventData: { type: 'error', unknown: { kept: [1] } } });
  expect(problems).toEqual([]);
});

test.each(VIEWS)(
  '%s: the pages without sign-in fit into the window and have no serious accessibility findings',
  async (name, view) => {
    const { page } = await site.open('/sign-in', view);
    await page.getByLabel('API key').fill('wgk_wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await saveScreenshot(page, `sign-in-${name}`);
    expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
    await page.goto(`${site.url}/nothing-here`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await saveScreenshot(page, `unknown-address-${name}`);
    expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
  },
);
