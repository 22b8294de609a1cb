import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type UseFixture,
  answering,
  legacyServer,
  post,
  startUseFixture,
  toolCall,
} from '../../support/fixtures/mcp-use.ts';
import { createSession, moveTo } from '../../support/fixtures/sessions.ts';
import { mcpHandler } from '../../support/peers/mcp-server.ts';

let fixture: UseFixture;
let connectionId: string;
beforeAll(async () => {
  fixture = await startUseFixture();
});
afterAll(() => fixture.stop());
beforeEach(async () => {
  fixture.peer.handler = mcpHandler();
  connectionId = await fixture.connect();
});

const AUDIT = `query ($targets: [ID!]) { viewer { organizations { nodes { auditLog(
  filter: { operations: ["callMcpTool"], targetIds: $targets } orderBy: { field: OCCURRED_AT, direction: ASC }
) { nodes { operation targetType targetId refusal requestId apiKey { databaseId }
  toolCall { toolName sessionId outcome durationMs bytes } } } } } } }`;

async function recorded() {
  interface Data {
    viewer: { organizations: { nodes: { auditLog: { nodes: Record<string, unknown>[] } }[] } };
  }
  const { data, errors } = await fixture.gateway.graphql<Data>(fixture.key, AUDIT, { targets: [connectionId] });
  expect(errors).toBeUndefined();
  return data?.viewer.organizations.nodes[0]?.auditLog.nodes ?? [];
}
const outcomes = async () =>
  (await recorded()).map(({ toolCall: call }) => (call as { outcome: string | null }).outcome);

const through = (message: unknown = toolCall(), headers: Record<string, string> = {}) =>
  post({ ...fixture, connectionId }, message, headers).then((answer) => answer.text());
const rest = (body: object) =>
  fixture.gateway.rest<{ isError?: boolean; error?: string }>(
    'POST',
    `/v1/mcp-connections/${connectionId}/tool-calls`,
    {
      key: fixture.key,
      body,
    },
  );

const SECRET = 'a-secret-argument';

