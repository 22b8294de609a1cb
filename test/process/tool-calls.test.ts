import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answering,
  expectNothingOpen,
  expectOpenStream,
  post,
  readerOf,
  toolCall,
} from '../support/fixtures/mcp-use.ts';
import { listingServer, tool } from '../support/peers/listing-server.ts';
import { type Peer, mcpHandler, startPeer } from '../support/peers/mcp-server.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import {
  type DatabaseVariables,
  call,
  endProcesses,
  freshDatabase,
  issueKey,
  start,
  startGateway,
} from '../support/processes/process.ts';

/** Calls of tools while the gateway is stopped or killed, the server is killed, or the client leaves. */

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

const EVENT_STREAM = { 'Content-Type': 'text/event-stream' };
const PROGRESS = 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n';

/** A gateway with a connection, whose server from now on keeps calls waiting. */
async function gatewayWithServer() {
  peer.handler = mcpHandler();
  const gateway = await startGateway(env);
  const id = await connect(gateway.url, `${peer.origin}/mcp`);
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  peer.handler = (request, response) => {
    request.resume();
    resolve(response);
  };
  return { gateway, id, called: promise };
}

async function connect(url: string, serverUrl: string): Promise<string> {
  const created = await call(url, key, 'POST', '/v1/mcp-connections', { name: `server ${randomUUID()}`, serverUrl });
  return (created.body as { connection: { id: string } }).connection.id;
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

test('SIGTERM: a stream that is open is passed on to its end, and recorded', async () => {
  const { gateway, id, called } = await gatewayWithServer();
  const waiting = post({ url: gateway.url, key, connectionId: id }, toolCall());
  const server = await called;
  server.writeHead(200, EVENT_STREAM).write(PROGRESS);
  const reader = readerOf(await waiting);
  await reader.until((text) => text === PROGRESS);
  const stopped = gateway.end('SIGTERM');
  const isRefused = () =>
    call(gateway.url, key, 'GET', '/health/live').then(
      () => false,
      () => true,
    );
  await expect.poll(isRefused).toBe(true);
  server.end(`data: ${RESPONSE}\n\n`);
  expect(await reader.toEnd()).toBe(`${PROGRESS}data: ${RESPONSE}\n\n`);
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

test('SIGKILL between the decision about a call and its end: it is made at most once, and asked for anew', async () => {
  const server = listingServer({ tools: [tool('write')], hasSessions: true });
  peer.handler = server.handler;
  const caller = await issueKey(env, { email: 'bob@example.com' });
  const standing = await startGateway(env);
  const id = await connect(standing.url, `${peer.origin}/mcp`);
  const path = `/v1/mcp-connections/${id}`;
  const toolRules = [{ tools: ['write'], effect: 'ASK' }];
  expect(await call(standing.url, key, 'PATCH', `${path}/settings`, { toolRules })).toMatchObject({ status: 200 });
  const send = (url: string) => call(url, caller, 'POST', `${path}/tool-calls`, { name: 'write', arguments: { n: 1 } });
  const asked = new Set<string>();
  const ask = async () => {
    const { status, body } = await send(standing.url);
    const { toolApprovalId = '' } = (body as { details?: { toolApprovalId?: string } }).details ?? {};
    expect([status, asked.has(toolApprovalId)]).toEqual([409, false]);
    asked.add(toolApprovalId);
    return toolApprovalId;
  };
  const runs = () => server.asked.filter((method) => method === 'tools/call').length;
  // The tool has certainly not run, or may have run: either way the decision is spent with the process.
  for (const [held, ran] of [
    ['initialize', 0],
    ['tools/call', 1],
  ] as const) {
    const approval = await ask();
    const decided = await call(standing.url, key, 'POST', `/v1/tool-approvals/${approval}/decide`, {
      decision: 'APPROVE',
    });
    expect(decided.status).toBe(200);
    const killed = await startGateway(env);
    const { promise, resolve } = Promise.withResolvers<void>();
    let isListed = false;
    server.answer = ({ method }) => {
      isListed ||= method === 'tools/list';
      // Until the list is read, nothing is decided.
      if (!isListed || method !== held) return false;
      resolve();
      return true;
    };
    const waiting = send(killed.url);
    waiting.catch(() => undefined);
    await promise;
    await killed.end('SIGKILL');
    await expect(waiting).rejects.toThrow('fetch failed');
    server.answer = undefined;
    const state = await query(env.DATABASE_URL, `select state from tool_approval where id = '${approval}'`);
    expect([state, runs()]).toEqual([[{ state: 'USED' }], ran]);
  }
  await ask();
  expect(runs()).toBe(1);
  await standing.end('SIGTERM');
});

test('a client that leaves, before and during the answer, leaves nothing open, and is recorded', async () => {
  const { gateway, id, called } = await gatewayWithServer();
  const target = { url: gateway.url, key, connectionId: id };
  const before = new AbortController();
  const waiting = post(target, toolCall(), {}, { signal: before.signal });
  waiting.catch(() => undefined);
  await called;
  before.abort();

  peer.handler = (request, response) => {
    request.resume();
    response.writeHead(200, EVENT_STREAM).write(PROGRESS);
  };
  const during = new AbortController();
  const answer = await post(target, toolCall(), {}, { signal: during.signal });
  await readerOf(answer).until((text) => text === PROGRESS);
  await expectOpenStream(gateway.url, peer);
  during.abort();
  await expectNothingOpen(gateway.url, peer);
  await expect.poll(() => outcomes(id)).toEqual([{ outcome: 'TRANSPORT_ERROR' }, { outcome: 'TRANSPORT_ERROR' }]);
  await gateway.end('SIGTERM');
});

/** A server in a process of its own. After a request of `/hold`, it begins to answer each message and then waits. */
const HOLDING_SERVER = `
import { mcpHandler, startPeer } from './test/support/peers/mcp-server.ts';
const serve = mcpHandler();
const peer = await startPeer((request, response) => {
  if (request.url !== '/hold') return serve(request, response);
  peer.handler = (held, answer) => {
    held.resume();
    answer.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(${JSON.stringify(PROGRESS)});
    console.log('called');
  };
  response.end();
});
console.log(peer.origin);
`;

test('SIGKILL of the server in a call: the client gets the error, nothing is called twice, nothing stays open', async () => {
  const { child, output, exited } = start([process.execPath, '--input-type=module', '-e', HOLDING_SERVER], {});
  await expect.poll(() => output.stdout, { interval: 20 }).toMatch(/^http\S+\n/);
  const origin = output.stdout.trim();
  const gateway = await startGateway(env);
  const id = await connect(gateway.url, `${origin}/mcp`);
  await fetch(`${origin}/hold`);
  const target = { url: gateway.url, key, connectionId: id };
  const reader = readerOf(await post(target, toolCall()));
  await reader.until((text) => text === PROGRESS);
  const waiting = call(gateway.url, key, 'POST', `/v1/mcp-connections/${id}/tool-calls`, { name: 'add' });
  await expect.poll(() => output.stdout).toBe(`${origin}\ncalled\ncalled\n`);
  child.kill('SIGKILL');
  await exited;
  const failed = { jsonrpc: '2.0', id: 1, error: { data: { code: 'UPSTREAM_UNREACHABLE' } } };
  expect(JSON.parse((await reader.toEnd()).split('data: ').at(-1) ?? '')).toMatchObject(failed);
  expect(await waiting).toMatchObject({ status: 502 });
  expect(await (await post(target, toolCall())).json()).toMatchObject(failed);
  expect(output.stdout).toBe(`${origin}\ncalled\ncalled\n`);
  await expectNothingOpen(gateway.url, peer);
  await expect.poll(() => outcomes(id)).toEqual(Array.from({ length: 3 }, () => ({ outcome: 'TRANSPORT_ERROR' })));
  await gateway.end('SIGTERM');
});
