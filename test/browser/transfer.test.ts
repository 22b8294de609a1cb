import type { BrowserContext } from 'playwright-core';
import { expect, test } from 'vitest';
import { createSession } from '../support/fixtures/sessions.ts';
import { startSite } from '../support/processes/browser.ts';
import { proof } from '../support/proof.ts';

/** The bytes that a browser receives for each page, including headers, from Chromium's network counters. */

const site = await startSite();
const { key } = await site.createKey();
const sessionId = await createSession(site, key);

interface Received {
  readonly kB: number;
  readonly responses: number;
}

/** Opens a page, waits for the element `sign`, and returns the received bytes. */
async function load(context: BrowserContext, path: string, sign: string): Promise<Received> {
  const page = await context.newPage();
  const network = await context.newCDPSession(page);
  await network.send('Network.enable');
  let bytes = 0;
  let responses = 0;
  /** Ids of requests to the gateway, without data URLs and cached files. */
  const sent = new Set<string>();
  network.on('Network.responseReceived', ({ requestId, response }) => {
    if (response.url.startsWith(site.url) && !response.fromDiskCache) sent.add(requestId);
  });
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (!sent.has(requestId) || encodedDataLength === 0) return;
    bytes += encodedDataLength;
    responses += 1;
  });
  await page.goto(site.url + path);
  await page.locator(sign).first().waitFor();
  // Leaving the page ends its streams, so that their bytes are counted.
  await page.goto('about:blank');
  await page.close();
  return { kB: Math.round(bytes / 1000), responses };
}

/** The maximum size of each page in kB: on the first load, and when its files are cached. */
const PAGES: readonly (readonly [path: string, sign: string, first: number, second: number])[] = [
  ['/sign-in', 'h1', 10, 5],
  ['/', 'main h2', 130, 13],
  ['/sessions', 'table', 130, 13],
  [`/sessions/${sessionId}`, '.empty', 130, 13],
  ['/event-definitions', '.empty', 130, 13],
  ['/webhooks', '.empty', 130, 13],
  ['/members', 'table', 130, 13],
  ['/graphql', '.CodeMirror', 700, 10],
  ['/docs', '.opblock', 500, 10],
];

const figures: Record<string, string> = {};

test.each(PAGES)(
  '%s is at most as large as its limits, for the first load and for a load with cached files',
  async (path, sign, most, mostAgain) => {
    const context = await site.newContext(path === '/sign-in' ? {} : { key });
    const first = await load(context, path, sign);
    const second = await load(context, path, sign);
    const name = path.replace(sessionId, '<id>');
    figures[name] = `${first.kB} kB in ${first.responses} responses, then ${second.kB} kB in ${second.responses}`;
    expect([first.kB <= most, second.kB <= mostAgain, first, second]).toEqual([true, true, first, second]);
  },
);

test('a page of the console is a document, two style sheets, an icon and one script', async () => {
  const { page, requested } = await site.open('/sessions', { key });
  await page.locator('table').waitFor();
  const files = requested.filter((url) => url.includes('/assets/')).map((url) => url.split('/').at(-1) ?? '');
  expect([...new Set(files)].toSorted()).toEqual([
    'base.css',
    'console.css',
    'console.js',
    'favicon.svg',
    'stream-worker.js',
  ]);
});

test('the sizes of all pages are recorded', () => {
  expect(Object.keys(figures)).toHaveLength(PAGES.length);
  proof('Bytes of each page in Chromium', { figures });
});
