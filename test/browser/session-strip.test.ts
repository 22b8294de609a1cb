import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { append, createSession, moveTo, mutate } from '../support/fixtures/sessions.ts';
import {
  VIEWS,
  accessibilityFindings,
  isAtRest,
  overflowOf,
  saveScreenshot,
  startSite,
} from '../support/processes/browser.ts';
import { full } from '../support/proof.ts';

/** The strip over a timeline and the outline beside it. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const { key } = await site.createKey();

const START = Date.UTC(2026, 0, 1, 12);
const at = (index: number) => new Date(START + index * 1000).toISOString();
const event = (index: number, eventData: object) => ({
  eventType: 'x',
  provider: 'p',
  createdAt: at(index),
  eventData: { type: 'x', ...eventData },
});
const said = (index: number, text: string) =>
  event(index, { source: 'user', deltaType: 'text_delta', itemId: `u${index}`, accumulatedText: text });
const ended = (index: number, status = 'completed', more: object = {}) =>
  event(index, { source: 'tool', itemId: `t${index}`, toolName: 'Bash', toolResult: { status, output: 'x' }, ...more });

const HOSTILE = '<img src=x onerror=alert(1)> \u202Egnp.exe';

/** A session with two turns, a subagent, and failures at the events 30 and 45. */
async function recorded(): Promise<string> {
  const id = await createSession(site, key, { title: 'With an outline' });
  await moveTo(site, key, id, 'IN_PROGRESS');
  const call = { itemId: 'task', toolName: 'Task', accumulatedText: JSON.stringify({ description: HOSTILE }) };
  const scope = { kind: 'subagent', parentToolUseId: 'task' };
  const events = [
    said(1, `First turn ${HOSTILE}`),
    event(2, { source: 'assistant', ...call, toolResult: { status: 'running' } }),
    ended(3, 'completed', { scope }),
    ...Array.from({ length: 36 }, (_, index) => ended(4 + index, index === 26 ? 'error' : 'completed')),
    said(40, 'Second turn'),
    // After a pause.
    ...Array.from({ length: 20 }, (_, index) => ended(90_000 + index, index === 4 ? 'error' : 'completed')),
  ];
  await append(site, key, id, events);
  return id;
}

const strip = (page: Page) => page.getByRole('slider', { name: 'Place in the session' });
const outline = (page: Page) => page.getByRole('navigation', { name: 'Outline' });
const isWanted = (page: Page, id: number) => page.locator(`#event-${id}.wanted`).waitFor();

