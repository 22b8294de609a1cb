import { existsSync } from 'node:fs';
import { join } from 'node:path';
import axe, { type ImpactValue, type RunOptions } from 'axe-core';
import { type Browser, type BrowserContext, type Locator, type Page, chromium } from 'playwright-core';
import { afterEach, expect, test } from 'vitest';
import { type ServedGateway, startServedGateway } from '../fixtures/served-gateway.ts';
import { full } from '../proof.ts';

/** A page and its problems: requests to other hosts, failed requests, script errors. */
export interface OpenPage {
  readonly page: Page;
  readonly problems: string[];
  /** URLs of the gateway that the page requested, oldest first. */
  readonly requested: string[];
}

/** How to view a page. */
export interface View {
  /** Width in pixels, by default 1280. Below 600, the browser behaves like a phone. */
  readonly width?: number;
  readonly isDark?: boolean;
  /** Sign in with this key first. */
  readonly key?: string;
}

/** A gateway whose pages can be opened in Chromium. */
export interface Site extends ServedGateway {
  /** A new browser profile; closed at the end of the test. */
  newContext(view?: View): Promise<BrowserContext>;
  /** Opens a URL of the gateway, in a new profile unless one is given. */
  open(address: string, view?: View, context?: BrowserContext): Promise<OpenPage>;
}

/** How long a page may take to show something: as long as `expect.poll` waits. */
const WAIT_MS = 240_000;

/** A name of this machine, whose pages the browser does not trust, because they are neither https nor on localhost. */
export const HOST_NAME = 'gateway.test';

/** The packages of Debian. The shell has no window, and needs less CPU. */
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const program = process.env['CHROMIUM'] ?? PROGRAMS.find((path) => existsSync(path)) ?? 'chromium';

