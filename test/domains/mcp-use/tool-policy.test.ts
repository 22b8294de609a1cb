import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type UseFixture, answering, post, startUseFixture, toolCall } from '../../support/fixtures/mcp-use.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { mcpHandler } from '../../support/peers/mcp-server.ts';

let fixture: UseFixture;
beforeAll(async () => {
  fixture = await startUseFixture();
  await set({ toolPolicy: { mode: 'ONLY', names: ['add'] } });
});
afterAll(() => fixture.stop());
beforeEach(() => {
  fixture.peer.handler = mcpHandler();
});

async function set(settings: object): Promise<void> {
  const path = `/v1/mcp-connections/${fixture.connectionId}/settings`;
  const { status, text } = await fixture.gateway.rest('PATCH', path, { key: fixture.key, body: settings });
  expect([status, text]).toEqual([200, text]);
}

const rest = (body: object) =>
  fixture.gateway.rest<{ error?: string }>('POST', `/v1/mcp-connections/${fixture.connectionId}/tool-calls`, {
    key: fixture.key,
    body,
  });

const UNKNOWN = { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'Unknown tool: now' } };

test('a tool that is not allowed is answered like an unknown one, over both endpoints, and the server is not asked', async () => {
  const before = fixture.peer.requests.length;
  const answer = await post(fixture, toolCall('now', {}));
  expect([answer.status, await answer.json()]).toEqual([200, UNKNOWN]);
  expect((await rest({ name: 'now' })).body.error).toContain('(-32602): Unknown tool: now');
  expect(fixture.peer.requests.length).toBe(before);
  expect((await rest({ name: 'add', arguments: { a: 1, b: 2 } })).status).toBe(200);
  expect(await (await post(fixture, toolCall())).text()).toContain('"text":"3"');
});

test('the list shows only what is allowed, as a stream and as JSON', async () => {
  const list = { jsonrpc: '2.0', id: 5, method: 'tools/list' };
  const text = `{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"now"},{"name":"add","vendor":12345678901234567890},{"noName":1}],"nextCursor":"x"}}`;
  const shown =
    '{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"add","vendor":12345678901234567890}],"nextCursor":"x"}}';
  fixture.peer.handler = answering(text);
  expect(await (await post(fixture, list)).text()).toBe(shown);
  fixture.peer.handler = answering(`data: ${text}\n\n`, { headers: { 'Content-Type': 'text/event-stream' } });
  expect(await (await post(fixture, list)).text()).toBe(`data: ${shown}\n\n`);
});

test('a list that a client resumes with GET shows only what is allowed, with the ids of its events', async () => {
  const list = '{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"now"},{"name":"add"}]}}';
  const other = 'id: 8\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n';
  fixture.peer.handler = answering(`event: message\nid: 7\ndata: ${list}\n\n${other}`, {
    headers: { 'Content-Type': 'text/event-stream' },
  });
  const resumed = await post(fixture, '', { 'Last-Event-ID': '6' }, { method: 'GET', body: null });
  const shown = '{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"add"}]}}';
  expect(await resumed.text()).toBe(`event: message\nid: 7\ndata: ${shown}\n\n${other}`);
});

test('the body decides, not a header', async () => {
  expect(await (await post(fixture, toolCall('now'), { 'Mcp-Name': 'now' })).json()).toEqual(UNKNOWN);
  expect((await post(fixture, toolCall('now'), { 'Mcp-Name': 'add' })).status).toBe(400);
});

test('a call is no event of its session if the settings say so', async () => {
  await set({ recordToolCalls: 'NONE' });
  const sessionId = await createSession(fixture.gateway, fixture.key);
  expect((await rest({ name: 'add', arguments: { a: 1, b: 2 }, sessionId })).status).toBe(200);
  const events = await fixture.gateway.rest('GET', `/v1/sessions/${sessionId}/events`, { key: fixture.key });
  expect([events.status, events.text]).toEqual([200, expect.not.stringContaining('tool_call')]);
});

test.each([[['now']], [7], [null], [undefined]])(
  'a call whose name is no text (%j) is answered like an unknown tool, and the server is not asked',
  async (name) => {
    const before = fixture.peer.requests.length;
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } };
    const answer = await post(fixture, call);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { ...UNKNOWN, error: { ...UNKNOWN.error, message: 'Unknown tool: ' } },
    ]);
    expect(fixture.peer.requests.length).toBe(before);
  },
);
