import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../src/gateway/rest/openapi.ts';
import { routes } from '../../src/gateway/modules.ts';
import { explore } from '../support/exploration.ts';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { type Peer, mcpHandler, startPeer } from '../support/peers/mcp-server.ts';
import { sampledRuns } from '../support/sample.ts';

/** A document that REST returns can be sent back unchanged, without the fields that openapi.json marks as read-only. */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let server: Peer;
let key: string;
beforeAll(async () => {
  server = await startPeer(mcpHandler());
  ({ key } = await gateway.createKey());
});
afterAll(() => server.stop());

type Document = Readonly<Record<string, unknown>>;
const { schemas } = (
  openApiDocument(routes) as {
    components: { schemas: Record<string, { properties?: Record<string, { readOnly?: boolean }> }> };
  }
).components;

/** The fields of a document that a client may send. */
function writable(schema: string, document: Document): Document {
  const { properties = {} } = schemas[schema] ?? {};
  const sent = Object.entries(document).filter(([name]) => properties[name]?.readOnly !== true);
  expect(sent.length).toBeGreaterThan(0);
  return Object.fromEntries(sent);
}

async function ask(method: string, path: string, body?: object): Promise<Document> {
  const answer = await gateway.rest<Document>(method, path, { key, ...(body && { body }) });
  if (answer.status > 201) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

const storable = (value: string) => !value.includes('\0') && value.isWellFormed();
const text = (max: number) => fc.string({ unit: 'grapheme', minLength: 1, maxLength: max }).filter(storable);
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const uuid = fc.uuid();
const counts = fc.record({ additions: fc.nat(), deletions: fc.nat() });

const session = fc.record(
  {
    title: text(50),
    description: maybe(text(200)),
    kind: text(20),
    sessionType: fc.constantFrom('Chat', 'Terminal'),
    mode: fc.constantFrom('normal', 'planning'),
    visibility: fc.constantFrom('public', 'private'),
    level: fc.integer({ min: 0, max: 100 }),
    agent: maybe(text(50)),
    agentId: maybe(uuid),
    artifactType: maybe(fc.constantFrom('PullRequest', 'Plan', 'Source')),
    baseBranch: maybe(text(50)),
    branchName: maybe(text(50)),
    targetBranch: maybe(text(50)),
    projectId: maybe(fc.oneof(text(50), uuid)),
    project: maybe(fc.record({ id: uuid, name: text(20), icon: fc.constantFrom('bug', 'cloud') })),
    sandboxSize: maybe(fc.constantFrom('nano', 'ultra')),
    mcpServers: maybe(fc.subarray(['Files', 'Mail', 'Own'])),
    externalId: maybe(text(50)),
    externalUrl: maybe(fc.webUrl()),
    diffSummary: maybe(counts),
    source: maybe(fc.record({ name: text(20), type: text(20) })),
  },
  { requiredKeys: ['title'] },
);

test('a session that was read can be sent to PATCH, which changes only the fields that differ, and to POST, which creates an equal session', async () => {
  for (const [name, visibility] of [
    ['Files', 'shared'],
    ['Mail', 'shared'],
    ['Own', 'personal'],
  ])
    await ask('POST', '/v1/mcp-connections', { type: 'stdio', name, command: 'npx', visibility });
  const change = fc.record({ level: fc.integer({ min: 0, max: 100 }), agent: maybe(text(20)) }, { requiredKeys: [] });
  await explore(sampledRuns(60, 10), fc.tuple(session, change), async ([input, changes]) => {
    const { id } = await ask('POST', '/v1/sessions', input);
    const path = `/v1/sessions/${String(id)}`;
    const before = await ask('GET', path);
    const body = writable('Session', before);
    const { updatedAt: _, ...kept } = before;
    expect(await ask('PATCH', path, body)).toMatchObject(kept);
    expect(await ask('PATCH', path, { ...body, ...changes })).toMatchObject({ ...kept, ...changes });
    const copy = await ask('POST', '/v1/sessions', body);
    expect(writable('Session', copy)).toEqual(body);
  });
});

test('an MCP connection that was read can be sent to PATCH, which changes nothing', async () => {
  const serverUrl = `${server.origin}/mcp`;
  const visibility = fc.constantFrom('shared', 'personal');
  const env = fc.dictionary(fc.constantFrom('TOKEN', 'PATH'), text(20), { noNullPrototype: true });
  const connection = fc.oneof(
    fc.record({
      type: fc.constant('stdio'),
      command: text(30),
      args: fc.array(text(20), { maxLength: 3 }),
      env,
      visibility,
    }),
    fc.record({ serverUrl: fc.constant(serverUrl), visibility }),
    fc.record({
      serverUrl: fc.constant(serverUrl),
      authType: fc.constant('static_headers'),
      headers: fc.constant({ 'X-Team': 'shop' }),
      visibility,
    }),
  );
  let count = 0;
  await explore(sampledRuns(40, 8), connection, async (input) => {
    const created = await ask('POST', '/v1/mcp-connections', { name: `Connection ${(count += 1)}`, ...input });
    const { id } = created['connection'] as { id: string };
    const path = `/v1/mcp-connections/${id}`;
    const before = await ask('GET', path);
    const { updatedAt: _, ...kept } = before;
    expect(await ask('PATCH', path, writable('McpConnection', before))).toMatchObject(kept);
    expect(await ask('GET', path)).toMatchObject(kept);
  });
});

test('events that were read can be sent to POST, which appends equal events', async () => {
  const json = fc.jsonValue({ maxDepth: 3 });
  const safe = (value: unknown) => !/\\u(?:0000|d[89a-f])|__proto__/.test(JSON.stringify(value));
  const event = fc.record(
    {
      eventType: text(30),
      provider: text(30),
      messageId: maybe(uuid),
      createdAt: maybe(fc.constant('2026-03-01T10:20:30.5+02:00')),
      eventData: fc.record(
        { type: text(20), delivery: maybe(text(10)), more: json.filter(safe) },
        { requiredKeys: ['type'] },
      ),
    },
    { requiredKeys: ['eventType', 'provider', 'eventData'] },
  );
  await explore(sampledRuns(40, 8), fc.array(event, { minLength: 1, maxLength: 5 }), async (events) => {
    const { id } = await ask('POST', '/v1/sessions', { title: 'One' });
    const path = `/v1/sessions/${String(id)}/events`;
    await ask('POST', path, { events });
    const { items } = (await ask('GET', path)) as { items: Document[] };
    const sent = items.map((item) => writable('SessionEvent', item));
    await ask('POST', path, { events: sent });
    const again = (await ask('GET', `${path}?cursor=${items.length}`)) as { items: Document[] };
    expect(again.items.map((item) => writable('SessionEvent', item))).toEqual(sent);
  });
});

test('an API key that was read can be sent to POST, which creates a key with the same rights', async () => {
  const { key: unbound } = await gateway.createKey();
  const read = fc.record({
    name: text(50),
    scopes: fc.subarray(['sessions.read', 'sessions.record', 'social'], { minLength: 1 }),
    expiresAt: maybe(fc.constant('2040-01-01T00:00:00.000Z')),
  });
  await explore(sampledRuns(10, 3), read, async (input) => {
    const answer = await gateway.rest<Document>('POST', '/v1/api-keys', { key: unbound, body: input });
    const body = writable('ApiKey', Object.fromEntries(Object.entries(answer.body).filter(([name]) => name !== 'key')));
    const copy = await gateway.rest<Document>('POST', '/v1/api-keys', { key: unbound, body });
    expect([copy.status, writable('CreatedApiKey', copy.body)]).toEqual([201, body]);
    for (const { id } of [answer.body, copy.body])
      await gateway.rest('DELETE', `/v1/api-keys/${String(id)}`, { key: unbound });
  });
});