/** One Chromium for all files of a worker. It can connect only to loopback. */
const inChromium = test
  .extend('executablePath', { scope: 'worker' }, program)
  .extend('chromium', { scope: 'worker' }, async ({ executablePath }, { onCleanup }) => {
    const quiet = [
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--host-resolver-rules=MAP ${HOST_NAME} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`,
    ];
    const args = ['--headless', '--no-sandbox', '--disable-gpu', ...quiet];
    const browser = await chromium.launch({ executablePath, args });
    onCleanup(() => browser.close());
    return browser;
  });

/** Starts a gateway with pages for all tests of the calling file. The variables are those of `startTestGateway`. */
export async function startSite(env: Record<string, string> = {}): Promise<Site> {
  const gateway = await startServedGateway(env);
  const contexts: BrowserContext[] = [];
  let newContext: Browser['newContext'];
  inChromium.beforeAll(({ chromium: browser }) => {
    newContext = (options) => browser.newContext(options);
  });
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
  });
  const site: Site = {
    ...gateway,
    async newContext({ width = 1280, isDark = false, key } = {}) {
      const isPhone = width < 600;
      const context = await newContext({
        viewport: { width, height: isPhone ? 844 : 800 },
        colorScheme: isDark ? 'dark' : 'light',
        hasTouch: isPhone,
      });
      contexts.push(context);
      context.setDefaultTimeout(WAIT_MS);
      if (key !== undefined) await signIn(context, gateway.url, key);
      return context;
    },
    async open(address, view, context) {
      const page = await (context ?? (await site.newContext(view))).newPage();
      const observed = observe(page, gateway.url);
      await page.goto(new URL(address, gateway.url).href);
      return { page, ...observed };
    },
  };
  return site;
}

/** Signs in with the request of the sign-in page. That page has tests of its form. */
async function signIn({ request }: BrowserContext, url: string, key: string): Promise<void> {
  const answer = await request.post(`${url}/sign-in`, { data: { key } });
  if (!answer.ok()) throw new Error(`signing in: ${answer.status()} ${await answer.text()}`);
}

function observe(page: Page, origin: string): Omit<OpenPage, 'page'> {
  const problems: string[] = [];
  const requested: string[] = [];
  page.on('request', (request) => {
    const url = request.url();
    if (url.startsWith(`${origin}/`)) requested.push(url);
    else if (!/^(?:data|blob):/.test(url)) problems.push(`request to ${url}`);
  });
  page.on('requestfailed', (request) => {
    // A page aborts its subscription when it is closed. That is not a problem.
    const why = request.failure()?.errorText;
    if (why !== 'net::ERR_ABORTED') problems.push(`failed: ${request.url()}: ${why}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  return { problems, requested };
}

/** Saves a screenshot for manual review if `SCREENSHOTS` names a folder. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** The views in which every page is checked: wide and phone, light and dark. `npm test` checks each width and each color scheme once. */
export const VIEWS: readonly (readonly [name: string, view: View])[] = [
  ['wide, light', { width: 1280 }] as const,
  ...(full
    ? ([
        ['wide, dark', { width: 1280, isDark: true }],
        ['phone, light', { width: 390 }],
      ] as const)
    : []),
  ['phone, dark', { width: 390, isDark: true }] as const,
];

/** Frames without a move after which parts of a page rest: a row gets its height one frame after it came into view, and moves others. */
const FRAMES_AT_REST = 10;

/** Waits until a part of a page moves no more. Before that, a click can miss it, and the page takes back what a script scrolls. */
export function isAtRest(part: Locator): Promise<void> {
  return part.evaluate(async (element, frames) => {
    for (let [still, top] = [0, NaN]; still < frames;) {
      await new Promise(requestAnimationFrame);
      const now = element.getBoundingClientRect().top;
      still = now === top ? still + 1 : 0;
      top = now;
    }
  }, FRAMES_AT_REST);
}

/** Shows what is behind the button in the head of a session: its actions and facts. */
export async function openDetails(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Details', exact: true }).click();
  await page.locator('#session-details').waitFor();
}

/** Opens the menu of a session, or of a row. */
export async function openActions(page: Pick<Page, 'getByRole'>): Promise<void> {
  const menu = page.getByRole('button', { name: 'More actions' });
  if ((await menu.getAttribute('aria-expanded')) === 'false') await menu.click();
}

/** How much wider the page is than its window, in pixels. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** The texts of the cells of tables that are not shown in full. */
export function cutCells(page: Page): Promise<string[]> {
  return page
    .locator('td')
    .evaluateAll((cells) =>
      cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent),
    );
}

/** The findings of axe-core on the page or a part of it, without duplicates: the rule, the element, and the reason. */
export async function accessibilityFindings(
  page: Page,
  { part = page.locator(':root'), impacts = ['moderate', 'serious', 'critical'] }: AccessibilityOptions = {},
): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  // No selectors and style sheets are collected, because no finding uses them.
  const options: RunOptions = { resultTypes: ['violations'], selectors: false, preload: false };
  const { violations } = await part.evaluate((element, given) => window.axe.run(element, given), options);
  const findings = violations
    .filter(({ impact }) => impact && impacts.includes(impact))
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, any }) => {
        const [, name = html] = /^<[^>]* class="([\w-]+)/.exec(html) ?? [];
        return `${id}: ${name}: ${any[0]?.message.split('. ')[0] ?? ''}`;
      }),
    );
  return [...new Set(findings)];
}

interface AccessibilityOptions {
  readonly part?: Locator;
  /** Findings with lower impact are excluded. */
  readonly impacts?: readonly ImpactValue[];
}

declare global {
  interface Window {
    readonly axe: typeof axe;
  }
}

/** Takes a screenshot of the page, and checks that it is accessible and not wider than the screen. */
export async function isGood(page: Page, name: string): Promise<void> {
  await saveScreenshot(page, name);
  expect([name, await accessibilityFindings(page), await overflowOf(page)]).toEqual([name, [], 0]);
}
