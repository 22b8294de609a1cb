import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { indexSessions } from '../../src/domains/session-events/search-index.ts';
import { append, createSession, moveTo, mutate } from '../support/fixtures/sessions.ts';
import { VIEWS, startSite, openActions, isGood } from '../support/processes/browser.ts';

/** Texts and events of a session are redacted in its timeline. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const { key, organization } = await site.createKey();

const dialog = (page: Page) => page.getByRole('dialog');
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const row = (page: Page, number: number) => page.locator(`#event-${number}`);

async function press(page: Page, name: string): Promise<void> {
  await button(page, name).focus();
  await page.keyboard.press('Enter');
}

/** A part of a message, which shares its item id with the other parts. */
const part = (delta: string, itemId: string) => ({
  eventType: 'stream_event',
  provider: 'anthropic',
  eventData: { type: 'x', deltaType: 'text_delta', itemId, delta, source: 'assistant' },
});

/** Two messages whose parts alternate, and one with the text again. */
async function recorded(title = 'A run'): Promise<string> {
  const id = await createSession(site, key, { title, visibility: 'PUBLIC' });
  await moveTo(site, key, id, 'IN_PROGRESS');
  const events = [
    part('The password is ', 'a'),
    part('Nothing ', 'b'),
    part('hunter-2 today', 'a'),
    part('to see', 'b'),
    part('Again hunter-2', 'c'),
  ];
  await append(site, key, id, events);
  return id;
}

/** Marks a text, as a mouse or the caret does. */
async function mark(from: Locator, text: string, to: Locator = from): Promise<void> {
  const end = await to.locator('p.text').elementHandle();
  await from.locator('p.text').evaluate(
    (start, [last, wanted]) => {
      const [first, other] = [start.firstChild, last?.firstChild];
      const at = start.textContent.indexOf(wanted);
      if (first && other) getSelection()?.setBaseAndExtent(first, at, other, start === last ? at + wanted.length : 1);
    },
    [end, text] as const,
  );
}

const stored = async (id: string) =>
  JSON.stringify((await site.rest('GET', `/v1/sessions/${id}/events`, { key })).body);

test.each(VIEWS)('%s: a marked text is redacted everywhere, and the timeline shows it', async (name, view) => {
  const id = await recorded('Uses hunter-2');
  const { page, problems } = await site.open(`/sessions/${id}`, { ...view, key });
  await row(page, 5).getByText('Again hunter-2').waitFor();
  await mark(row(page, 1), 'hunter-2');
  await button(page, 'Redact everywhere…').waitFor();
  await isGood(page, `redaction-marked-${name}`);
  await button(page, 'Redact everywhere…').click();
  await expect.poll(() => dialog(page).getByLabel('Text').inputValue()).toBe('hunter-2');
  await isGood(page, `redaction-text-${name}`);
  await press(page, 'Redact');
  await page.getByText('3 texts changed, in 2 events.').waitFor();
  await row(page, 5).getByText('Again [redacted]').waitFor();
  await row(page, 1).getByText('The password is [redacted] today').waitFor();
  await page.getByRole('heading', { name: 'Uses [redacted]', level: 1 }).waitFor();
  expect(await stored(id)).not.toContain('hunter-2');
  await button(page, 'History').click();
  const changes = page.getByRole('table', { name: 'Changes' }).getByRole('row');
  await expect.poll(() => changes.nth(1).textContent()).toContain('Redacted texts');
  expect(problems).toEqual([]);
});

test('other readers lose a redacted text where they are: in the timeline, in a search, in what they have opened and in the title', async () => {
  const id = await recorded('Uses hunter-2');
  const whole = { type: 'x', itemId: 'w', accumulatedText: 'Whole hunter-2', source: 'assistant' };
  await append(site, key, id, [{ eventType: 'x', provider: 'anthropic', eventData: whole }]);
  const member = await site.createKey({ organization, role: 'member' });
  const { page, problems } = await site.open(`/sessions/${id}`, { key: member.key });
  while ((await indexSessions(site.dependencies.database.em)) > 0);
  const { page: searching } = await site.open(`/sessions/${id}?text=whole`, { key: member.key });
  await row(page, 5).getByText('Again hunter-2').waitFor();
  await press(page, 'event 1');
  await page.locator('.raw pre').waitFor();
  await press(page, 'last: event 3');
  await page.locator('.raw pre').getByText('hunter-2 today').waitFor();
  await searching.getByText('Whole hunter-2').waitFor();
  await site.rest('POST', `/v1/sessions/${id}/redact`, { key, body: { text: 'hunter-2' } });
  await row(page, 1).getByText('The password is [redacted] today').waitFor();
  await searching.getByText('Whole [redacted]').waitFor();
  for (const one of [page, searching])
    await expect.poll(() => one.evaluate(() => document.title + document.body.textContent)).not.toContain('hunter-2');
  await append(site, key, id, [part('Still live', 'd')]);
  await row(page, 7).getByText('Still live').waitFor();
  expect(problems).toEqual([]);
});

