import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSession } from '../support/fixtures/sessions.ts';
import {
  VIEWS,
  accessibilityFindings,
  openDetails,
  overflowOf,
  saveScreenshot,
  startSite,
} from '../support/processes/browser.ts';

/** The ways to record agents, with commands for this gateway, and where a session comes from. */

const site = await startSite();
const { key, email, organization } = await site.createKey();

const WAYS = [
  ['Daily work', 'install'],
  ['Past work', 'import --since 90d'],
  ['One run of an agent', '-- claude -p "…" --output-format stream-json --verbose'],
] as const;
const commandOf = (args: string) =>
  `export GATEWAY=${site.url}\ncurl -fsSO $GATEWAY/record.mjs\nnode record.mjs login $GATEWAY\nnode record.mjs ${args}`;

test.each(VIEWS)('%s: the menu leads to three ways, whose commands name this gateway', async (name, view) => {
  const { page, problems } = await site.open('/overview', { ...view, key });
  await page.getByRole('link', { name: 'Record', exact: true }).click();
  await page.getByRole('heading', { name: 'Record', level: 1 }).waitFor();
  for (const [way, args] of WAYS)
    expect(await page.getByRole('region', { name: way }).locator('pre').textContent()).toBe(commandOf(args));
  await saveScreenshot(page, `record-${name}`);
  expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
  expect(problems).toEqual([]);
});

test('an organization without sessions is shown the ways where its sessions will be', async () => {
  const { key: fresh } = await site.createKey();
  const { page, problems } = await site.open('/sessions', { key: fresh });
  await page.getByText('No sessions yet.').waitFor();
  for (const [way, args] of WAYS)
    expect(await page.getByRole('region', { name: way }).locator('pre').textContent()).toBe(commandOf(args));
  await createSession(site, fresh);
  await expect.poll(() => page.getByRole('region', { name: 'Daily work' }).count()).toBe(0);
  expect(problems).toEqual([]);
});

test('an imported session names its transcript, and is listed in its place in time', async () => {
  const recorder = await site.createKey({ email, organization, scopes: ['sessions.record'] });
  const put = async (title: string, startedAt: string) => {
    const id = randomUUID();
    const body = { title, startedAt };
    await site.rest('PUT', `/v1/sessions/by-source/claude/${id}`, { key: recorder.key, body });
    return id;
  };
  const old = await put('Of last year', '2025-03-01T10:00:00Z');
  await createSession(site, key);
  await put('Of spring', '2026-04-01T10:00:00Z');
  const { page, problems } = await site.open('/sessions', { key });
  const rows = page.getByRole('table', { name: 'Sessions' }).getByRole('row');
  await expect
    .poll(async () => (await rows.allInnerTexts()).slice(-2).map((text) => text.split(/[\n\t]/)[0]))
    .toEqual(['Of spring', 'Of last year']);
  await page.getByRole('link', { name: 'Of last year' }).click();
  await page.getByRole('heading', { name: 'Of last year', level: 1 }).waitFor();
  await openDetails(page);
  await page.getByText(`claude ${old}`).waitFor();
  expect(problems).toEqual([]);
});
