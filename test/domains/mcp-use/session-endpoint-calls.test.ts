import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  MODERN_META,
  type UseFixture,
  answering,
  legacyServer,
  modernHeaders,
  postTo,
  readerOf,
  responseIn,
  startUseFixture,
  toolCall,
} from '../../support/fixtures/mcp-use.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { type Handler, mcpHandler } from '../../support/peers/mcp-server.ts';

/** Calls at the endpoint of a session with one server. Comments come often. */
let fixture: UseFixture;
let sessionId: string;
beforeAll(async () => {
  fixture = await startUseFixture({ timing: { upstreamPingMs: 20 } });
});
afterAll(() => fixture.stop());
/** A new connection for each test, because the gateway remembers the generation of a server. */
beforeEach(async () => {
  fixture.peer.handler = mcpHandler();
  const connectionId = await fixture.connect({ name: `s${(count += 1)}` });
  sessionId = await createSession(fixture.gateway, fixture.key, { mcpServers: [connectionId] });
});

let count = 0;
const name = () => `s${count}__add`;
const toCall = () => toolCall(name());

const send = (message: unknown, headers?: Record<string, string>, init?: RequestInit) =>
  postTo(`${fixture.url}/v1/sessions/${sessionId}/mcp`, fixture.key, message, headers, init);
const sendModern = (params: object = {}) =>
  send({ ...toCall(), params: { name: name(), _meta: MODERN_META, ...params } }, modernHeaders('tools/call', name()));

/** A server of the older generation that calls back with the response to the call. */
function held(head = { 'Content-Type': 'text/event-stream' }): { handler: Handler; called: Promise<ServerResponse> } {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const handler = legacyServer((response) => {
    response.writeHead(200, head).flushHeaders();
    resolve(response);
  });
  return { handler, called: promise };
}

