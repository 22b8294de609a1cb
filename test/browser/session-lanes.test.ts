import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { append, createSession, moveTo } from '../support/fixtures/sessions.ts';
import {
  VIEWS,
  accessibilityFindings,
  isAtRest,
  overflowOf,
  saveScreenshot,
  startSite,
} from '../support/processes/browser.ts';

/** The subagents of a session as lanes under its strip. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const { key } = await site.createKey();

const START = Date.UTC(2026, 0, 1, 12);
const event = (second: number, eventData: object) => ({
  eventType: 'x',
  provider: 'p',
  createdAt: new Date(START + second * 1000).toISOString(),
  eventData: { type: 'x', ...eventData },
});
const within = (parentToolUseId: string | undefined) =>
  parentToolUseId === undefined ? {} : { scope: { kind: 'subagent', parentToolUseId } };
const started = (second: number, itemId: string, description: string, parent?: string) =>
  event(second, {
    itemId,
    toolName: 'Task',
    accumulatedText: JSON.stringify({ description }),
    toolResult: { status: 'running' },
    ...within(parent),
  });
const ended = (second: number, itemId: string, status = 'completed', parent?: string) =>
  event(second, { itemId, toolResult: { status }, ...within(parent) });
const called = (second: number, status: string, parent: string) =>
  event(second, { toolName: 'Bash', toolResult: { status }, ...within(parent) });

const HOSTILE = '<img src=x onerror=alert(1)> \u202Egnp.exe';

async function recorded(events: readonly object[]): Promise<string> {
  const id = await createSession(site, key, { title: 'With subagents' });
  await moveTo(site, key, id, 'IN_PROGRESS');
  await append(site, key, id, events);
  return id;
}

/** Two subagents at the same time, one of which starts a third one that fails. */
const NESTED = [
  event(0, { source: 'user', accumulatedText: 'Do it' }),
  started(60, 'a', HOSTILE),
  started(61, 'b', 'Watch the tests'),
  called(120, 'completed', 'a'),
  started(180, 'c', 'Look deeper', 'a'),
  called(240, 'error', 'c'),
  called(300, 'completed', 'b'),
  ended(360, 'c', 'error', 'a'),
  ended(420, 'a'),
  ended(600, 'b'),
  event(660, { source: 'assistant', accumulatedText: 'Done' }),
];

const lanes = (page: Page) => page.getByRole('region', { name: 'Subagents' });
/** The places of the bars, from 0 to 1. */
const barsOf = (page: Page) =>
  lanes(page)
    .locator('rect')
    .evaluateAll((bars) =>
      bars.map((bar) => [Number(bar.getAttribute('x')), Number(bar.getAttribute('width'))].map((at) => at / 1000)),
    );

