import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type Locator, type Page, chromium } from 'playwright-core';

/** A page, and everything about it that nobody should find: requests to other hosts, failed ones, errors of its scripts. */
export interface OpenPage {
  readonly page: Page;
  readonly complaints: string[];
}

/** How a page is looked at. */
export interface View {
  /** 1280 unless given; below 600 it is a phone. */
  readonly width?: number;
  readonly isDark?: boolean;
  /** Signs in with it first. */
  readonly key?: string;
}

export interface TestBrowser {
  open(url: string, view?: View): Promise<OpenPage>;
  /** Keeps a screenshot, for people to look at, where `SCREENSHOTS` names a folder. */
  keep(page: Page, name: string): Promise<void>;
  close(): Promise<void>;
}

/** Patience with a busy machine: what is polled for has this long to come true. */
export const patience = { timeout: 45_000, interval: 250 };

/** Chromium without a network: it finds no host but the loopback. */
export async function startBrowser(): Promise<TestBrowser> {
  const quiet = [
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  ];
  const browser: Browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', ...quiet],
  });
  const screenshots = process.env['SCREENSHOTS'];
  return {
    async open(url, { width = 1280, isDark = false, key } = {}) {
      const isPhone = width < 600;
      const page = await browser.newPage({
        viewport: { width, height: isPhone ? 844 : 800 },
        colorScheme: isDark ? 'dark' : 'light',
        hasTouch: isPhone,
      });
      page.setDefaultTimeout(patience.timeout);
      const { origin } = new URL(url);
      if (key !== undefined) await signIn(page, origin, key);
      const complaints: string[] = [];
      page.on('request', (request) => {
        if (!request.url().startsWith(`${origin}/`) && !/^(?:data|blob):/.test(request.url()))
          complaints.push(`request to ${request.url()}`);
      });
      page.on('requestfailed', (request) => {
        // A page lets go of a subscription at its end; that is no failure.
        const why = request.failure()?.errorText;
        if (why !== 'net::ERR_ABORTED') complaints.push(`failed: ${request.url()}: ${why}`);
      });
      page.on('response', (response) => {
        if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      await page.goto(url, { waitUntil: 'load' });
      return { page, complaints };
    },
    async keep(page, name) {
      if (screenshots) await page.screenshot({ path: join(screenshots, `${name}.png`) });
    },
    close: () => browser.close(),
  };
}

async function signIn(page: Page, origin: string, key: string): Promise<void> {
  await page.goto(`${origin}/sign-in?next=/sign-in`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** The views that every page must be good in: wide and phone, light and dark. */
export const VIEWS = [
  ['wide, light', { width: 1280 }],
  ['wide, dark', { width: 1280, isDark: true }],
  ['phone, light', { width: 390 }],
  ['phone, dark', { width: 390, isDark: true }],
] as const satisfies readonly (readonly [string, View])[];

/** How much wider the page is than its window, in pixels. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/**
 * What the accessibility rules of axe-core hold to be serious or critical on the page as it stands, or within a part of it, each once: the
 * rule, what breaks it, and how.
 */
export async function accessibilityFindings(page: Page, part: Locator = page.locator(':root')): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await part.evaluate((element) => window.axe.run(element, { resultTypes: ['violations'] }));
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const findings = grave.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any }) => {
      const [, name = html] = /^<[^>]* class="([\w-]+)/.exec(html) ?? [];
      return `${id}: ${name}: ${any[0]?.message.split('. ')[0] ?? ''}`;
    }),
  );
  return [...new Set(findings)];
}

declare global {
  interface Window {
    readonly axe: typeof axe;
  }
}
