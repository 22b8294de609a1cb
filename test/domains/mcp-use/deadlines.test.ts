import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../../src/gateway/http/server.ts';
import {
  CALL_MCP_TOOL,
  type UseFixture,
  legacyServer,
  postTo,
  startUseFixture,
  toolCall,
} from '../../support/fixtures/mcp-use.ts';
import { createSession } from '../../support/fixtures/sessions.ts';

/** A call whose server never answers is answered at its deadline, although its connection is idle for many times the idle timeout. */

const TOTAL_MS = 500;

let fixture: UseFixture;
let server: RunningServer;
let sessionId: string;
beforeAll(async () => {
  fixture = await startUseFixture({ timing: { upstreamSilenceMs: 60_000, upstreamTotalMs: TOTAL_MS } });
  const bounds = { idleTimeoutMs: 30, keepAliveTimeoutMs: 1, unreadTimeoutMs: 30 };
  server = await serve(createGateway(fixture.gateway.dependencies), { host: '127.0.0.1', port: 0, ...bounds });
  const { gateway, key, connectionId } = fixture;
  sessionId = await createSession(gateway, key, { mcpServers: [connectionId] });
  fixture.peer.handler = legacyServer(() => undefined);
});
afterAll(async () => {
  await server.stop(0);
  await fixture.stop();
});

afterEach(() => void vi.useRealTimers());

const NOT_WITHIN = (seconds: number) => `the MCP server did not finish within ${seconds} s`;
const timedOut = (seconds: number) => ({ message: NOT_WITHIN(seconds), data: { code: 'UPSTREAM_TIMEOUT' } });

async function send(path: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await postTo(server.url + path, fixture.key, body, headers);
  return { status: answer.status, body: await answer.json() };
}

const pathOf = {
  connection: () => `/v1/mcp-connections/${fixture.connectionId}/mcp`,
  session: () => `/v1/sessions/${sessionId}/mcp`,
};

test('REST: 504', async () => {
  const path = `/v1/mcp-connections/${fixture.connectionId}/tool-calls`;
  expect(await send(path, { name: 'add', arguments: {}, timeoutSeconds: 1 })).toEqual({
    status: 504,
    body: { error: NOT_WITHIN(1), details: { reason: 'UPSTREAM_TIMEOUT' } },
  });
});

test('GraphQL: the error of the mutation, as JSON and over server-sent events', async () => {
  const input = { mcpServerId: fixture.connectionId, name: 'add', arguments: {}, timeoutSeconds: 1 };
  const failed = {
    data: { callMcpTool: { __typename: 'RemoteFailedError', message: NOT_WITHIN(1), code: 'REMOTE_FAILED' } },
  };
  const body = { query: CALL_MCP_TOOL, variables: { input } };
  const [json, stream] = await Promise.all([
    send('/graphql', body),
    postTo(`${server.url}/graphql`, fixture.key, body, { Accept: 'text/event-stream' }).then((answer) => answer.text()),
  ]);
  expect(json).toMatchObject({ status: 200, body: failed });
  expect(stream).toContain(JSON.stringify(failed.data));
});

test('the endpoint of a connection: 504 with a JSON-RPC error', async () => {
  expect(await send(pathOf.connection(), toolCall('add', {}, 'mine'))).toEqual({
    status: 504,
    body: { jsonrpc: '2.0', id: 'mine', error: { code: -32000, ...timedOut(0.5) } },
  });
});

test('the endpoint of a session: 504 with a JSON-RPC error', async () => {
  expect(await send(pathOf.session(), toolCall('server-1__add', {}, 'mine'))).toEqual({
    status: 504,
    body: { jsonrpc: '2.0', id: 'mine', error: { code: -32000, ...timedOut(0.5) } },
  });
});

test.each([
  ['a connection', pathOf.connection, 'add'],
  ['a session', pathOf.session, 'server-1__add'],
] as const)('the official client reads the error at the endpoint of %s', async (_, path, name) => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
  const headers = { Authorization: `Bearer ${fixture.key}` };
  // The deadline of the call is tried, not that of the handshake.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await client.connect(new StreamableHTTPClientTransport(new URL(path(), server.url), { requestInit: { headers } }));
  vi.useRealTimers();
  await expect(client.callTool({ name, arguments: {} })).rejects.toThrow(NOT_WITHIN(0.5));
  await client.close();
});
