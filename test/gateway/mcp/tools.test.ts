import { beforeAll, describe, expect, test } from 'vitest';
import type { Scope } from '../../../src/core/access.ts';
import { indexSessions } from '../../../src/domains/session-events/search-index.ts';
import { callTool, connectClient, resultOf } from '../../support/fixtures/mcp-client.ts';
import { type ServedGateway, startServedGateway } from '../../support/fixtures/served-gateway.ts';

let gateway: ServedGateway;
beforeAll(async () => {
  gateway = await startServedGateway({ MCP_MUTATIONS: 'true' });
});

const READS = [
  'list_event_definitions',
  'list_mcp_connections',
  'list_sessions',
  'read_session',
  'read_session_events',
  'search_sessions',
];
const WRITES = [
  'append_session_events',
  'create_event_definition',
  'create_session',
  'send_event_occurrences',
  'set_session_state',
];

async function toolNames(key: string, url = gateway.url): Promise<string[]> {
  const client = await connectClient(url, key);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name).toSorted();
}

interface Created {
  createSession: { session: { databaseId: string; state: { current: string } } };
}

describe.each(['auto', 'legacy'] as const)('the official client, mode %s', (mode) => {
  test('lists and calls every tool', async () => {
    const { key } = await gateway.createKey();
    const client = await connectClient(gateway.url, key, mode);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual([...READS, ...WRITES].toSorted());

    const { createSession } = await resultOf<Created>(client, 'create_session', {
      title: 'Fix it',
      description: 'All',
    });
    const sessionId = createSession.session.databaseId;
    await resultOf(client, 'set_session_state', { sessionId, state: 'IN_PROGRESS' });
    const event = {
      eventType: 'text',
      provider: 'test',
      eventData: { type: 'text', accumulatedText: 'It fails.', source: 'assistant' },
    };
    const batch = { sessionId, events: [event, event], batchId: 'one' };
    const appended = { appendSessionEvents: { firstId: '1', lastId: '2', isReplayed: false } };
    expect(await resultOf(client, 'append_session_events', batch)).toEqual(appended);
    expect(await resultOf(client, 'append_session_events', batch)).toEqual({
      appendSessionEvents: { ...appended.appendSessionEvents, isReplayed: true },
    });
    await resultOf(client, 'set_session_state', { sessionId, state: 'FAILED' });
    expect(await resultOf(client, 'list_sessions', { states: ['FAILED'] })).toMatchObject({
      viewer: { organization: { sessions: { nodes: [{ databaseId: sessionId, title: 'Fix it' }] } } },
    });
    const pageInfo = { hasNextPage: false, endCursor: '2', hasPreviousPage: false, startCursor: '1' };
    const note = { kind: 'AGENT_MESSAGE', turn: 0, isFailed: false, isOpen: false };
    expect(await resultOf(client, 'read_session', { sessionId })).toMatchObject({
      session: {
        description: 'All',
        state: { current: 'FAILED' },
        turns: 0,
        entries: { nodes: [{ databaseId: 1 }, { databaseId: 2, ...note, text: 'It fails.' }], pageInfo },
      },
    });
    expect(await resultOf(client, 'read_session', { sessionId, before: '2' })).toMatchObject({
      session: { entries: { nodes: [{ databaseId: 1 }], pageInfo: { hasNextPage: true } } },
    });
    expect(await resultOf(client, 'read_session_events', { sessionId, last: 1 })).toMatchObject({
      sessionEvents: { nodes: [{ databaseId: 2, eventData: { accumulatedText: 'It fails.' } }] },
    });
    while ((await indexSessions(gateway.dependencies.database.em)) > 0);
    expect(await resultOf(client, 'search_sessions', { text: '"it fails" IT', first: 1 })).toMatchObject({
      viewer: {
        organization: {
          sessionSearch: {
            nodes: [{ session: { databaseId: sessionId, title: 'Fix it' }, eventId: 2, excerpt: 'It fails.' }],
            pageInfo: { hasNextPage: true },
          },
        },
      },
    });
    expect(await resultOf(client, 'read_session_events', { sessionId, first: 1, text: 'fails' })).toMatchObject({
      sessionEvents: { nodes: [{ databaseId: 1 }], pageInfo: { hasNextPage: true } },
    });
    await resultOf(client, 'create_event_definition', {
      label: 'Seen',
      propertyDefinitions: [{ label: 'Total', type: 'NUMBER' }],
    });
    expect(await resultOf(client, 'list_event_definitions', { search: 'see' })).toMatchObject({
      viewer: {
        organization: {
          eventDefinitions: { nodes: [{ name: 'seen', properties: [{ name: 'total', type: 'NUMBER' }] }] },
        },
      },
    });
    const inputs = [{ eventName: 'seen', email: 'ann@example.com', properties: { total: 1 }, uuid: 'once' }];
    expect(await resultOf(client, 'send_event_occurrences', { inputs })).toEqual({
      sendEventOccurrences: { acceptedCount: 1 },
    });
    expect(await resultOf(client, 'list_mcp_connections')).toMatchObject({
      viewer: { organization: { mcpServers: { nodes: [] } } },
    });
    await client.close();
  });
});

