import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { AGENT_LINES, ODD_LINES } from '../support/fixtures/agent-lines.ts';
import { REPOSITORY_ID, append, createSession, moveTo, mutate } from '../support/fixtures/sessions.ts';
import {
  VIEWS,
  accessibilityFindings,
  overflowOf,
  saveScreenshot,
  startSite,
  openActions,
  openDetails,
} from '../support/processes/browser.ts';

/** The page of a session, around and in its timeline. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const { key, organization, email } = await site.createKey();

async function recordLines(id: string, format: string, lines: readonly string[]): Promise<void> {
  const answer = await site.rest('POST', `/v1/sessions/${id}/events`, {
    key,
    body: lines.join('\n'),
    headers: { 'Content-Type': `application/x-ndjson; format=${format}` },
  });
  expect([answer.status, answer.body]).toEqual([201, expect.anything()]);
}

async function recordedSession(format: keyof typeof AGENT_LINES, ...more: readonly string[]): Promise<string> {
  const id = await createSession(site, key, { title: `A run of ${format}` });
  await moveTo(site, key, id, 'IN_PROGRESS');
  await recordLines(id, format, [...AGENT_LINES[format], ...more]);
  return id;
}

const isLive = (page: Page) => page.getByText('Live: new events appear by themselves.').waitFor();
const EDIT = JSON.stringify({
  type: 'assistant',
  message: {
    id: 'msg_9',
    content: [
      {
        type: 'tool_use',
        id: 'toolu_9',
        name: 'Edit',
        input: { file_path: 'src/cart.ts', old_string: 'return total - 10;', new_string: 'return total * 0.9;' },
      },
    ],
  },
});
const IMAGE = JSON.stringify({
  type: 'user',
  message: { content: [{ type: 'image', title: 'receipt.png', source: { type: 'base64', data: 'AAAA' } }] },
});

test('a timeline shows who speaks, thinking folded, subagents, changes of files, and images by name', async () => {
  const id = await recordedSession('claude', EDIT, IMAGE);
  for (const [view, options] of VIEWS) {
    const { page, problems } = await site.open(`/sessions/${id}`, { ...options, key });
    await isLive(page);
    const shown = (text: string) => page.locator('.item', { hasText: text }).last();
    const speakers = page.locator('.item .speaker');
    await expect
      .poll(async () => [...new Set(await speakers.allTextContents())].toSorted())
      .toEqual(['Agent', 'Subagent', 'System', 'Tool', 'User']);
    const thinking = shown('The total is wrong.');
    expect(await thinking.locator('p.text').isVisible()).toBe(false);
    await thinking.getByText('Thinking', { exact: true }).click();
    await thinking.locator('p.text').waitFor();
    const subagent = page.locator('.item.delegated', { hasText: 'Two callers.' }).first();
    expect(await subagent.getByRole('link', { name: 'Task' }).getAttribute('href')).toMatch(/#event-10$/);
    const changes = page.getByLabel('Changes of src/cart.ts');
    await expect
      .poll(() => changes.locator('span').allTextContents())
      .toEqual(['-return total - 10;\n', '+return total * 0.9;\n']);
    expect(await shown('receipt.png').locator('.speaker').textContent()).toBe('User');
    await saveScreenshot(page, `session-of-an-agent-${view}`);
    expect([await accessibilityFindings(page), await overflowOf(page), problems]).toEqual([[], 0, []]);
  }
});

test.each(Object.keys(AGENT_LINES) as (keyof typeof AGENT_LINES)[])(
  '%s: odd lines of an agent are rows like others',
  async (format) => {
    const id = await recordedSession(format);
    await recordLines(id, format, ODD_LINES);
    const { page, problems } = await site.open(`/sessions/${id}`, { key });
    await isLive(page);
    await page.getByText('npm warn deprecated left-pad@1.0.0').first().waitFor();
    expect(await page.getByText('This event cannot be shown').count()).toBe(0);
    expect([problems, await overflowOf(page)]).toEqual([[], 0]);
  },
);

test('title and state stay in view, and follow changes of others', async () => {
  const id = await recordedSession('claude', ...Array.from({ length: 60 }, (_, index) => `line ${index}`));
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  await isLive(page);
  await page.locator('.item').last().scrollIntoViewIfNeeded();
  const title = page.getByRole('heading', { level: 1 });
  await expect.poll(async () => (await title.boundingBox())?.y).toBeLessThan(60);
  await mutate(site, key, 'updateSession', { sessionId: id, title: 'Another title' });
  await page.getByRole('heading', { name: 'Another title', level: 1 }).waitFor();
  await moveTo(site, key, id, 'COMPLETED');
  await page.locator('.session-head').getByText('Completed').waitFor();
  await openDetails(page);
  await page.getByText('Finished', { exact: true }).waitFor();
  await moveTo(site, key, id, 'QUEUED', 'IN_PROGRESS');
  await isLive(page);
  await recordLines(id, 'claude', ['queued again']);
  await page.getByText('queued again', { exact: true }).waitFor();
  expect(problems).toEqual([]);
});

test('a session that is finished and queued again before the page has read either goes on', async () => {
  const id = await recordedSession('codex');
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  await isLive(page);
  const again = Promise.withResolvers<void>();
  await page.route('**/graphql', async (route) => {
    if (/query Session\(/.test(route.request().postData() ?? '')) await again.promise;
    return route.continue();
  });
  await moveTo(site, key, id, 'COMPLETED');
  await page.getByText('The session is finished.').waitFor();
  await moveTo(site, key, id, 'QUEUED', 'IN_PROGRESS');
  again.resolve();
  await recordLines(id, 'codex', ['queued again']);
  await page.getByText('queued again', { exact: true }).waitFor();
  await isLive(page);
  expect(problems).toEqual([]);
});

