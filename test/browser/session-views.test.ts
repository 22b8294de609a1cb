import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { indexSessions } from '../../src/domains/session-events/search-index.ts';
import { append, createSession, moveTo } from '../support/fixtures/sessions.ts';
import { VIEWS, accessibilityFindings, overflowOf, saveScreenshot, startSite } from '../support/processes/browser.ts';

/** The figures of a session, the files that it has changed, and the pictures that its tools have returned. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const { key } = await site.createKey();

const HOSTILE = '<img src=x onerror=alert(1)>\u202E';
const START = Date.UTC(2026, 0, 1, 12);
let second = 0;
const event = (eventData: object) => ({
  eventType: 'x',
  provider: 'p',
  createdAt: new Date(START + (second += 2) * 1000).toISOString(),
  eventData: { type: 'x', ...eventData },
});

/** A call with its end two seconds later. */
function call(name: string, input: object, end: object = {}, more: object = {}): object[] {
  const itemId = `call ${second}`;
  const began = { itemId, toolName: name, deltaType: 'input_json_delta', accumulatedText: JSON.stringify(input) };
  const result = { status: 'completed', output: 'done', ...end };
  return [
    event({ ...began, toolResult: { status: 'running' } }),
    event({ source: 'tool', itemId, toolName: name, toolResult: result, ...more }),
  ];
}

/** A subagent that calls a tool twice, once without success, within ten seconds. */
function subagent(description: string): object[] {
  const itemId = `subagent ${second}`;
  const began = { itemId, toolName: 'Task', accumulatedText: JSON.stringify({ description }) };
  const scope = { kind: 'subagent', parentToolUseId: itemId };
  return [
    event({ ...began, toolResult: { status: 'running' } }),
    event({ scope, toolName: 'Grep', toolResult: { status: 'completed' } }),
    event({ scope, toolName: 'Grep', toolResult: { status: 'error' } }),
    event({ scope, source: 'assistant', accumulatedText: 'Two callers.', usage: { durationMs: 1000 } }),
    event({ scope, itemId: 'own', toolName: 'Bash', toolResult: { status: 'running' } }),
    event({ itemId, toolName: 'Task', toolResult: { status: 'completed', output: 'Two callers.' } }),
  ];
}

async function recorded(events: object[]): Promise<string> {
  const id = await createSession(site, key, { title: 'With figures' });
  await moveTo(site, key, id, 'IN_PROGRESS');
  await append(site, key, id, events);
  while ((await indexSessions(site.dependencies.database.em)) > 0);
  return id;
}

const edit = (path: string, before: string, after: string, end?: object) =>
  call('Edit', { file_path: path, old_string: before, new_string: after }, end);

const isGood = async (page: Page, name: string) => {
  await saveScreenshot(page, name);
  expect([name, await accessibilityFindings(page), await overflowOf(page)]).toEqual([name, [], 0]);
};

