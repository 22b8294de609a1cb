import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { indexSessions } from '../../src/domains/session-events/search-index.ts';
import { append, createSession, moveTo } from '../support/fixtures/sessions.ts';
import { isAtRest, startSite } from '../support/processes/browser.ts';
import { full, proof, timed } from '../support/proof.ts';

/** Reading a session: following it, jumping in it and searching it. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const { key } = await site.createKey();

const said = (text: string, id: string) => ({
  eventType: 'stream_event',
  provider: 'anthropic',
  eventData: { type: 'x', deltaType: 'text_delta', itemId: id, accumulatedText: text, source: 'assistant' },
});
const failed = (text: string) => ({
  eventType: 'session',
  provider: 'anthropic',
  eventData: { type: 'runner_error', source: 'runner', message: text },
});

/** A session with messages that are numbered like their events. */
async function sessionOf(count: number, from = 1): Promise<string> {
  const id = await createSession(site, key, { title: 'Read' });
  await moveTo(site, key, id, 'IN_PROGRESS');
  await say(id, count, from);
  return id;
}

async function say(id: string, count: number, from: number): Promise<void> {
  for (let start = 0; start < count; start += 1000) {
    const numbers = Array.from({ length: Math.min(1000, count - start) }, (_, index) => from + start + index);
    await append(
      site,
      key,
      id,
      numbers.map((number) => said(`message ${number}`, `item ${number}`)),
    );
  }
}

const isLive = (page: Page) => page.getByText('Live: new events appear by themselves.').waitFor();
const row = (page: Page, number: number) => page.locator(`#event-${number}`);
/** Where a row is in the window; undefined if it is not there. */
const topOf = async (page: Page, number: number) => {
  const box = await row(page, number).boundingBox();
  return box && box.y >= 0 && box.y + box.height <= (page.viewportSize()?.height ?? 0) ? Math.round(box.y) : undefined;
};
const rests = (page: Page, number: number) => isAtRest(row(page, number));
const isInView = (page: Page, number: number) => expect.poll(() => topOf(page, number)).toBeDefined();

