import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answering, toolCall } from '../support/fixtures/mcp-use.ts';
import { type Peer, mcpHandler, startPeer } from '../support/peers/mcp-server.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import {
  type DatabaseVariables,
  call,
  endProcesses,
  freshDatabase,
  issueKey,
  startGateway,
} from '../support/processes/process.ts';

/** Calls of tools while the gateway is stopped or killed. */

let env: DatabaseVariables & Record<string, string>;
let key: string;
let peer: Peer;
beforeAll(async () => {
  env = { ...(await freshDatabase()), RATE_LIMIT_PER_MINUTE: '0', ALLOW_PRIVATE_NETWORK: 'true' };
  key = await issueKey(env);
  peer = await startPeer(mcpHandler());
});
afterAll(async () => {
  await endProcesses();
  await peer.stop();
});

const RESPONSE = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}';

/** A gateway with a connection, whose server from now on keeps calls waiting. */
async function gatewayWithServer() {
  peer.handler = mcpHandler();
  const gateway = await startGateway(env);
  const created = await call(gateway.url, key, 'POST', '/v1/mcp-connections', {
    name: `server ${gateway.pid}`,
    serverUrl: `${peer.origin}/mcp`,
  });
  const { connection } = created.body as { connection: { id: string } };
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  peer.handler = (request, response) => {
    request.resume();
    resolve(response);
  };
  return { gateway, id: connection.id, called: promise };
}

const outcomes = (id: string) =>
  query(
    env.DATABASE_URL,
    `select tool_call ->> 'outcome' as outcome from audit_entry where operation = 'callMcpTool' and target_id = '${id}'`,
  );

test('SIGTERM: a call that is running is answered and recorded, and its stream ends whole', async () => {
  const { gateway, id, called } = await gatewayWithServer();
  const waiting = call(gateway.url, key, 'POST', `/v1/mcp-connections/${id}/mcp`, toolCall());
  const server = await called;
  const stopped = gateway.end('SIGTERM');
  const refused = () =>
    call(gateway.url, key, 'GET', '/health/live').then(
      () => false,
      () => true,
    );
  await expect.poll(refused).toBe(true);
  server.writeHead(200, { 'Content-Type': 'application/json' }).end(RESPONSE);
  expect(await waiting).toEqual({ status: 200, body: JSON.parse(RESPONSE) });
  expect(await stopped).toBe(0);
  expect(await outcomes(id)).toEqual([{ outcome: 'OK' }]);
});

test('SIGTERM: a call that does not end is cut within the time of a stop, also at the server', async () => {
  const { gateway, id, called } = await gatewayWithServer();
  const waiting = call(gateway.url, key, 'POST', `/v1/mcp-connections/${id}/mcp`, toolCall());
  waiting.catch(() => undefined);
  const server = await called;
  const closed = new Promise((resolve) => server.once('close', resolve));
  expect(await gateway.end('SIGTERM')).toBe(0);
  await closed;
  await expect(waiting).rejects.toThrow('fetch failed');
});

test('SIGKILL in a call: its entry stays open, and a retry with the same Idempotency-Key does not call again', async () => {
  const { gateway, id, called } = await gatewayWithServer();
  const path = `/v1/mcp-connections/${id}/tool-calls`;
  const send = (url: string) =>
    fetch(url + path, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Idempotency-Key': 'once' },
      body: JSON.stringify({ name: 'add', arguments: { a: 1, b: 2 } }),
    });
  const waiting = send(gateway.url);
  waiting.catch(() => undefined);
  await called;
  await gateway.end('SIGKILL');
  await expect(waiting).rejects.toThrow('fetch failed');
  expect(await outcomes(id)).toEqual([{ outcome: null }]);
  const before = peer.requests.length;
  peer.handler = answering(RESPONSE);
  const next = await startGateway(env);
  const again = await send(next.url);
  expect([again.status, await again.json()]).toEqual([409, { error: expect.any(String) }]);
  expect(peer.requests.length).toBe(before);
  await next.end('SIGTERM');
});