const FAILED_READ = JSON.stringify({
  type: 'user',
  message: {
    content: [
      {
        type: 'tool_result',
        tool_use_id: 'toolu_10',
        is_error: true,
        content: '<tool_use_error>File does not exist.</tool_use_error>',
      },
    ],
  },
});
const READ = JSON.stringify({
  type: 'assistant',
  message: {
    id: 'msg_10',
    content: [
      {
        type: 'tool_use',
        id: 'toolu_10',
        name: 'Read',
        input: { file_path: 'src/total.ts', offset: 48, limit: 40, pages: 'all' },
      },
    ],
  },
});

test('the head of a session has its totals in two lines, cost first, and the failures among them lead to the failed calls', async () => {
  const id = await recordedSession('claude', READ, FAILED_READ);
  for (const width of [390, 1280]) {
    const { page, problems } = await site.open(`/sessions/${id}`, { width, key });
    const totals = page.getByLabel('Totals').getByRole('listitem');
    await expect
      .poll(() => totals.allTextContents())
      .toEqual(['$0.25', '5.4 s', '2 failed tool calls', '12 tokens in', '340 out']);
    const head = await page.locator('.session-head').boundingBox();
    expect(head?.height).toBeLessThanOrEqual(72);
    expect(
      await totals.evaluateAll((items) =>
        items.slice(0, 3).filter((item) => {
          const { right, bottom } = item.getBoundingClientRect();
          const list = item.parentElement?.getBoundingClientRect();
          return right > innerWidth || bottom > (list?.bottom ?? 0) + 1;
        }),
      ),
    ).toEqual([]);
    await openDetails(page);
    await page
      .getByText(
        '$0.25 · 5.4 s agent time · 3 turns · 3 tool calls · 2 failed tool calls · 12 tokens in · 9,000 cached · 340 tokens out',
      )
      .waitFor();
    await saveScreenshot(page, `session-details-${width}`);
    expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
    await page.getByRole('button', { name: '2 failed tool calls' }).click();
    const failed = page.locator('.item');
    await expect
      .poll(() => failed.allTextContents())
      .toEqual([
        expect.anything(),
        expect.stringMatching(/Readsrc\/total\.ts · offset: 48 · limit: 40 · pages: all.*File does not exist\./s),
      ]);
    expect(await failed.last().textContent()).not.toContain('tool_use_error');
    expect(new URL(page.url()).searchParams.get('errors')).toBe('yes');
    expect([await accessibilityFindings(page), await overflowOf(page), problems]).toEqual([[], 0, []]);
  }
});