test('each tool has a description, annotations and a schema whose arguments are described', async () => {
  const client = await connectClient(gateway.url, (await gateway.createKey()).key);
  const { tools } = await client.listTools();
  // 4,000 tokens of the usual tokenizers are about 16,000 characters.
  expect(JSON.stringify(tools).length).toBeLessThan(14_000);
  for (const { name, description, annotations, inputSchema } of tools) {
    expect([name, description?.length]).toEqual([name, expect.any(Number)]);
    expect([name, annotations?.readOnlyHint]).toEqual([name, READS.includes(name)]);
    for (const [argument, schema] of Object.entries(inputSchema.properties ?? {}))
      expect([name, argument, schema]).toEqual([
        name,
        argument,
        expect.objectContaining({ description: expect.any(String) }),
      ]);
  }
  expect(tools.find(({ name }) => name === 'set_session_state')).toMatchInlineSnapshot(`
    {
      "annotations": {
        "destructiveHint": true,
        "idempotentHint": true,
        "openWorldHint": false,
        "readOnlyHint": false,
      },
      "description": "Starts, completes, fails or cancels a session.",
      "inputSchema": {
        "additionalProperties": false,
        "properties": {
          "sessionId": {
            "description": "databaseId of the session.",
            "type": "string",
          },
          "state": {
            "description": "The new state.",
            "enum": [
              "CANCELLED",
              "COMPLETED",
              "FAILED",
              "IN_PROGRESS",
              "QUEUED",
            ],
            "type": "string",
          },
        },
        "required": [
          "sessionId",
          "state",
        ],
        "type": "object",
      },
      "name": "set_session_state",
    }
  `);
  await client.close();
});

test('a key sees the tools for which it has the scopes, and a call of another one is refused', async () => {
  const seen = async (scopes: readonly Scope[]) => toolNames((await gateway.createKey({ scopes })).key);
  expect(await seen(['sessions.read'])).toEqual([
    'list_sessions',
    'read_session',
    'read_session_events',
    'search_sessions',
  ]);
  expect(await seen(['analytics.behavioral_events.send'])).toEqual(['send_event_occurrences']);
  expect(await seen(['social'])).toEqual([]);
  const { key } = await gateway.createKey({ scopes: ['social'] });
  const client = await connectClient(gateway.url, key);
  expect(await callTool(client, 'create_session', { title: 'T' })).toEqual({
    isError: true,
    text: 'FORBIDDEN: the API key lacks the scope sessions.record',
  });
  await client.close();
});