test.each(VIEWS)(
  '%s: figures have the calls, failures and time of each tool, and cost and tokens as they grew',
  async (name, view) => {
    const id = await recorded([
      ...call('Bash', {}),
      ...call('Bash', {}, { status: 'error', error: 'no' }),
      event({ usage: { inputTokens: 1000, outputTokens: 500, costUsd: 0.25, model: 'model-1' } }),
      ...call(HOSTILE, {}),
      ...call('mcp__tracker__create_comment', {}),
      event({ usage: { inputTokens: 500, costUsd: 0.5, model: 'model-2' } }),
      ...subagent('Look for callers'),
    ]);
    const { page, problems } = await site.open(`/sessions/${id}?view=figures`, { ...view, key });
    const rows = page.getByRole('region', { name: 'Tools' }).getByRole('row');
    await expect
      .poll(async () => (await rows.allTextContents()).map((text) => text.replaceAll(/\s+/g, ' ').trim()))
      .toEqual([
        'ToolCallsFailedTime',
        'Bash214 s',
        'Grep21',
        '<img src=x onerror=alert(1)>[U+202E]12 s',
        'mcp__tracker__create_comment12 s',
        'Task110 s',
      ]);
    // Names are whole, and every column is in view.
    const hidden = (element: Element) => element.scrollWidth - element.clientWidth;
    const names = await rows.getByRole('rowheader').all();
    const measured = [page.getByRole('region', { name: 'Tools' }), ...names].map((each) => each.evaluate(hidden));
    expect(await Promise.all(measured)).toEqual([0, 0, 0, 0, 0, 0]);
    const subagents = page.getByRole('region', { name: 'Subagents' }).getByRole('row');
    expect((await subagents.allTextContents()).map((text) => text.replaceAll(/\s+/g, ' ').trim())).toEqual([
      'SubagentTimeCallsErrors',
      'Look for callers10 s21',
    ]);
    const cost = page.getByRole('group', { name: 'Cost over the session. $0.75 at its end.' });
    await cost.getByRole('img').last().focus();
    await page.keyboard.press('Home');
    await page.getByText(/^Until .*: \$0\.00$/).waitFor();
    await page.getByText('As a table').first().click();
    const costs = page.getByRole('table', { name: 'Cost over the session, as a table' });
    await expect.poll(() => costs.locator('td.number').allTextContents()).toContain('$0.25');
    await expect.poll(() => page.locator('.chips li').allTextContents()).toEqual(['model-1', 'model-2']);
    await isGood(page, `session-figures-${name}`);
    await rows.nth(1).getByRole('link', { name: '1', exact: true }).click();
    await page.locator('#event-3.wanted').waitFor();
    expect(await page.locator('#event-3 summary').textContent()).toMatch(/Bash\s*2 s/);
    await page.locator('.item', { hasText: 'Bash' }).locator('.badge', { hasText: 'Running' }).waitFor();
    expect(problems).toEqual([]);
  },
);

test.each(VIEWS)('%s: the changes of a file are together, without those of calls that failed', async (name, view) => {
  const id = await recorded([
    ...edit('src/a.ts', 'one', 'two'),
    ...edit('src/b.ts', 'x', 'y', { status: 'error', error: 'The text is not there.' }),
    ...call('Write', { file_path: HOSTILE, content: 'a\nb' }),
    ...edit('src/a.ts', 'three', 'four'),
    ...call('Read', { file_path: 'src/c.ts' }),
  ]);
  const { page, problems } = await site.open(`/sessions/${id}?view=files`, { ...view, key });
  await page.getByText('2 files changed by 3 edits:').waitFor();
  const files = page.locator('details.file');
  await expect
    .poll(async () =>
      (await files.locator('summary').allTextContents()).map((text) => text.replaceAll(/\s+/g, ' ').trim()),
    )
    .toEqual(['src/a.ts +2 −2', '<img src=x onerror=alert(1)>[U+202E] +2 −0']);
  await expect
    .poll(() => files.first().locator('.diff span').allTextContents())
    .toEqual(['-one\n', '+two\n', '-three\n', '+four\n']);
  await isGood(page, `session-files-${name}`);
  await files.first().getByRole('link', { name: 'event 7' }).click();
  await page.locator('.item.wanted', { hasText: 'src/a.ts' }).waitFor();
  expect(problems).toEqual([]);
});

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const screenshot = (mediaType: string, data: string) => {
  const block = { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
  const message = JSON.stringify({ message: { content: [{ type: 'tool_result', content: [block] }] } });
  const line = { providerEvent: true, event: { event: 'user', message } };
  return call('Screenshot', {}, { output: `[image ${mediaType}]` }, line);
};

test('a picture that a tool returns is shown from the bytes in its event; other types and broken ones are not', async () => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>').toString('base64');
  const id = await recorded([
    ...screenshot('image/png', PNG),
    ...call('Read', {}),
    ...call('Read', {}),
    ...screenshot('image/svg+xml', svg),
    ...call('Read', {}),
    ...call('Read', {}),
    ...screenshot('image/png', 'AAAA'),
  ]);
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  const shown = async (number: number) => {
    const row = page.locator(`#event-${number}`);
    await row.locator('summary').click();
    await row.getByRole('button', { name: 'Show the picture' }).click();
    return row;
  };
  const picture = (await shown(1)).getByRole('img', { name: 'Picture 1 of event 2' });
  await expect.poll(() => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBe(1);
  for (const number of [7, 13]) await (await shown(number)).getByText('The picture cannot be shown.').waitFor();
  expect(await page.locator('.items img').count()).toBe(1);
  await isGood(page, 'session-pictures');
  expect(problems).toEqual([]);
});
