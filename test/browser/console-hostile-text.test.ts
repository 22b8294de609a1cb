import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { PROJECT_ID, SOURCE_ID, createSession, mutate } from '../support/fixtures/sessions.ts';
import { type Peer, mcpHandler, startPeer } from '../support/peers/mcp-server.ts';
import {
  type OpenPage,
  type TestBrowser,
  accessibilityFindings,
  overflowOf,
  patience,
  startBrowser,
} from '../support/processes/browser.ts';

/** Everything that others can write is hostile here; the console shows it, as the text that it is. */

const HOSTILE = '<img src=x onerror=alert(1)><script>1</script>';
const DEFINITION = 'hostile_event';

let gateway: TestGateway;
let server: RunningServer;
let browser: TestBrowser;
let mcp: Peer;
let key: string;
let sessionId: string;
let opened: OpenPage | undefined;

beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  browser = await startBrowser();
  mcp = await startPeer(mcpHandler());
  ({ key } = await gateway.createKey());
  await writeEverywhere();
  mcp.handler = (request, response) => {
    request.resume();
    response.writeHead(400, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 0, error: { code: -32_000, message: HOSTILE, data: HOSTILE } }));
  };
});
afterEach(() => opened?.page.close());
afterAll(async () => {
  await browser.close();
  await server.stop(1_000);
  await mcp.stop();
  await gateway.close();
});

async function change(name: string, input: object): Promise<void> {
  const { __typename, ...refusal } = await mutate(gateway, key, name, input);
  if (!__typename.endsWith('Payload')) throw new Error(`${name}: ${JSON.stringify(refusal)}`);
}

async function writeEverywhere(): Promise<void> {
  const { data } = await gateway.graphql<{ viewer: { organization: { id: string } } }>(
    key,
    '{ viewer { organization { id } } }',
  );
  await change('updateOrganization', { organizationId: data?.viewer.organization.id, name: HOSTILE });
  await change('updateViewer', { name: HOSTILE });
  await change('createApiKey', { name: HOSTILE, scopes: ['SESSIONS_READ'] });
  await writeSession();
  await writeDefinition();
  await change('createMcpServer', {
    remote: {
      name: HOSTILE,
      serverUrl: `${mcp.origin}/?q='onerror=alert(1)`,
      authType: 'STATIC_HEADERS',
      headers: [{ name: 'X-Header', value: HOSTILE }],
    },
  });
}

async function writeSession(): Promise<void> {
  sessionId = await createSession(gateway, key, {
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
  await change('appendSessionEvents', { sessionId, events });
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

/** The pages, and how often at least each shows the text. */
const PAGES: readonly (readonly [name: string, path: () => string, times: number])[] = [
  ['Sessions', () => '/sessions', 3],
  ['a session', () => `/sessions/${sessionId}`, 12],
  ['Event definitions', () => '/event-definitions', 2],
  ['an event definition', () => `/event-definitions/${DEFINITION}`, 8],
  ['an event definition that is not there', () => `/event-definitions/${encodeURIComponent(HOSTILE)}`, 0],
  ['MCP connections', () => '/mcp-connections', 1],
  ['API keys', () => '/api-keys', 1],
  ['Members', () => '/members', 1],
  ['Audit log', () => `/audit-log?operation=${encodeURIComponent(HOSTILE)}`, 0],
  ['Audit log, all of it', () => '/audit-log', 5],
  ['Usage', () => '/usage', 0],
];

test.each(PAGES)('%s shows what others wrote as text', async (_, path, times) => {
  opened = await browser.open(server.url + path(), { width: 390, key });
  const { page, complaints } = opened;
  page.on('dialog', (dialog) => complaints.push(`dialog: ${dialog.message()}`));
  const content = page.locator('#content');
  const timesShown = async () => ((await content.textContent()) ?? '').split(HOSTILE).length - 1;
  await page.getByRole('navigation', { name: 'Console' }).waitFor();
  await expect.poll(() => page.getByText('Loading…').count(), patience).toBe(0);
  await expect.poll(timesShown, patience).toBeGreaterThanOrEqual(times);
  await content.locator('details').evaluateAll((all) => all.forEach((one) => one.setAttribute('open', '')));
  for (const event of await content.getByRole('button', { name: /^event \d+$/ }).all()) await event.click();
  expect(await content.locator('img, script, iframe, object, embed, style').count()).toBe(0);
  expect(await page.locator('[href^="javascript:" i], [src^="data:" i]').count()).toBe(0);
  expect(await overflowOf(page)).toBe(0);
  expect(await accessibilityFindings(page)).toEqual([]);
  await browser.keep(page, `hostile-${path().split('/')[1]}`);
  expect(complaints).toEqual([]);
});

test('what an MCP server answers to a test, and what the API says of it, is shown as text', async () => {
  opened = await browser.open(`${server.url}/mcp-connections`, { key });
  const { page, complaints } = opened;
  page.on('dialog', (dialog) => complaints.push(`dialog: ${dialog.message()}`));
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await page.getByRole('alert').waitFor();
  expect(await page.locator('#content').locator('img, script').count()).toBe(0);
  await browser.keep(page, 'hostile-mcp-test');
  expect(complaints).toEqual([]);
});
