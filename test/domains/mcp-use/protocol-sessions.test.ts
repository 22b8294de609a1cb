import { afterAll, beforeAll, expect, test } from 'vitest';
import { type UseFixture, post, startUseFixture, toolCall } from '../../support/fixtures/mcp-use.ts';
import type { Handler } from '../../support/peers/mcp-server.ts';

let fixture: UseFixture;
let otherConnection: string;
beforeAll(async () => {
  fixture = await startUseFixture();
  otherConnection = await fixture.connect();
  fixture.peer.handler = counting();
});
afterAll(() => fixture.stop());

/** The sessions of the server, each with the number of its calls. */
const sessions = new Map<string, number>();

/** A server of the generation with sessions: each has its own counter. */
function counting(): Handler {
  return (request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const { id = null, method = '' } = (body === '' ? {} : JSON.parse(body)) as { id?: number; method?: string };
      const given = String(request.headers['mcp-session-id'] ?? '');
      const reply = (status: number, result: object, headers = {}) =>
        response
          .writeHead(status, { 'Content-Type': 'application/json', ...headers })
          .end(JSON.stringify({ jsonrpc: '2.0', id, ...result }));
      if (method === 'initialize') {
        const session = `session-${sessions.size + 1}`;
        sessions.set(session, 0);
        return reply(200, { result: { protocolVersion: '2025-11-25' } }, { 'Mcp-Session-Id': session });
      }
      const calls = sessions.get(given);
      if (calls === undefined) return reply(404, { error: { code: -32001, message: 'Session not found' } });
      if (request.method === 'DELETE') {
        sessions.delete(given);
        return response.writeHead(204).end();
      }
      sessions.set(given, calls + 1);
      return reply(200, { result: { content: [{ type: 'text', text: `${given}: ${calls + 1}` }] } });
    });
  };
}

type Target = Pick<UseFixture, 'url' | 'key' | 'connectionId'>;

async function initialize(target: Target): Promise<string> {
  const answer = await post(target, { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });
  expect(answer.status).toBe(200);
  return answer.headers.get('mcp-session-id') ?? '';
}

async function call(target: Target, session: string) {
  const answer = await post(target, toolCall(), { 'Mcp-Session-Id': session });
  const { result, error } = (await answer.json()) as {
    result?: { content: { text: string }[] };
    error?: { code: number };
  };
  return { status: answer.status, text: result?.content[0]?.text, code: error?.code };
}

test('the client gets the session id of the server encrypted, and the server keeps its state between two calls', async () => {
  const session = await initialize(fixture);
  const number = sessions.size;
  expect(session).toMatch(/^[\w.-]{100,}$/);
  expect(session).not.toContain(Buffer.from(`session-${number}`).toString('base64url').slice(0, 8));
  expect(await call(fixture, session)).toMatchObject({ status: 200, text: `session-${number}: 1` });
  expect(await call(fixture, session)).toMatchObject({ status: 200, text: `session-${number}: 2` });
});

test('404: a session of another key, of another connection or of nobody is not sent to the server', async () => {
  const session = await initialize(fixture);
  const { key } = await fixture.gateway.createKey({ organization: fixture.organization });
  const before = fixture.peer.requests.length;
  const tried = [
    await call({ ...fixture, key }, session),
    await call({ ...fixture, connectionId: otherConnection }, session),
    await call(fixture, 'session-1'),
    await call(fixture, `${session.slice(0, -4)}${session.at(-4) === 'A' ? 'B' : 'A'}${session.slice(-3)}`),
  ];
  for (const answer of tried) expect(answer).toEqual({ status: 404, text: undefined, code: -32001 });
  expect(fixture.peer.requests.length).toBe(before);
});

test('two keys have two sessions', async () => {
  const { key } = await fixture.gateway.createKey({ organization: fixture.organization });
  const mine = await initialize(fixture);
  const theirs = await initialize({ ...fixture, key });
  const texts = [await call(fixture, mine), await call({ ...fixture, key }, theirs)].map(({ text }) => text);
  expect(new Set(texts).size).toBe(2);
});

test('a session that the server has lost is 404, and a new one works', async () => {
  const lost = await initialize(fixture);
  sessions.clear();
  expect(await call(fixture, lost)).toMatchObject({ status: 404, code: -32001 });
  expect(await call(fixture, await initialize(fixture))).toMatchObject({ status: 200 });
});

test('DELETE ends the session at the server', async () => {
  const session = await initialize(fixture);
  const count = sessions.size;
  const answer = await post(fixture, '', { 'Mcp-Session-Id': session }, { method: 'DELETE', body: null });
  expect(answer.status).toBe(204);
  expect(sessions.size).toBe(count - 1);
});

test('any process serves a session', async () => {
  const session = await initialize(fixture);
  const { startTestGateway } = await import('../../support/fixtures/gateway.ts');
  const second = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: fixture.gateway });
  const answer = await second.fetch(`/v1/mcp-connections/${fixture.connectionId}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${fixture.key}`,
      'Content-Type': 'application/json',
      'Mcp-Session-Id': session,
    },
    body: JSON.stringify(toolCall()),
  });
  expect(await answer.json()).toMatchObject({ result: { content: [{ text: expect.stringContaining(': 1') }] } });
  await second.close();
});

test('a session that the gateway begins for a call is ended at the server before the answer', async () => {
  sessions.clear();
  const path = `/v1/mcp-connections/${fixture.connectionId}/tool-calls`;
  const { status } = await fixture.gateway.rest('POST', path, { key: fixture.key, body: { name: 'add' } });
  expect([status, fixture.peer.requests.at(-1), sessions.size]).toEqual([200, 'DELETE /mcp', 0]);
});

test('404: a server that answers 400 to a session that it no longer knows, so that the client begins a new one', async () => {
  const session = await initialize(fixture);
  const before = fixture.peer.handler;
  const refusing = (message: string): Handler => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } });
    return (request, response) => {
      request.resume();
      response.writeHead(400, { 'Content-Type': 'application/json' }).end(text);
    };
  };
  const statusOf = async (headers: Record<string, string>) => (await post(fixture, toolCall(), headers)).status;
  fixture.peer.handler = refusing('Bad Request: No valid session ID provided');
  expect(await statusOf({ 'Mcp-Session-Id': session })).toBe(404);
  expect(await statusOf({})).toBe(400);
  fixture.peer.handler = refusing('Bad Request: unsupported protocol version');
  expect(await statusOf({ 'Mcp-Session-Id': session })).toBe(400);
  fixture.peer.handler = before;
});
