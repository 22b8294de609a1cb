import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { append, createSession, moveTo } from '../support/fixtures/sessions.ts';
import { VIEWS, accessibilityFindings, overflowOf, saveScreenshot, startSite } from '../support/processes/browser.ts';

/** Messages are drawn as Markdown, whatever an agent or a page that it has read writes into them. */

const site = await startSite({ RATE_LIMIT_PER_MINUTE: '0' });
const { key } = await site.createKey();

async function said(...texts: readonly string[]): Promise<string> {
  const id = await createSession(site, key, { title: 'Said' });
  await moveTo(site, key, id, 'IN_PROGRESS');
  const events = texts.map((text, index) => ({
    eventType: 'x',
    provider: 'p',
    eventData: { type: 'x', source: 'assistant', deltaType: 'text_delta', itemId: `m${index}`, accumulatedText: text },
  }));
  await append(site, key, id, events);
  return id;
}

const body = (page: Page, event: number) => page.locator(`#event-${event} .item-body`);

const MARKDOWN = `# Result

Some **bold**, *soft*, ~~old~~ text with \`code\` and a [link](https://git.example.com/a?b=1).

1. one
2. two
   - [x] done
   - [ ] open

| a | b |
|---|--:|
| 1 | 2 |

\`\`\`ts
const a = '<b>';
\`\`\`

> quoted &amp; said`;

test.each(VIEWS)('%s: a message is drawn with its headings, lists, tables, code and links', async (name, view) => {
  const id = await said(MARKDOWN, 'one **line**');
  const { page, problems } = await site.open(`/sessions/${id}`, { ...view, key });
  const message = body(page, 1);
  await message.locator('table').waitFor();
  expect(await message.locator('.heading').textContent()).toBe('Result');
  expect(await message.locator('strong, em, del').allTextContents()).toEqual(['bold', 'soft', 'old']);
  expect(await message.locator('code').allTextContents()).toEqual(['code', "const a = '<b>';"]);
  expect(await message.locator('ol > li').count()).toBe(2);
  expect((await message.locator('ul > li').allTextContents()).map((text) => text.trim())).toEqual(['☑ done', '☐ open']);
  expect(await message.locator('th, td').allTextContents()).toEqual(['a', 'b', '1', '2']);
  expect((await message.locator('blockquote').textContent())?.trim()).toBe('quoted & said');
  const link = message.getByRole('link');
  expect([
    await link.getAttribute('href'),
    await link.getAttribute('rel'),
    await message.locator('.host').textContent(),
  ]).toEqual(['https://git.example.com/a?b=1', 'noopener noreferrer nofollow', '(git.example.com)']);
  // Each message is drawn in a task of its own.
  await expect.poll(() => body(page, 2).locator('p.text').innerHTML()).toBe('one <strong>line</strong>');
  await saveScreenshot(page, `session-markdown-${name}`);
  expect([await accessibilityFindings(page), await overflowOf(page), problems]).toEqual([[], 0, []]);
});

const HOSTILE = [
  'Look: <script>alert(1)</script> <img src=x onerror=alert(1)> **seen**',
  '[a](javascript:alert(1)) [b](data:text/html,hi) [c](https://user:pw@host.example/) [d](//host.example/) **seen**',
  '![p](https://host.example/p.png) ![q](javascript:alert(1)) <https://host.example/> **seen**',
  '[https://bank.example](https://host.example/) \u202Etxt.exe **seen**',
  '<iframe src="https://host.example"></iframe>\n\n<style>body{display:none}</style>\n\n**seen**',
];

test('HTML is text, pictures are links, and only web addresses are links, with their host beside them', async () => {
  const id = await said(...HOSTILE);
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  for (const event of HOSTILE.keys())
    await body(page, event + 1)
      .locator('strong', { hasText: 'seen' })
      .waitFor();
  const items = page.locator('.items');
  expect(await items.locator('script, img, iframe, style, object, svg').count()).toBe(0);
  expect(
    await items
      .locator('.item-body a')
      .evaluateAll((links) => links.map((link) => [link.textContent, link.getAttribute('href')])),
  ).toEqual([
    ['Picture: p', 'https://host.example/p.png'],
    ['https://host.example/', 'https://host.example/'],
    ['https://bank.example', 'https://host.example/'],
  ]);
  expect(await items.locator('.host').allTextContents()).toEqual(['(host.example)', '(host.example)']);
  expect(await body(page, 1).textContent()).toContain('<script>alert(1)</script>');
  expect(await body(page, 2).textContent()).toContain('[a](javascript:alert(1))');
  expect(await body(page, 4).textContent()).toContain('[U+202E]txt.exe');
  expect(problems).toEqual([]);
});

const SLOW = [
  '>'.repeat(9000),
  '['.repeat(4500) + ']'.repeat(4500),
  '_a__'.repeat(2400),
  `${'*'.repeat(4500)}a${'*'.repeat(4500)}`,
  '- '.repeat(4500),
];

test('what is nested too deep or too long stays as it was written, and the page answers meanwhile', async () => {
  const id = await said(...SLOW, `**${'x'.repeat(400_000)}**`, 'the **last**');
  const { page, problems } = await site.open(`/sessions/${id}`, { key });
  for (const event of [...SLOW.keys(), SLOW.length].map((index) => index + 1)) {
    await page.locator(`#event-${event}`).scrollIntoViewIfNeeded();
    expect(await page.evaluate(() => document.title)).toContain('Said');
  }
  await page.locator(`#event-${SLOW.length + 2}`).scrollIntoViewIfNeeded();
  await body(page, SLOW.length + 2)
    .locator('strong')
    .waitFor();
  expect(await body(page, 1).locator('p.text').textContent()).toBe(SLOW[0]);
  expect(
    await body(page, SLOW.length + 1)
      .locator('p.text')
      .textContent(),
  ).toBe(`**${'x'.repeat(9998)}`);
  expect([await overflowOf(page), problems]).toEqual([0, []]);
});