test('the keyboard reaches the action right after the marked row', async () => {
  const id = await recorded();
  const { page } = await site.open(`/sessions/${id}`, { key });
  await row(page, 5).getByText('Again hunter-2').waitFor();
  await mark(row(page, 1), 'hunter-2');
  await button(page, 'Redact everywhere…').waitFor();
  await button(page, 'event 1').focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect.poll(() => dialog(page).getByLabel('Text').inputValue()).toBe('hunter-2');
});

test('a typed text needs no mark; what is too short, or nowhere in the session, is said', async () => {
  const id = await recorded();
  const { page } = await site.open(`/sessions/${id}`, { key });
  await openActions(page);
  await press(page, 'Redact a text…');
  const field = dialog(page).getByLabel('Text');
  await field.fill('abc');
  await press(page, 'Redact');
  await dialog(page).locator('.fault').getByText('4').waitFor();
  await field.fill('hunter-3');
  await press(page, 'Redact');
  await dialog(page).getByText('the session does not have this text').waitFor();
  await field.fill('hunter-2');
  await press(page, 'Redact');
  await page.getByText('2 texts changed, in 2 events.').waitFor();
  expect(await stored(id)).not.toContain('hunter-2');
});

test('a message is redacted with all its events, and those between them of another message stay', async () => {
  const id = await recorded();
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  await press(page, 'event 1');
  await press(page, 'Redact this entry…');
  await dialog(page).getByText('Every text in this entry').waitFor();
  await isGood(page, 'redaction-events');
  await press(page, 'Redact');
  await page.getByText('2 texts changed, in 2 events.').waitFor();
  await row(page, 1).getByText('[redacted][redacted]').waitFor();
  await row(page, 2).getByText('Nothing to see').waitFor();
  await row(page, 5).getByText('Again hunter-2').waitFor();
  await press(page, 'event 5');
  await press(page, 'Redact this entry…');
  await press(page, 'Redact');
  await page.getByText('1 text changed, in 1 event.').waitFor();
  expect(await stored(id)).not.toContain('hunter-2');
  expect(problems).toEqual([]);
});

test('a mark over several rows redacts the events of these rows', async () => {
  const id = await recorded();
  const { page } = await site.open(`/sessions/${id}`, { key });
  await row(page, 5).getByText('Again hunter-2').waitFor();
  await mark(row(page, 2), 'Nothing', row(page, 5));
  await press(page, 'Redact these 2 entries…');
  await press(page, 'Redact');
  await page.getByText('3 texts changed, in 3 events.').waitFor();
  await row(page, 1).getByText('The password is hunter-2 today').waitFor();
  await expect.poll(() => row(page, 5).locator('p.text').textContent()).toBe('[redacted]');
});

test('a session that becomes held says so, and then offers no redaction; nor to who can only read it', async () => {
  const id = await recorded();
  const { page } = await site.open(`/sessions/${id}`, { key });
  await openActions(page);
  await press(page, 'Redact a text…');
  await dialog(page).getByLabel('Text').fill('hunter-2');
  await page.route('**/graphql', async (route) => {
    if (/redactSessionEvents/.test(route.request().postData() ?? ''))
      await mutate(site, key, 'holdSession', { sessionId: id, reason: 'Case 14' });
    await route.continue();
  });
  await press(page, 'Redact');
  await page.getByText('Case 14').first().waitFor();
  await expect.poll(() => button(page, 'Redact a text…').count()).toBe(0);
  expect(await stored(id)).toContain('hunter-2');

  await mutate(site, key, 'releaseSession', { sessionId: id });
  const member = await site.createKey({ organization, role: 'member' });
  const other = await site.open(`/sessions/${id}`, { key: member.key });
  await row(other.page, 5).getByText('Again hunter-2').waitFor();
  await mark(row(other.page, 1), 'hunter-2');
  await press(other.page, 'event 1');
  await other.page.locator('.raw pre').waitFor();
  expect(await other.page.getByRole('button', { name: /Redact/ }).count()).toBe(0);
});

test('a session with too many events for a text says what to do instead', async () => {
  const id = await recorded();
  await site.dependencies.sql.query(
    `insert into session_event (organization_id, session_id, id, event_type, provider, event_data, created_at)
     select organization_id, session_id, g, event_type, provider, event_data, created_at
     from session_event, generate_series(6, 100006) g where session_id = $1 and session_event.id = 4`,
    [id],
  );
  const { page } = await site.open(`/sessions/${id}`, { key });
  await openActions(page);
  await press(page, 'Redact a text…');
  await dialog(page).getByLabel('Text').fill('hunter-2');
  await press(page, 'Redact');
  await dialog(page).getByText('too many events to redact a text everywhere').waitFor();
  expect(await stored(id)).toContain('hunter-2');
});