test('a session that is opened by keyboard has the focus at its title', async () => {
  const id = await recordedSession('codex');
  const { page, problems } = await site.open('/sessions', { key });
  const link = page.getByRole('link', { name: 'A run of codex' }).first();
  await link.focus();
  await page.keyboard.press('Enter');
  await isLive(page);
  await expect
    .poll(() => page.evaluate(() => [location.pathname, document.activeElement?.id]))
    .toEqual([`/sessions/${id}`, 'page-title']);
  expect(problems).toEqual([]);
});

test('what the gateway recorded a moment ahead of the clock of the browser is not to come', async () => {
  const id = await recordedSession('gemini');
  const { body } = await site.rest<{ createdAt: string }>('GET', `/v1/sessions/${id}`, { key });
  const { page } = await site.open('/sessions', { key });
  // As the times of the gateway have milliseconds, and its clock is ahead.
  await page.clock.setFixedTime(new Date(Date.parse(body.createdAt) - 4000));
  await page.goto(`${site.url}/sessions/${id}`);
  await openDetails(page);
  await expect.poll(() => page.locator('.facts .ago').first().textContent()).toBe('now');
});

test('a printed timeline has all rows whole, without what is there to be used', async () => {
  const id = await recordedSession('claude', ...Array.from({ length: 60 }, (_, index) => `line ${index}`));
  const { page } = await site.open(`/sessions/${id}`, { key, isDark: true });
  await isLive(page);
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  const printed = await page.evaluate(() => ({
    background: getComputedStyle(document.body).backgroundColor,
    sticky: [...document.querySelectorAll('.session *')].filter((each) => getComputedStyle(each).position === 'sticky')
      .length,
    skipped: [...document.querySelectorAll('.item')].filter(
      (each) => getComputedStyle(each).contentVisibility === 'auto',
    ).length,
    controls: [...document.querySelectorAll('main :is(button.button, input, select)')].filter((each) =>
      each.checkVisibility(),
    ).length,
  }));
  expect({ ...printed, background: isLight(printed.background) }).toEqual({
    background: true,
    sticky: 0,
    skipped: 0,
    controls: 0,
  });
});

const isLight = (color: string) => (/\d+/g.exec(color) ?? []).every((part) => Number(part) > 200);

test('a session is exported as it was recorded, and as a person reads it, with the sign-in of the browser', async () => {
  const id = await recordedSession('claude');
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  await openActions(page);
  const download = async (name: string) => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByText(name).click()]);
    return readFile(await file.path(), 'utf8');
  };
  const events = (await download('Export as NDJSON')).trimEnd().split('\n');
  expect(events.map((line) => (JSON.parse(line) as { id: number }).id)).toEqual(
    Array.from({ length: 17 }, (_, index) => index + 1),
  );
  expect(await download('Export as Markdown')).toContain('# A run of claude');
  expect(problems).toEqual([]);
});

test('the history says who changed what, without recording unless it is asked for', async () => {
  const id = await recordedSession('codex');
  const other = await site.createKey({ organization, role: 'admin' });
  await mutate(site, other.key, 'updateSession', { sessionId: id, visibility: 'PUBLIC', branchName: 'main' });
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  await page.getByRole('button', { name: 'History' }).click();
  const rows = page.getByRole('table', { name: 'Changes' }).getByRole('row');
  const changes = async () =>
    (await rows.locator('td:nth-child(2), td:nth-child(3)').allTextContents()).map((text) => text.trim());
  await expect
    .poll(changes)
    .toEqual([
      'Changed branch name and visibility (public)',
      other.email,
      'Changed the state to in progress',
      email,
      'Created the session as private',
      email,
    ]);
  expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
  await page.getByLabel('With recording').check();
  await rows.filter({ hasText: 'Recorded events' }).waitFor();
  expect(problems).toEqual([]);
});

test('a session that nobody has changed since it was recorded says so, with what is known of it', async () => {
  const id = await recordedSession('codex');
  await site.dependencies.sql.query(`delete from audit_entry where target_id = $1`, [id]);
  const { page, problems } = await site.open(`/sessions/${id}?view=history`, { key });
  await page.getByText(new RegExp(`No person has changed it. Created by ${email}.* It is in progress`)).waitFor();
  expect(problems).toEqual([]);
});