test('each call of a tool has one entry with caller, tool, outcome, duration and size, and neither arguments nor results', async () => {
  await through(toolCall('add', { a: 1, b: 2, note: SECRET }), { 'X-Request-Id': 'mine' });
  await through({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
  expect(await recorded()).toEqual([
    {
      operation: 'callMcpTool',
      targetType: 'McpServer',
      targetId: Buffer.from(`McpServer:${connectionId}`).toString('base64'),
      refusal: null,
      requestId: 'mine',
      apiKey: { databaseId: expect.any(String) },
      toolCall: {
        toolName: 'add',
        sessionId: null,
        outcome: 'OK',
        durationMs: expect.any(Number),
        bytes: expect.any(Number),
      },
    },
  ]);
  const rows = await fixture.gateway.dependencies.sql.query('select to_jsonb(a)::text as row from audit_entry a', []);
  expect(JSON.stringify(rows)).not.toContain(SECRET);
  expect(fixture.gateway.logged.join('')).not.toContain(SECRET);
});

test('the outcome tells transport, JSON-RPC and tool failure apart, over both endpoints', async () => {
  const ok = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}';
  const failing = '{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}';
  const refused = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool"}}';
  const asEvents = (text: string) =>
    answering(`data: ${text}\n\n`, { headers: { 'Content-Type': 'text/event-stream' } });
  const EXPECTED = ['OK', 'TOOL_ERROR', 'JSON_RPC_ERROR', 'TRANSPORT_ERROR'];
  for (const text of [ok, failing, refused, '']) {
    fixture.peer.handler = answering(text, {
      status: text === '' ? 503 : 200,
      headers: { 'Content-Type': text === '' ? 'text/plain' : 'application/json' },
    });
    await through();
  }
  for (const text of [ok, failing, refused, '']) {
    fixture.peer.handler = asEvents(text);
    await through();
  }
  for (const result of ['"result":{"content":[]}', '"result":{"isError":true}', '"error":{"code":1,"message":"x"}']) {
    fixture.peer.handler = legacyServer(result);
    await rest({ name: 'add' });
  }
  fixture.peer.handler = (request) => request.socket.destroy();
  await rest({ name: 'add' });
  expect(await outcomes()).toEqual([...EXPECTED, ...EXPECTED, ...EXPECTED]);
});

test('calls that begin and end together have their own entries, each with its own outcome', async () => {
  const ANSWERS: Record<string, string> = {
    good: '"result":{"content":[]}',
    failing: '"result":{"content":[],"isError":true}',
    unknown: '"error":{"code":-32602,"message":"Unknown tool"}',
  };
  const waiting: (() => void)[] = [];
  fixture.peer.handler = (request, response) => {
    void json(request).then((message) => {
      const { name } = (message as { params: { name: string } }).params;
      waiting.push(() => {
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.end(`{"jsonrpc":"2.0","id":1,${ANSWERS[name]}}`);
      });
      if (waiting.length === 9) for (const answer of waiting) answer();
    });
  };
  const names = Object.keys(ANSWERS).flatMap((name) => [name, name, name]);
  await Promise.all(names.map((name) => through(toolCall(name))));
  const found = (await recorded()).map(({ toolCall: call }) => call as { toolName: string; outcome: string });
  expect(found.map(({ toolName, outcome }) => `${toolName} ${outcome}`).toSorted()).toEqual([
    ...repeat('failing TOOL_ERROR'),
    ...repeat('good OK'),
    ...repeat('unknown JSON_RPC_ERROR'),
  ]);
});

const repeat = (text: string) => [text, text, text];

test('the entry is open while the call runs, and completed when the caller leaves', async () => {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  fixture.peer.handler = (request, response) => {
    request.resume();
    resolve(response);
  };
  const leaving = new AbortController();
  const call = post({ ...fixture, connectionId }, toolCall(), {}, { signal: leaving.signal });
  const server = await promise;
  expect(await outcomes()).toEqual([null]);
  const closed = once(server, 'close');
  leaving.abort();
  await expect(call).rejects.toThrow('aborted');
  await closed;
  await expect.poll(outcomes).toEqual(['TRANSPORT_ERROR']);
});

test('a call is recorded whatever its id and its name are', async () => {
  fixture.peer.handler = answering('', { status: 202 });
  await through({ jsonrpc: '2.0', method: 'tools/call', params: { name: `\0\ud800${'x'.repeat(300)}` } });
  await through({ jsonrpc: '2.0', method: 'tools/call', params: { name: 5 } });
  expect((await recorded()).map(({ toolCall: call }) => (call as { toolName: string }).toolName)).toEqual([
    `\uFFFD\uFFFD${'x'.repeat(198)}`,
    '',
  ]);
});

test('calls are counted by outcome with their duration', async () => {
  await through();
  const metrics = await (await fixture.gateway.fetch('/metrics')).text();
  expect(metrics).toMatch(/gateway_mcp_tool_call_duration_seconds_count\{outcome="OK"\} [1-9]/);
});

const EVENTS = `query ($id: ID!) { sessionEvents(sessionId: $id) { nodes { eventType provider eventDataJson } } }`;

async function eventsOf(sessionId: string) {
  const { data, errors } = await fixture.gateway.graphql<{
    sessionEvents: { nodes: { eventType: string; provider: string; eventDataJson: object }[] };
  }>(fixture.key, EVENTS, { id: sessionId });
  expect(errors).toBeUndefined();
  return data?.sessionEvents.nodes ?? [];
}

test('the audit log and the session tell the same outcome of a call', async () => {
  const answers = {
    '"result":{"content":[]}': ['OK', 'completed'],
    '"result":{"content":[],"isError":true}': ['TOOL_ERROR', 'error'],
    '"error":{"code":1,"message":"x"}': ['JSON_RPC_ERROR', 'error'],
    '"result":null': ['JSON_RPC_ERROR', 'error'],
    '"result":"text"': ['JSON_RPC_ERROR', 'error'],
  };
  for (const [answer, expected] of Object.entries(answers)) {
    const sessionId = await createSession(fixture.gateway, fixture.key);
    fixture.peer.handler = legacyServer(answer);
    await rest({ name: 'add', sessionId });
    const [, end] = await eventsOf(sessionId);
    const [outcome, status] = expected;
    expect([answer, (await outcomes()).at(-1)]).toEqual([answer, outcome]);
    expect([answer, end?.eventDataJson]).toMatchObject([answer, { toolResult: { status } }]);
  }
});

test('a call of a session is two of its events: the call with its arguments, and its result', async () => {
  const sessionId = await createSession(fixture.gateway, fixture.key);
  expect((await rest({ name: 'add', arguments: { a: 1, b: 2 }, sessionId })).status).toBe(200);
  const events = await eventsOf(sessionId);
  const common = { itemId: expect.any(String), toolName: 'add' };
  expect(events).toEqual([
    {
      eventType: 'tool_call',
      provider: 'mcp',
      eventDataJson: {
        type: 'tool_call',
        ...common,
        deltaType: 'input_json_delta',
        accumulatedText: '{"a":1,"b":2}',
        toolResult: { status: 'running' },
      },
    },
    {
      eventType: 'tool_result',
      provider: 'mcp',
      eventDataJson: { type: 'tool_result', ...common, toolResult: { status: 'completed', output: '3' } },
    },
  ]);
  const [first, second] = events.map(({ eventDataJson }) => (eventDataJson as { itemId: string }).itemId);
  expect(first).toBe(second);
  expect((await recorded())[0]?.['toolCall']).toMatchObject({
    sessionId: Buffer.from(`Session:${sessionId}`).toString('base64'),
  });
});

test('the recorded output is cut at 64 KiB between characters, and a failure is an error', async () => {
  const sessionId = await createSession(fixture.gateway, fixture.key);
  const text = `\0${'ß'.repeat(64 * 1024)}`;
  fixture.peer.handler = legacyServer(
    `"result":{"content":[{"type":"text","text":${JSON.stringify(text)}},{"type":"image"}]}`,
  );
  await rest({ name: 'add', sessionId });
  fixture.peer.handler = (request) => request.socket.destroy();
  expect((await rest({ name: 'add', sessionId })).status).toBe(502);
  const results = (await eventsOf(sessionId)).map(
    ({ eventDataJson }) => (eventDataJson as { toolResult: { status: string; output?: string } }).toolResult,
  );
  expect(results.map(({ status }) => status)).toEqual(['running', 'completed', 'running', 'error']);
  const output = results[1]?.output ?? '';
  expect(output).toMatch(/^\uFFFDß+$/);
  expect(Buffer.byteLength(output)).toBeGreaterThan(64 * 1024 - 4);
  expect(Buffer.byteLength(output)).toBeLessThanOrEqual(64 * 1024);
});

test('the tool is not called for a session that the caller cannot record', async () => {
  const finished = await createSession(fixture.gateway, fixture.key);
  await moveTo(fixture.gateway, fixture.key, finished, 'IN_PROGRESS', 'COMPLETED');
  const before = fixture.peer.requests.length;
  expect((await rest({ name: 'add', sessionId: finished })).status).toBe(409);
  expect((await rest({ name: 'add', sessionId: crypto.randomUUID() })).status).toBe(404);
  const { key } = await fixture.gateway.createKey({
    organization: fixture.organization,
    scopes: ['mcp_connections.use'],
  });
  const mine = await createSession(fixture.gateway, fixture.key);
  const answer = await fixture.gateway.rest('POST', `/v1/mcp-connections/${connectionId}/tool-calls`, {
    key,
    body: { name: 'add', sessionId: mine },
  });
  expect(answer.status).toBe(403);
  expect(fixture.peer.requests.length).toBe(before);
});