test.each(VIEWS)('%s: each subagent is a lane with its time, what happened and who started it', async (name, view) => {
  const id = await recorded(NESTED);
  const { page, problems } = await site.open(`/sessions/${id}`, { ...view, key });
  await lanes(page).getByText('Look deeper').waitFor();
  const links = await lanes(page).getByRole('link').allTextContents();
  expect(links.map((text) => text.replaceAll(/\s+/g, ' ').replaceAll(/\d\d:\d\d/g, 'TIME'))).toEqual([
    '<img src=x onerror=alert(1)> [U+202E]gnp.exe, TIME to TIME, 2 tool calls · 1 error 1 error',
    '› Look deeper, TIME to TIME, 1 tool call · 2 errors, started by <img src=x onerror=alert(1)> [U+202E]gnp.exe 2 errors',
    'Watch the tests, TIME to TIME, 1 tool call',
  ]);
  const [outer, inner, other] = await barsOf(page);
  const ends = [outer, inner, other].map(([x = 0, width = 0] = []) => x + width);
  expect(inner?.[0]).toBeGreaterThan(outer?.[0] ?? 1);
  expect(ends[1]).toBeLessThan(ends[0] ?? 0);
  expect(ends[0]).toBeLessThan(ends[2] ?? 0);
  await saveScreenshot(page, `session-lanes-${name}`);
  expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
  await lanes(page).getByRole('link', { name: 'Look deeper' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('#event-5.wanted').waitFor();
  expect(problems).toEqual([]);
});

test('many subagents are folded; the first are lanes, the others are counted, and deep nesting keeps the names in view', async () => {
  const count = 40;
  const ids = Array.from({ length: count }, (_, index) => `task-${index}`);
  const id = await recorded([
    ...ids.map((task, index) => started(index, task, `Level ${index}`, ids[index - 1])),
    ...ids.map((task, index) => called(100 + index, index === 20 ? 'error' : 'completed', task)),
  ]);
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  await lanes(page).getByText('40 subagents, 1 of them with errors').click();
  await lanes(page).getByText('28 further subagents, 1 of them with errors: see the outline.').waitFor();
  const names = await lanes(page).locator('.lane-name').allTextContents();
  expect(names).toEqual(Array.from({ length: 12 }, (_, index) => `${'› '.repeat(Math.min(index, 4))}Level ${index}`));
  expect(await page.locator('.contents li').count()).toBe(count);
  expect(await overflowOf(page)).toBe(0);
  expect(problems).toEqual([]);
});

test('a lane grows while its subagent is recorded, and goes on as the same one', async () => {
  const id = await recorded([started(0, 'a', 'Long work'), called(10, 'completed', 'a')]);
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  await lanes(page).getByText('1 tool call').waitFor();
  await page.getByText('Live: new events appear by themselves.').waitFor();
  await append(site, key, id, [called(20, 'error', 'a'), called(30, 'completed', 'a')]);
  await lanes(page).getByText('3 tool calls · 1 error').first().waitFor();
  expect(await lanes(page).getByRole('link').count()).toBe(1);
  expect(await page.locator('.contents li').count()).toBe(1);
  expect(problems).toEqual([]);
});

describe('lanes that appear above a timeline that was drawn before', () => {
  /** Three subagents with a call each, and messages. */
  const windowOf = (messages: number) => [
    ...['a', 'b', 'c'].flatMap((id, at) => [started(at, id, `Part ${id}`), called(at, 'completed', id)]),
    ...Array.from({ length: messages }, (_, index) =>
      event(10 + index, { itemId: `m${index}`, source: 'assistant', accumulatedText: `message ${index}` }),
    ),
  ];
  /** Waits until the row moves no more. @returns where it is */
  const restOf = async (page: Page, number: number) => {
    const row = page.locator(`#event-${number}`);
    await isAtRest(row);
    return row.evaluate((element) => Math.round(element.getBoundingClientRect().top));
  };
  /** Opens a session whose subagents are read only when `draw` is called. */
  const openBefore = async (address: string) => {
    const context = await site.newContext({ key });
    const drawn = Promise.withResolvers<void>();
    await context.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('SessionOutline')) await drawn.promise;
      await route.continue();
    });
    const { page } = await site.open(address, {}, context);
    const draw = async () => {
      drawn.resolve();
      await lanes(page).getByRole('link').nth(2).waitFor();
    };
    return { page, draw };
  };

  test('leave a running session of about one window at its end', async () => {
    for (const messages of [3, 4, 5]) {
      const id = await recorded(windowOf(messages));
      const { page, draw } = await openBefore(`/sessions/${id}`);
      await restOf(page, messages + 6);
      await draw();
      await restOf(page, messages + 6);
      const below = await page
        .locator('.timeline')
        .evaluate((section) => Math.ceil(section.getBoundingClientRect().bottom) - innerHeight);
      expect([messages, below <= 0, await page.getByRole('button', { name: 'Latest events' }).count()]).toEqual([
        messages,
        true,
        0,
      ]);
    }
  });

  test('leave the event of a link where it is', async () => {
    const id = await recorded(windowOf(40));
    for (const number of [5, 9, 30]) {
      const { page, draw } = await openBefore(`/sessions/${id}#event-${number}`);
      const before = await restOf(page, number);
      await draw();
      expect([number, await restOf(page, number)]).toEqual([number, before]);
    }
  });
});