test('a running session opens at its end, and a link at its event', async () => {
  const id = await recordedSession('claude', ...Array.from({ length: 400 }, (_, index) => `line ${index}`));
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  const height = page.viewportSize()?.height ?? 0;
  const last = page.locator('.item', { hasText: 'line 399' });
  await expect.poll(async () => (await last.boundingBox())?.y ?? Infinity).toBeLessThan(height);
  await recordLines(id, 'claude', ['one more']);
  const more = page.locator('.item', { hasText: 'one more' });
  await expect.poll(async () => (await more.boundingBox())?.y ?? Infinity).toBeLessThan(height);
  const { page: linked } = await site.open(`/sessions/${id}#event-100`, { key });
  await linked.locator('#event-100.wanted').waitFor();
  await moveTo(site, key, id, 'COMPLETED');
  const { page: finished } = await site.open(`/sessions/${id}`, { key });
  await finished.locator('.item').first().waitFor();
  expect([await finished.evaluate(() => scrollY), problems]).toEqual([0, []]);
});

test('the reason of a failed session has a line in the head, beside all totals, and is whole in the details', async () => {
  const why = `The provider has refused ${'everything '.repeat(40)}`.trim();
  const id = await createSession(site, key, { title: 'Failed', agent: 'coder' });
  await moveTo(site, key, id, 'IN_PROGRESS');
  const failed = { type: 'tool', itemId: 'a', toolName: 'Bash', toolResult: { status: 'error', error: 'no' } };
  const failure = { type: 'runner_error', source: 'runner', message: why, usage: { costUsd: 0.25 } };
  const events = [failed, failure].map((eventData) => ({ eventType: 'session', provider: 'p', eventData }));
  await append(site, key, id, events);
  await moveTo(site, key, id, 'FAILED');
  const { page } = await site.open(`/sessions/${id}`, { key });
  await page.locator('.session-head .reason').waitFor();
  await expect
    .poll(() => page.getByLabel('Totals').getByRole('listitem').allTextContents())
    .toEqual(['$0.25', expect.any(String), '1 failed tool call', 'coder']);
  await page.locator('.session-head').getByText('coder', { exact: true }).waitFor();
  await openDetails(page);
  await page.locator('#session-details').getByText(why).waitFor();
  expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
});

test('a session with many large pull requests opens; they are shown page by page, their changes on demand', async () => {
  const id = await createSession(site, key, { title: 'Large results' });
  const { artifact } = await mutate<{ artifact: { databaseId: string } }>(
    site,
    key,
    'recordArtifact',
    { sessionId: id, type: 'PULL_REQUEST' },
    'artifact { databaseId }',
  );
  const data = `+first\n${'-x\n'.repeat(330_000)}`;
  await mutate(site, key, 'recordPullRequest', {
    artifactId: artifact.databaseId,
    url: 'https://git.example.com/pull/1',
    title: 'Pull request',
    status: 'OPEN',
    isDraft: false,
    sourceBranch: 'fix',
    baseBranch: 'main',
    headSha: 'abc',
    agent: 'coder',
    diff: { additions: 1, deletions: 330_000, data },
    author: { avatarUrl: 'https://git.example.com/a', login: 'coder' },
    codeRepository: { id: REPOSITORY_ID, name: 'n', owner: 'o', baseBranch: 'main', provider: 'github' },
  });
  // Copies are made in the database, which is faster than recording each.
  await site.dependencies.database.em.fork().execute(
    `insert into pull_request select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'url', r.url || n))).*
      from pull_request as r, generate_series(2, 34) as n where r.artifact_id = ?`,
    [artifact.databaseId],
  );
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  const pulls = page.getByLabel('Pull requests').getByRole('listitem');
  await expect.poll(() => pulls.count()).toBe(10);
  await page.getByRole('button', { name: 'More pull requests' }).click();
  await expect.poll(() => pulls.count()).toBe(34);
  // The button was removed with the focus, which is now at the first of those that it has loaded.
  await expect.poll(() => pulls.nth(10).getByRole('link').and(page.locator(':focus')).count()).toBe(1);
  await pulls.first().getByRole('button', { name: 'Show changes' }).click();
  await page.locator('.diff .added', { hasText: '+first' }).waitFor();
  expect(problems).toEqual([]);
});