test.each(VIEWS)('%s: the strip and the outline lead to turns, subagents and failures', async (name, view) => {
  const id = await recorded();
  const { page, problems } = await site.open(`/sessions/${id}`, { ...view, key });
  await page.locator('.strip-words', { hasText: '57 tool calls' }).waitFor();
  await expect
    .poll(async () => (await page.locator('.strip-words').textContent())?.replaceAll(/\s+/g, ' '))
    .toMatch(/2 messages ?57 tool calls ?2 failed tool calls/);
  // It appears above the outline.
  await page.locator('.lane-name').waitFor();
  await isAtRest(page.locator('.contents'));
  const fold = page.locator('.contents summary');
  if (await fold.isVisible()) await fold.click();
  const entries = outline(page).getByRole('listitem');
  const texts = async () => (await entries.allTextContents()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
  await expect
    .poll(texts)
    .toEqual([
      expect.stringMatching(/^User First turn .*· 37 tool calls · 1 error$/),
      expect.stringMatching(/^Subagent <img src=x onerror=alert\(1\)> \[U\+202E\]gnp\.exe ?\d\d:\d\d · 1 tool call$/),
      expect.stringMatching(/^User Second turn.* · 20 tool calls · 1 error$/),
    ]);
  await saveScreenshot(page, `session-strip-${name}`);
  expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
  await outline(page).getByRole('link', { name: 'Second turn' }).click();
  await isWanted(page, 40);
  await outline(page).locator('[aria-current]', { hasText: 'Second turn' }).waitFor();
  // A click at the right end of the row of failures.
  const box = await strip(page).boundingBox();
  await strip(page).click({ position: { x: 2, y: 5 } });
  await isWanted(page, 1);
  expect(box?.height).toBeGreaterThan(25);
  expect(problems).toEqual([]);
});

test('the strip is used with the keyboard: event by event, to both ends, and from failure to failure', async () => {
  const id = await recorded();
  const { page, problems } = await site.open(`/sessions/${id}#event-1`, { key });
  await isWanted(page, 1);
  await strip(page).focus();
  for (const [press, wanted, words] of [
    ['PageDown', 30, 'event 30: 1 tool call, 1 failure'],
    ['PageDown', 45, 'event 45: 1 tool call, 1 failure'],
    ['PageUp', 30, 'event 30: 1 tool call, 1 failure'],
    ['ArrowRight', 31, 'event 31: 1 tool call'],
    ['End', 60, 'event 60: 1 tool call'],
    ['Home', 1, 'event 1: 1 message'],
  ] as const) {
    await page.keyboard.press(press);
    await isWanted(page, wanted);
    await expect.poll(() => strip(page).getAttribute('aria-valuetext')).toContain(words);
  }
  await expect.poll(() => strip(page).evaluate((each) => each === document.activeElement)).toBe(true);
  expect(problems).toEqual([]);
});

test('the strip of a long session has a bounded number of marks, and leads into its middle', async () => {
  const count = full ? 100_000 : 6000;
  const id = await createSession(site, key, { title: 'Long' });
  await moveTo(site, key, id, 'IN_PROGRESS');
  for (let start = 0; start < count; start += 1000)
    await append(
      site,
      key,
      id,
      Array.from({ length: 1000 }, (_, index) =>
        ended(start + index, (start + index) % 500 === 499 ? 'error' : 'completed'),
      ),
    );
  const { page, problems, requested } = await site.open(`/sessions/${id}`, { key });
  await expect.poll(() => strip(page).getAttribute('aria-valuemax')).toBe(String(count));
  await page.locator('.strip-words', { hasText: `${count / 500} failed tool calls` }).waitFor();
  expect(await page.locator('.strip rect').count()).toBeLessThan(3 * 241);
  const { width = 0 } = (await strip(page).boundingBox()) ?? {};
  await strip(page).click({ position: { x: width / 2, y: 15 } });
  const wanted = page.locator('.item.wanted');
  await wanted.waitFor();
  const place = Number((await wanted.getAttribute('id'))?.replace('event-', ''));
  expect(place).toBeGreaterThan(count * 0.45);
  expect(place).toBeLessThan(count * 0.55);
  // The strip needs a request for 46,000 events, beside those of the session and of the events of two places.
  expect(requested.filter((url) => url.endsWith('/graphql')).length).toBeLessThan(count / 46_000 + 10);
  expect(problems).toEqual([]);
});

test('the outline follows a session that is being recorded, also while it is read', async () => {
  const id = await createSession(site, key, { title: 'Running' });
  await moveTo(site, key, id, 'IN_PROGRESS');
  await append(site, key, id, [said(1, 'The beginning')]);
  const { page, problems } = await site.open(`/sessions/${id}`, { key, width: 1920 });
  await page.getByText('Live: new events appear by themselves.').waitFor();
  await outline(page).getByRole('link', { name: 'The beginning' }).waitFor();
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const PART = /query SessionOutlinePart/;
  await page.route('**/graphql', async (route) => {
    if (!PART.test(route.request().postData() ?? '')) return route.continue();
    const response = await route.fetch();
    asked.resolve();
    await answered.promise;
    return route.fulfill({ response });
  });
  await mutate(site, key, 'updateSession', { sessionId: id, title: 'Still running' });
  await asked.promise;
  await append(site, key, id, [
    ended(2, 'error'),
    said(3, 'Go on'),
    event(4, { usage: { inputTokens: 1200, costUsd: 0.5, model: 'model-7' } }),
  ]);
  // The session was loaded again, but what is recorded now is not in the answer that is awaited.
  await page.getByLabel('Totals').getByText('$0.50').waitFor();
  answered.resolve();
  await outline(page).getByRole('link', { name: 'Go on' }).waitFor();
  // What happens before the next turn belongs to the last one.
  const beginning = outline(page).getByRole('listitem').filter({ hasText: 'The beginning' });
  await beginning.getByText('1 tool call · 1 error').waitFor();
  await page.getByLabel('Totals').getByText('model-7').waitFor();
  expect(problems).toEqual([]);
});