describe('a gateway without MCP_MUTATIONS', () => {
  let reading: ServedGateway;
  beforeAll(async () => {
    reading = await startServedGateway();
  });

  test('has only the tools that read, and does not know the others', async () => {
    const { key } = await reading.createKey();
    expect(await toolNames(key, reading.url)).toEqual(READS);
    const client = await connectClient(reading.url, key);
    await expect(client.callTool({ name: 'create_session', arguments: { title: 'T' } })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('unknown tool: create_session'),
    });
    await client.close();
  });
});

test('hostile arguments get typed errors, and change nothing', async () => {
  const { key } = await gateway.createKey();
  const client = await connectClient(gateway.url, key);
  const { createSession } = await resultOf<Created>(client, 'create_session', { title: 'T' });
  const sessionId = createSession.session.databaseId;
  const foreign = (await connectedElsewhere()).sessionId;
  const calls: [string, Record<string, unknown>, RegExp][] = [
    ['read_session_events', { sessionId: foreign }, /^NOT_FOUND: /],
    ['read_session_events', { sessionId: "' or 1=1 --" }, /^(?:NOT_FOUND|INVALID_INPUT): /],
    ['read_session_events', { sessionId, first: 1_000_000 }, /^TOO_COSTLY: /],
    ['read_session_events', { sessionId, first: 0 }, /^INVALID_INPUT: /],
    ['read_session_events', { sessionId, first: 'many' }, /^INVALID_INPUT: /],
    ['read_session_events', { sessionId, first: 1, last: 1 }, /^INVALID_INPUT: /],
    ['read_session_events', {}, /^INVALID_INPUT: /],
    ['read_session', { sessionId: null }, /^INVALID_INPUT: /],
    ['list_sessions', { states: ['LOST'] }, /^INVALID_INPUT: /],
    ['list_sessions', { after: '\u0000' }, /^INVALID_INPUT: /],
    ['search_sessions', { text: '' }, /^INVALID_INPUT: text: /],
    ['search_sessions', { text: '" \u0000 !' }, /^INVALID_INPUT: text: /],
    ['search_sessions', { text: 'x'.repeat(10_000) }, /^INVALID_INPUT: text: /],
    ['search_sessions', { text: { like: '%' } }, /^INVALID_INPUT: /],
    ['list_sessions', { query: '{ viewer { user { email } } }' }, /^INVALID_INPUT: query: is not an argument/],
    ['list_sessions', { __proto__: null, constructor: 1 }, /^INVALID_INPUT: constructor: is not an argument/],
    ['list_sessions', { ['__proto__']: 1 }, /^INVALID_INPUT: __proto__: is not an argument/],
    ['create_session', { title: 'x'.repeat(100_000) }, /^INVALID_INPUT: title: /],
    ['set_session_state', { sessionId, state: 'COMPLETED' }, /^CONFLICT: /],
    ['set_session_state', { sessionId: foreign, state: 'CANCELLED' }, /^NOT_FOUND: /],
    ['append_session_events', { sessionId, events: [{}] }, /^INVALID_INPUT: /],
    ['append_session_events', { sessionId, events: 'x' }, /^INVALID_INPUT: /],
    ['send_event_occurrences', { inputs: [{ eventName: 'nothing', properties: {} }] }, /^NOT_FOUND: /],
    ['create_event_definition', { label: '!!' }, /^INVALID_INPUT: label: /],
  ];
  for (const [name, args, error] of calls) {
    const { isError, text } = await callTool(client, name, args);
    expect([name, args, isError, text]).toEqual([name, args, true, expect.stringMatching(error)]);
  }
  expect(await resultOf(client, 'read_session', { sessionId: foreign })).toEqual({ session: null });
  expect(await resultOf(client, 'list_sessions')).toMatchObject({
    viewer: { organization: { sessions: { nodes: [{ title: 'T', state: { current: 'QUEUED' } }] } } },
  });
  await client.close();
});

async function connectedElsewhere() {
  const client = await connectClient(gateway.url, (await gateway.createKey()).key);
  const { createSession } = await resultOf<Created>(client, 'create_session', { title: 'Foreign' });
  await client.close();
  return { sessionId: createSession.session.databaseId };
}
