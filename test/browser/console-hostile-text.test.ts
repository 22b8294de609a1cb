import { afterAll, expect, test } from 'vitest';
import { PROJECT_ID, SOURCE_ID, createSession, mutate } from '../support/fixtures/sessions.ts';
import { mcpHandler, startPeer } from '../support/peers/mcp-server.ts';
import {
  accessibilityFindings,
  saveScreenshot,
  openActions,
  overflowOf,
  startSite,
} from '../support/processes/browser.ts';

/** All text that users and servers can write is hostile here. The console must show it as plain text. */

const HOSTILE = '<img src=x onerror=alert(1)><script>1</script>';
/** What the MCP server answers. It is no credential, so messages quote it. */
const ANSWER = '<img src=y onerror=alert(2)><script>2</script>';
const DEFINITION = 'hostile_event';

const site = await startSite({ ALLOW_PRIVATE_NETWORK: 'true' });
const mcp = await startPeer(mcpHandler());
const { key } = await site.createKey();
const sessionId = await writeEverywhere();
mcp.handler = (request, response) => {
  request.resume();
  response.writeHead(400, { 'Content-Type': 'application/json' });
  const error = { code: -32_000, message: `${ANSWER} ${HOSTILE}`, data: HOSTILE };
  response.end(JSON.stringify({ jsonrpc: '2.0', id: 0, error }));
};
afterAll(() => mcp.stop());

async function change(name: string, input: object): Promise<void> {
  const { __typename, ...refusal } = await mutate(site, key, name, input);
  if (!__typename.endsWith('Payload')) throw new Error(`${name}: ${JSON.stringify(refusal)}`);
}

/** @returns the id of a session */
async function writeEverywhere(): Promise<string> {
  const { data } = await site.graphql<{ viewer: { organization: { id: string } } }>(
    key,
    '{ viewer { organization { id } } }',
  );
  await change('updateOrganization', { organizationId: data?.viewer.organization.id, name: HOSTILE });
  await change('updateViewer', { name: HOSTILE });
  await change('createApiKey', { name: HOSTILE, scopes: ['SESSIONS_READ'] });
  await writeDefinition();
  await change('createMcpServer', {
    remote: {
      name: HOSTILE,
      serverUrl: `${mcp.origin}/?q='onerror=alert(1)`,
      authType: 'STATIC_HEADERS',
      headers: [{ name: 'X-Header', value: HOSTILE }],
    },
  });
  return writeSession();
}

async function writeSession(): Promise<string> {
  const id = await createSession(site, key, {
    title: HOSTILE,
    description: HOSTILE,
    agent: HOSTILE,
    branchName: HOSTILE,
    project: { id: PROJECT_ID, name: HOSTILE, icon: 'BUG', color: 'TEAL' },
    source: { id: SOURCE_ID, name: HOSTILE, type: 'CLI', repositories: [] },
  });
  const written = { scope: { kind: HOSTILE }, source: HOSTILE, itemId: HOSTILE };
  const eventData = [
    { ...written, type: 'stream_event', deltaType: 'text_delta', accumulatedText: HOSTILE },
    { ...written, type: 'stream_event', deltaType: 'input_json_delta', toolName: HOSTILE, accumulatedText: HOSTILE },
    { ...written, type: 'tool_result', toolResult: { status: 'error', error: HOSTILE, output: HOSTILE } },
    { ...written, type: HOSTILE, event: { event: HOSTILE, message: HOSTILE, provider: HOSTILE } },
  ];
  const events = eventData.map((data) => ({ eventType: HOSTILE, provider: 'anthropic', eventData: data }));
  await change('appendSessionEvents', { sessionId: id, events });
  return id;
}

async function writeDefinition(): Promise<void> {
  await change('createEventDefinition', {
    name: DEFINITION,
    label: HOSTILE,
    description: HOSTILE,
    primaryObject: 'ORDER',
    propertyDefinitions: [
      { name: 'text', label: HOSTILE, type: 'STRING' },
      { name: 'choice', label: HOSTILE, type: 'ENUMERATION', options: [{ label: HOSTILE, value: HOSTILE }] },
    ],
  });
  const occurrence = { eventName: DEFINITION, objectId: HOSTILE, properties: { text: HOSTILE, choice: HOSTILE } };
  await change('sendEventOccurrences', { inputs: [occurrence] });
}

/** The pages, with the minimum number of times that each shows the text. */
const PAGES: readonly (readonly [path: string, times: number])[] = [
  ['/overview', 1],
  ['/sessions', 3],
  ['/sessions?text=bold', 0],
  [`/sessions/${sessionId}`, 9],
  [`/sessions/${sessionId}?errors=yes`, 2],
  [`/sessions/${sessionId}?view=figures`, 1],
  [`/sessions/${sessionId}?view=files`, 0],
  [`/sessions/${sessionId}?view=history`, 0],
  ['/event-definitions', 2],
  [`/event-definitions/${DEFINITION}`, 8],
  [`/event-definitions/${encodeURIComponent(HOSTILE)}`, 0],
  ['/mcp-connections', 1],
  ['/api-keys', 1],
  ['/members', 1],
  ['/organization', 1],
  [`/audit-log?operation=${encodeURIComponent(HOSTILE)}`, 0],
  ['/audit-log', 5],
  ['/usage', 0],
];