describe('a live timeline', () => {
  test('stays at its end when it is there, else it stays where it is and counts new events', async () => {
    const id = await sessionOf(60);
    const { page, problems } = await site.open(`/sessions/${id}`, { key });
    await isLive(page);
    await isInView(page, 60);
    await say(id, 20, 61);
    await isInView(page, 80);

    await row(page, 30).scrollIntoViewIfNeeded();
    await expect.poll(() => page.getByRole('button', { name: 'Latest events' }).count()).toBe(1);
    await rests(page, 30);
    const before = await topOf(page, 30);
    await say(id, 2, 81);
    await page.getByRole('button', { name: '2 new events' }).waitFor();
    await expect.poll(() => topOf(page, 30)).toBe(before);
    await page.getByRole('button', { name: '2 new events' }).click();
    await isInView(page, 82);
    await expect.poll(() => page.getByRole('button', { name: /new events/ }).count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test('goes to the last event, and earlier events appear above without moving what is read', async () => {
    const id = await sessionOf(1000);
    const { page, problems } = await site.open(`/sessions/${id}#event-1`, { key });
    await page.getByText('message 1', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Latest events' }).click();
    await isInView(page, 1000);
    await page.evaluate(() => scrollTo(0, 0));
    const first = await page.locator('.item').first().getAttribute('id');
    const number = Number(first?.replace('event-', '')) + 2;
    await isInView(page, number);
    await rests(page, number);
    const before = await topOf(page, number);
    await page.getByRole('button', { name: 'Earlier events' }).evaluate((button) => (button as HTMLElement).click());
    await expect.poll(() => page.locator('.item').first().getAttribute('id')).not.toBe(first);
    // Heights of rows are not whole pixels.
    await expect.poll(async () => Math.abs(Number(await topOf(page, number)) - Number(before))).toBeLessThan(3);
    expect(problems).toEqual([]);
  });

  test('gives the focus of the button for earlier events to the row below it, when all are loaded', async () => {
    const id = await sessionOf(300);
    const { page, problems } = await site.open(`/sessions/${id}#event-290`, { key });
    await page.locator('.item.wanted', { hasText: 'message 290' }).waitFor();
    const first = page.locator(`#${await page.locator('.item').first().getAttribute('id')}`);
    // In view it loads by itself.
    await page.getByRole('button', { name: 'Earlier events' }).focus();
    await row(page, 1).waitFor();
    await expect.poll(() => first.locator(':focus').count()).toBe(1);
    expect(problems).toEqual([]);
  });

  test('scrolled from its beginning, it loads later events by itself and then follows', async () => {
    const id = await sessionOf(600);
    const { page } = await site.open(`/sessions/${id}#event-1`, { key });
    await page.getByText('message 1', { exact: true }).waitFor();
    for (const number of [250, 500]) {
      await rests(page, number);
      await row(page, number).scrollIntoViewIfNeeded();
    }
    await row(page, 600).waitFor();
    await isLive(page);
    await row(page, 600).scrollIntoViewIfNeeded();
    await page.mouse.wheel(0, 10_000);
    await expect.poll(() => page.getByRole('button', { name: 'Latest events' }).count()).toBe(0);
    await say(id, 1, 601);
    await isInView(page, 601);
  });
});

test('read from its beginning to its end, a long session keeps a bounded page, and each part of it is requested once', async () => {
  const count = full ? 100_000 : 6000;
  const id = await sessionOf(count);
  const context = await site.newContext({ key });
  const asked: string[] = [];
  context.on('request', (request) => asked.push(request.postData() ?? ''));
  const { page, problems } = await site.open(`/sessions/${id}#event-1`, {}, context);
  await page.getByText('message 1', { exact: true }).waitFor();
  // What the strip and the outline show is read once, a thousand events at a time.
  await page.locator('.strip-words', { hasText: `${count.toLocaleString('en')} messages` }).waitFor();
  const most = { rows: 0, nodes: 0 };
  const size = () =>
    page.evaluate(() => [document.querySelectorAll('.item').length, document.querySelectorAll('*').length]);
  const scroll = () => page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  const [, ms] = await timed(async () => {
    for (let last = 250; last <= count; last += 250) {
      // Rows get their heights when they come into view, so that the end moves away.
      await expect.poll(() => scroll().then(() => row(page, last).count())).toBe(1);
      const [rows = 0, nodes = 0] = await size();
      most.rows = Math.max(most.rows, rows);
      most.nodes = Math.max(most.nodes, nodes);
    }
    await isLive(page);
  });
  expect(most.rows).toBe(4000);
  expect(most.nodes).toBeLessThan(4000 * 20);
  const pages = asked.filter((text) => text.includes('query SessionEntries('));
  expect([pages.length, new Set(pages).size]).toEqual([count / 250, count / 250]);
  expect(problems).toEqual([]);
  const figures = {
    events: count,
    'most rows': most.rows,
    'most elements': most.nodes,
    requests: pages.length,
    'seconds of scrolling': (ms / 1000).toFixed(1),
  };
  proof('Long session in the console', { figures });
});

describe('an event', () => {
  test('is opened by a link, by its number, and after that by another one', async () => {
    const id = await sessionOf(1500);
    const { page, problems } = await site.open(`/sessions/${id}#event-700`, { key });
    await page.locator('.item.wanted', { hasText: 'message 700' }).waitFor();
    await isInView(page, 700);
    const jump = page.getByLabel('Event', { exact: true });
    await jump.fill('1400');
    await jump.press('Enter');
    await page.locator('.item.wanted', { hasText: 'message 1400' }).waitFor();
    await isInView(page, 1400);
    await page.evaluate(() => scrollTo(0, 0));
    await jump.press('Enter');
    await isInView(page, 1400);
    await page.goBack();
    await isInView(page, 700);
    expect(problems).toEqual([]);
  });

  test('that does not exist is said to be missing, with the latest events and without a replay of the session', async () => {
    const id = await sessionOf(1200);
    const context = await site.newContext({ key });
    const asked: string[] = [];
    context.on('request', (request) => asked.push(request.postData() ?? ''));
    const { page } = await site.open(`/sessions/${id}#event-999999`, {}, context);
    await page.getByText('Event 999999 does not exist (yet). These are the latest ones, up to event 1200.').waitFor();
    await isInView(page, 1200);
    await isLive(page);
    expect(await page.locator('.item').count()).toBeLessThan(300);
    expect(asked.filter((text) => text.includes('query SessionEntries('))).toHaveLength(2);
    await say(id, 1, 1201);
    await isInView(page, 1201);
  });

  test('has a label that names the event of its link, and nothing lies on it', async () => {
    const id = await sessionOf(1200);
    const result = { status: 'error', output: 'x', error: 'no', exitCode: 2 };
    const call = { eventType: 't', provider: 'p', eventData: { type: 't', itemId: 'c', toolName: 'Bash' } };
    await append(site, key, id, [call, { ...call, eventData: { ...call.eventData, toolResult: result } }]);
    for (const width of [1280, 390]) {
      const { page } = await site.open(`/sessions/${id}#event-1202`, { key, width });
      const item = row(page, 1201);
      await item.getByText('Failed').waitFor();
      await isInView(page, 1201);
      expect(await item.getByRole('link').getAttribute('href')).toBe(`/sessions/${id}#event-1201`);
      const button = item.getByRole('button', { name: 'event 1201' });
      await button.click();
      await item.getByText('"id": 1201').waitFor();
      // Both at the same moment, since rows may move.
      const isApart = await item.evaluate((element) => {
        const [label, badge] = ['.item-place button', '.badge'].map((each) =>
          element.querySelector(each)?.getBoundingClientRect(),
        );
        return label && badge && (label.right <= badge.left || label.bottom <= badge.top || badge.bottom <= label.top);
      });
      expect([width, isApart]).toEqual([width, true]);
    }
  });
});

describe('a failed session', () => {
  test('opens at its failure, whose reason is beside its state', async () => {
    const id = await sessionOf(700);
    await append(site, key, id, [failed('The disk is full.')]);
    await say(id, 300, 702);
    await moveTo(site, key, id, 'FAILED');
    const { page, problems } = await site.open(`/sessions/${id}`, { key });
    await page.locator('.session-head', { hasText: 'The disk is full.' }).waitFor();
    await page.locator('.item.wanted', { hasText: 'The disk is full.' }).waitFor();
    await isInView(page, 701);
    expect(problems).toEqual([]);
  });

  test('without a recorded error opens at its end', async () => {
    const id = await sessionOf(700);
    await moveTo(site, key, id, 'FAILED');
    const { page, problems } = await site.open(`/sessions/${id}`, { key });
    await isInView(page, 700);
    expect(problems).toEqual([]);
  });
});

describe('a search', () => {
  test('finds texts and errors of a whole session; what was found leads to its place', async () => {
    const id = await sessionOf(800);
    await append(site, key, id, [failed('The disk is full.')]);
    await say(id, 600, 802);
    while ((await indexSessions(site.dependencies.database.em)) > 0);
    const { page, problems } = await site.open(`/sessions/${id}#event-1`, { key });
    await page.getByText('message 1', { exact: true }).waitFor();
    await page.getByLabel('Errors only').check();
    await page.getByText('1 event found.').waitFor();
    await expect
      .poll(() => page.locator('.item').allTextContents())
      .toEqual([expect.stringContaining('The disk is full.')]);
    await page.getByLabel('Errors only').uncheck();
    await page.getByLabel('Search in the session').fill('MESSAGE 1111');
    await page.locator('.item', { hasText: 'message 1111' }).getByRole('link').click();
    await page.locator('.item.wanted', { hasText: 'message 1111' }).waitFor();
    await isInView(page, 1111);
    await expect.poll(() => page.getByLabel('Search in the session').inputValue()).toBe('');
    await page.getByLabel('Search in the session').fill('nowhere');
    await page.getByText('No event has this text.').waitFor();
    await page.waitForURL((url) => url.searchParams.get('text') === 'nowhere');
    expect(problems).toEqual([]);
  });

  test('shows the result of a tool with its call, whichever of them was found', async () => {
    const id = await sessionOf(0);
    const tool = (data: object) => ({
      eventType: 'x',
      provider: 'p',
      eventData: { type: 'x', itemId: 'call', toolName: 'Bash', ...data },
    });
    await append(site, key, id, [
      tool({
        deltaType: 'input_json_delta',
        accumulatedText: '{"command":"npm run build"}',
        toolResult: { status: 'running' },
      }),
      said('meanwhile', 'other'),
      tool({ toolResult: { status: 'error', error: 'disk full' } }),
    ]);
    while ((await indexSessions(site.dependencies.database.em)) > 0);
    const { page, problems } = await site.open(`/sessions/${id}?errors=yes`, { key });
    const items = page.locator('.item');
    const whole = [expect.stringMatching(/Bash.*npm run build.*disk full/s)];
    await expect.poll(() => items.allTextContents()).toEqual(whole);
    await page.getByText('1 event found.').waitFor();
    await page.getByLabel('Errors only').uncheck();
    for (const text of ['bash', 'build', '"disk full"']) {
      const answered = page.waitForResponse((answer) =>
        (answer.request().postData() ?? '').includes(`"search":${JSON.stringify(text)}`),
      );
      await page.getByLabel('Search in the session').fill(text);
      await answered;
      await expect.poll(() => items.allTextContents()).toEqual(whole);
    }
    expect(problems).toEqual([]);
  });
});
