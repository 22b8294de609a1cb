import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { createSession } from '../support/fixtures/sessions.ts';
import { proof } from '../support/proof.ts';

/** What a browser receives for each page, headers included, as Chromium's network counters have it. */

let gateway: TestGateway;
let server: RunningServer;
let browser: Browser;
let key: string;
let sessionId: string;

beforeAll(async () => {
  gateway = await startTestGateway();
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  ({ key } = await gateway.createKey());
  sessionId = await createSession(gateway, key);
});
afterAll(async () => {
  await browser.close();
  await server.stop(1_000);
  await gateway.close();
});

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
    if (response.url.startsWith(server.url) && !response.fromDiskCache) sent.add(requestId);
  });
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (!sent.has(requestId) || encodedDataLength === 0) return;
    bytes += encodedDataLength;
    responses += 1;
  });
  await page.goto(server.url + path);
  await page.locator(sign).first().waitFor();
  // The page lets go of its streams, whose bytes then count.
  await page.goto('about:blank');
  await page.close();
  return { kB: Math.round(bytes / 1000), responses };
}

async function signedIn(): Promise<BrowserContext> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.request.post(`${server.url}/sign-in`, { data: { key } });
  await page.close();
  return context;
}

/** The most that a page may send, in kB: on the first load, and once the browser has its files. */
const PAGES: readonly (readonly [path: () => string, sign: string, first: number, second: number])[] = [
  [() => '/sign-in', 'h1', 10, 5],
  [() => '/', 'table', 80, 10],
  [() => `/sessions/${sessionId}`, '.empty', 80, 10],
  [() => '/event-definitions', '.empty', 80, 10],
  [() => '/members', '#membership', 80, 10],
  [() => '/graphql', '.CodeMirror', 700, 10],
  [() => '/docs', '.opblock', 500, 10],
];

test('pages are small: compressed, and once a browser has their files, they send little more than their data', async () => {
  const figures: Record<string, string> = {};
  for (const [path, sign, most, mostAgain] of PAGES) {
    const context = path() === '/sign-in' ? await browser.newContext() : await signedIn();
    const first = await load(context, path(), sign);
    const second = await load(context, path(), sign);
    await context.close();
    const name = path().replace(sessionId, '<id>');
    figures[name] = `${first.kB} kB in ${first.responses} responses, then ${second.kB} kB in ${second.responses}`;
    expect
      .soft([name, first.kB <= most, second.kB <= mostAgain, first, second])
      .toEqual([name, true, true, first, second]);
  }
  proof('Bytes of each page in Chromium', { figures });
});