interface ModernMessage {
  readonly id: unknown;
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

/** A server of the newest generation that answers calls with this result. */
function modernServer(result: string, onMessage: (message: ModernMessage) => void = () => undefined): Handler {
  const results: Record<string, string> = {
    'server/discover': '{"resultType":"complete","supportedVersions":["2026-07-28"]}',
    'tools/list': '{"resultType":"complete","tools":[]}',
  };
  return (request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const message = JSON.parse(body) as ModernMessage;
      onMessage(message);
      const { id, method } = message;
      answering(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${results[method] ?? result}}`)(
        request,
        response,
      );
    });
  };
}

const event = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
const PROGRESS = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 7, progress: 1 } };
const RESPONSE = { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'done' }] } };

const SERVED = `query ($id: ID!) { session(id: $id) { events(first: 50) { nodes { eventType eventData { toolName itemId accumulatedText deltaType toolResult { status output } } } } } }`;

async function eventsOf() {
  const { data } = await fixture.gateway.graphql<{
    session: { events: { nodes: { eventType: string; eventData: Record<string, unknown> }[] } };
  }>(fixture.key, SERVED, { id: sessionId });
  return data?.session.events.nodes ?? [];
}

test('a call is an entry of the audit log and two events of the session, under the name that the agent used', async () => {
  expect(await responseIn(await send(toCall()))).toContain('"text":"3"');
  const events = await eventsOf();
  expect(events).toMatchObject([
    {
      eventType: 'tool_call',
      eventData: {
        toolName: name(),
        deltaType: 'INPUT_JSON_DELTA',
        accumulatedText: '{"a":1,"b":2}',
        toolResult: { status: 'RUNNING' },
      },
    },
    { eventType: 'tool_result', eventData: { toolName: name(), toolResult: { status: 'COMPLETED', output: '3' } } },
  ]);
  expect(new Set(events.map(({ eventData }) => eventData['itemId'])).size).toBe(1);
  const rows = await fixture.gateway.dependencies.sql.query(
    `select tool_call ->> 'toolName' as tool, tool_call ->> 'outcome' as outcome from audit_entry where tool_call ->> 'sessionId' = $1`,
    [sessionId],
  );
  expect(rows).toEqual([{ tool: 'add', outcome: 'OK' }]);
});

test('progress reaches the caller before the response, and comments keep a silent stream open', async () => {
  const { handler, called } = held();
  fixture.peer.handler = handler;
  const sent = send({ ...toCall(), params: { ...toCall().params, _meta: { progressToken: 7 } } });
  const server = await called;
  const answer = await sent;
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  const reader = readerOf(answer);
  await reader.until((text) => text.includes(': keep-alive\n'));
  server.write(event(PROGRESS));
  await reader.until((text) => text.includes('notifications/progress'));
  server.end(event(RESPONSE));
  const text = (await reader.toEnd()).replaceAll(': keep-alive\n', '');
  expect(text).toBe(event(PROGRESS) + event(RESPONSE));
});

test('a failure after the beginning of a stream is its last event, with the id of the request', async () => {
  const { handler, called } = held();
  fixture.peer.handler = handler;
  const sent = send(toCall());
  const server = await called;
  const answer = await sent;
  server.destroy();
  expect(JSON.parse(await responseIn(answer))).toMatchObject({
    id: 1,
    error: { data: { code: 'UPSTREAM_UNREACHABLE' } },
  });
});

test('a client that leaves cancels the call at the server, and its count ends', async () => {
  for (let round = 0; round < 11; round += 1) {
    const { handler, called } = held();
    fixture.peer.handler = handler;
    const leaving = new AbortController();
    const sent = send(toCall(), {}, { signal: leaving.signal });
    const server = await called;
    const closed = once(server, 'close');
    await sent;
    leaving.abort();
    await closed;
  }
  await expect.poll(async () => (await eventsOf()).length).toBe(22);
});

test('429: calls and lists count among the 10 calls of a key at once', async () => {
  const all = [];
  const leaving = new AbortController();
  for (let sent = 0; sent < 10; sent += 1) {
    const { handler, called } = held();
    fixture.peer.handler = handler;
    all.push(send(toCall(), {}, { signal: leaving.signal }));
    await called;
  }
  for (const message of [toCall(), { jsonrpc: '2.0', id: 1, method: 'tools/list' }]) {
    const answer = await send(message);
    expect([answer.status, await answer.json()]).toMatchObject([
      429,
      { id: 1, error: { data: { code: 'RATE_LIMITED' } } },
    ]);
  }
  leaving.abort();
  await Promise.allSettled(all);
});

test('a session that the server loses is begun anew, once', async () => {
  for (const [losses, ...expected] of [
    [1, 200, JSON.stringify(RESPONSE)],
    [2, 502, expect.stringContaining('has lost its session twice')],
  ]) {
    let lost = 0;
    let begun = 0;
    fixture.peer.handler = (request, response) => {
      const session = request.headers['mcp-session-id'];
      if (session === undefined) {
        begun += 1;
        const init = '{"jsonrpc":"2.0","id":null,"result":{"protocolVersion":"2025-11-25"}}';
        return answering(init, { headers: { 'Mcp-Session-Id': `s${begun}` } })(request, response);
      }
      if (request.headers['mcp-method'] !== undefined) return response.writeHead(400).end();
      return legacyServer((reply) => {
        if (lost === losses) return answering(JSON.stringify(RESPONSE))(request, reply);
        lost += 1;
        return reply.writeHead(404).end();
      })(request, response);
    };
    // Without a stream, the status says how it ended however long it took.
    const answer = await send(toCall(), { Accept: 'application/json' });
    expect([answer.status, await responseIn(answer)]).toEqual(expected);
  }
});

test('input_required and requestState pass both ways; a client of the older generation is told what it needs', async () => {
  const bodies: ModernMessage[] = [];
  const asking =
    '{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create"}},"requestState":"opaque"}';
  fixture.peer.handler = modernServer(asking, (message) => bodies.push(message));
  const params = { inputResponses: { who: { action: 'accept' } }, requestState: 'opaque' };
  expect(await responseIn(await sendModern(params))).toBe(`{"jsonrpc":"2.0","id":1,"result":${asking}}`);
  expect(bodies.at(-1)?.params).toEqual({ ...params, name: 'add', _meta: MODERN_META });
  expect(JSON.parse(await responseIn(await send(toCall())))).toMatchObject({
    result: { isError: true, content: [{ text: expect.stringContaining('asks a person for input') }] },
  });
});

test('a structured result that is no object has another form for clients of the older generation', async () => {
  fixture.peer.handler = modernServer('{"resultType":"complete","content":[],"structuredContent":[1]}');
  expect(await responseIn(await send(toCall()))).toContain('"structuredContent":{"result":[1]}');
  expect(await responseIn(await sendModern())).toContain('"structuredContent":[1]');
});