test('every page shows hostile text as plain text, fits into the window, and has no serious accessibility findings', async () => {
  const { page, problems } = await site.open('/', { width: 390, key });
  page.on('dialog', (dialog) => problems.push(`dialog: ${dialog.message()}`));
  const content = page.locator('#content');
  const timesShown = async () => ((await content.textContent()) ?? '').split(HOSTILE).length - 1;
  for (const [path, times] of PAGES) {
    await page.goto(site.url + path);
    await page.getByRole('navigation', { name: 'Console' }).waitFor();
    await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
    await expect.poll(timesShown).toBeGreaterThanOrEqual(times);
    await content.locator('details').evaluateAll((all) => all.forEach((one) => one.setAttribute('open', '')));
    for (const event of await content.getByRole('button', { name: /^event \d+$/ }).all()) await event.click();
    await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
    const parsed = [
      await content.locator('img, script, iframe, object, embed, style').count(),
      await page.locator('[href^="javascript:" i], [src^="data:" i]').count(),
    ];
    const found = { parsed, overflow: await overflowOf(page), accessibility: await accessibilityFindings(page) };
    expect([path, found]).toEqual([path, { parsed: [0, 0], overflow: 0, accessibility: [] }]);
    await saveScreenshot(page, `hostile-${path.split('/')[1]}`);
  }
  expect(problems).toEqual([]);
});

test('after a failed test of an MCP server its cause is shown, and the answer only quoted as plain text, without the header sent', async () => {
  const { page, problems } = await site.open('/mcp-connections', { key });
  page.on('dialog', (dialog) => problems.push(`dialog: ${dialog.message()}`));
  await openActions(page);
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  const alert = page.getByRole('alert');
  await alert.waitFor();
  expect(await alert.textContent()).toBe(
    `the MCP server answered with HTTP 400 (application/json) at ${new URL(mcp.origin).host}: -32000: "${ANSWER} [hidden]"`,
  );
  expect(await alert.locator('img, script').count()).toBe(0);
  expect(await page.locator('#content').locator('img, script').count()).toBe(0);
  await saveScreenshot(page, 'hostile-mcp-test');
  expect(problems).toEqual([]);
});

test('characters that change the direction of text are shown by their number, in names and in what an agent wrote', async () => {
  const other = await site.createKey();
  const title = 'report\u202Efdp.exe';
  const id = await createSession(site, other.key, { title });
  const event = { type: 'stream_event', deltaType: 'text_delta', itemId: '1', accumulatedText: 'a\u2066b\u202Ec' };
  await mutate(site, other.key, 'appendSessionEvents', {
    sessionId: id,
    events: [{ eventType: 'text', provider: 'anthropic', eventData: event }],
  });
  const { page, problems } = await site.open(`/sessions/${id}`, { key: other.key });
  const content = page.locator('#content');
  await expect.poll(() => content.textContent()).toContain('a[U+2066]b[U+202E]c');
  await expect.poll(() => page.title()).toBe('report[U+202E]fdp.exe – Workspace gateway');
  await page.goto(`${site.url}/sessions`);
  await expect.poll(() => content.textContent()).toContain('report[U+202E]fdp.exe');
  expect(await page.locator('body').textContent()).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/);
  expect(problems).toEqual([]);
});

test('a cut name that is read from right to left shows its beginning, and a long address leaves the other columns whole words', async () => {
  mcp.handler = mcpHandler();
  const { key: own } = await site.createKey();
  await mutate(site, own, 'updateViewer', { name: 'محمد بن عبد الله '.repeat(5).trim() });
  await mutate(site, own, 'inviteOrganizationMember', { email: 'invited@example.com', role: 'MEMBER' });
  const serverUrl = `${mcp.origin}/${'long-path/'.repeat(30)}`;
  const header = { name: 'X-Header', value: 'secret-value' };
  await mutate(site, own, 'createMcpServer', {
    remote: { name: 'Long', serverUrl, authType: 'STATIC_HEADERS', headers: [header] },
  });
  const { page, problems } = await site.open('/members', { key: own });
  const inviter = page.getByRole('row', { name: /invited@example\.com/ }).getByRole('cell', { name: /محمد/ });
  expect(await inviter.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)).toBe(true);
  const beginning = await inviter.evaluate((cell) => {
    const range = document.createRange();
    range.setStart(cell.firstChild ?? cell, 0);
    range.setEnd(cell.firstChild ?? cell, 1);
    return range.getBoundingClientRect().right <= cell.getBoundingClientRect().right;
  });
  expect(beginning).toBe(true);
  await page.goto(`${site.url}/mcp-connections`);
  const visibleTo = page.getByRole('cell', { name: 'The organization' });
  // Two words are at most two lines.
  const lines = await visibleTo.evaluate((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getClientRects().length;
  });
  expect(lines).toBeLessThanOrEqual(2);
  expect(problems).toEqual([]);
});
