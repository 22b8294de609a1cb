import type { BrowserContext } from 'playwright-core';
import { expect, test } from 'vitest';
import { createSession } from '../support/fixtures/sessions.ts';
import { startSite } from '../support/processes/browser.ts';
import { proof } from '../support/proof.ts';

/** What a browser receives for each page, headers included, as Chromium's network counters have it. */

const site = await startSite();
const { key } = await site.createKey();
const sessionId = await createSession(site, key);

interface Received {
  readonly kB: number;
  readonly responses: number;
}

/** Opens a page until its last word is there, and counts. */
async function load(context: BrowserContext, path: string, sign: string): Promise<Received> {
  const page = await context.newPage();
  const network = await context.newCDPSession(page);
  await network.send('Network.enable');
  let bytes = 0;
  let responses = 0;
  /** Not the fonts within a style sheet, nor what the browser has already. */
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
  // The page lets go of its streams, whose bytes then count.
  await page.goto('about:blank');
  await page.close();
  return { kB: Math.round(bytes / 1000), responses };
}

/** The most that a page may send, in kB: on the first load, and once the browser has its files. */
const PAGES: readonly (readonly [path: string, sign: string, first: number, second: number])[] = [
  ['/sign-in', 'h1', 10, 5],
  ['/', 'table', 80, 10],
  [`/sessions/${sessionId}`, '.empty', 80, 10],
  ['/event-definitions', '.empty', 80, 10],
  ['/members', '#membership', 80, 10],
  ['/graphql', '.CodeMirror', 700, 10],
  ['/docs', '.opblock', 500, 10],
];

const figures: Record<string, string> = {};

test.each(PAGES)(
  '%s is small: compressed, and once a browser has its files, little more is sent than data',
  async (path, sign, most, mostAgain) => {
    const context = await site.newContext(path === '/sign-in' ? {} : { key });
    const first = await load(context, path, sign);
    const second = await load(context, path, sign);
    const name = path.replace(sessionId, '<id>');
    figures[name] = `${first.kB} kB in ${first.responses} responses, then ${second.kB} kB in ${second.responses}`;
    expect([first.kB <= most, second.kB <= mostAgain, first, second]).toEqual([true, true, first, second]);
  },
);

test('figures', () => {
  expect(Object.keys(figures)).toHaveLength(PAGES.length);
  proof('Bytes of each page in Chromium', { figures });
});
