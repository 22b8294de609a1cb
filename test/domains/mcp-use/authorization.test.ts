import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readStatus, visit } from '../../support/fixtures/mcp-connections.ts';
import {
  type UseFixture,
  expectNothingOpen,
  post,
  readerOf,
  startUseFixture,
  toolCall,
  toolCallers,
} from '../../support/fixtures/mcp-use.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';

let fixture: UseFixture;
let server: OAuthFixture;
let connectionId: string;
beforeAll(async () => {
  fixture = await startUseFixture();
});
afterAll(() => fixture.stop());
beforeEach(async () => {
  server = await startOAuthFixture();
  connectionId = await authorize();
});
afterEach(async () => {
  fixture.gateway.setClock(undefined);
  await server.stop();
});

async function authorize(): Promise<string> {
  const created = await fixture.gateway.rest<{ authorizationUrl: string; connection: { id: string } }>(
    'POST',
    '/v1/mcp-connections',
    { key: fixture.key, body: { name: server.serverUrl, serverUrl: server.serverUrl } },
  );
  await visit(fixture.gateway, server.consent(created.body.authorizationUrl));
  return created.body.connection.id;
}

const SUM = { name: 'add', arguments: { a: 19, b: 23 } };
const { rest, graphql } = toolCallers(
  () => fixture,
  () => connectionId,
);
const call = (message: unknown = toolCall()) => post({ ...fixture, connectionId }, message);
const advance = (seconds: number) => fixture.gateway.setClock(new Date(Date.now() + seconds * 1000));
const refreshes = () => server.tokenRequests.filter((form) => form.get('grant_type') === 'refresh_token');
const status = () => readStatus(fixture.gateway, fixture.key, connectionId);

/** Makes the server refuse the next requests as if their token had expired. */
function refuseNext(count: number): void {
  const serve = server.mcp.handler;
  let left = count;
  server.mcp.handler = (request, response) => {
    if (left === 0) return serve(request, response);
    left -= 1;
    request.resume();
    response.writeHead(401, { 'WWW-Authenticate': 'Bearer error="invalid_token"' }).end();
  };
}

test('a token that is about to expire is refreshed once for 20 calls at once, with the resource, and each call works', async () => {
  advance(3590);
  // Of two keys, because a key can have 10 calls at once.
  const { key } = await fixture.gateway.createKey({ organization: fixture.organization });
  const keys = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? fixture.key : key));
  const answers = await Promise.all(keys.map((by) => post({ ...fixture, key: by, connectionId }, toolCall())));
  expect(answers.map((answer) => answer.status)).toEqual(keys.map(() => 200));
  expect(refreshes().map((form) => form.get('resource'))).toEqual([server.serverUrl]);
});

test('401 of the server: one refresh and one repeat, and the caller sees only the answer', async () => {
  refuseNext(1);
  const before = server.mcp.requests.length;
  const answer = await call();
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('"text":"3"');
  expect(refreshes()).toHaveLength(1);
  expect(server.mcp.requests.length - before).toBe(2);
});

test('a slow refresh of one connection does not delay the calls of another', async () => {
  advance(3700);
  const { promise: asked, resolve } = Promise.withResolvers<() => void>();
  server.onToken = (_, __, answer) => resolve(answer);
  const slow = call();
  const reply = await asked;
  expect((await post(fixture, toolCall())).status).toBe(200);
  reply();
  expect((await slow).status).toBe(200);
});

test('where a person must act, a tool call is answered with a result that says so, and is not repeated; the caller stays signed in', async () => {
  server.revokeAll();
  const url = `http://127.0.0.1:4000/mcp-connections/${connectionId}`;
  const before = server.mcp.requests.length;
  const answer = await call();
  expect([answer.status, answer.headers.get('www-authenticate'), await answer.json()]).toEqual([
    200,
    null,
    {
      jsonrpc: '2.0',
      id: 1,
      result: { content: [{ type: 'text', text: expect.stringContaining(url) }], isError: true },
    },
  ]);
  expect(server.mcp.requests.length - before).toBe(1);
  expect(await status()).toMatchObject({ status: 'AUTHORIZATION_REQUIRED', nextAction: 'AUTHORIZE' });

  // Without credentials nothing more is sent, whatever the message.
  const modern = { ...toolCall(), params: { ...toolCall().params, _meta: META } };
  expect(await (await call(modern)).json()).toMatchObject({ result: { resultType: 'complete', isError: true } });
  for (const method of ['initialize', 'prompts/get', 'resources/read']) {
    const refused = await call({ jsonrpc: '2.0', id: 2, method, params: {} });
    expect([refused.status, await refused.json()]).toMatchObject([
      409,
      { id: 2, error: { code: -32000, data: { code: 'AUTHORIZATION_REQUIRED', url } } },
    ]);
  }
  expect((await rest(SUM)).body).toEqual({ error: expect.stringContaining(url) });
  expect(await graphql(SUM)).toMatchObject({
    __typename: 'ConflictError',
    reason: 'WRONG_STATE',
    message: expect.stringContaining(url),
  });
  expect(server.mcp.requests.length - before).toBe(1);
});
const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };

test('a server that refuses each new token is asked twice, and then a person must act', async () => {
  refuseNext(2);
  const before = server.mcp.requests.length;
  expect(await (await call()).json()).toMatchObject({ result: { isError: true } });
  expect(server.mcp.requests.length - before).toBe(2);
  expect(refreshes()).toHaveLength(1);
});

test('a missing scope needs a person, and no refresh', async () => {
  server.requiredScope = 'admin';
  expect(await (await call()).json()).toMatchObject({ result: { isError: true } });
  expect(refreshes()).toHaveLength(0);
  expect(await status()).toMatchObject({ status: 'AUTHORIZATION_REQUIRED' });
});

test('502: tokens that cannot be refreshed now are a failure, which does not need a person', async () => {
  advance(3700);
  server.onToken = (_, response) => void response.writeHead(503).end('later');
  const answer = await call();
  expect([answer.status, await answer.json()]).toMatchObject([
    502,
    { error: { data: { code: 'UPSTREAM_UNREACHABLE' } } },
  ]);
});

test('credentials are also sent for prompts and resources', async () => {
  const seen: unknown[] = [];
  const serve = server.mcp.handler;
  server.mcp.handler = (request, response) => {
    seen.push(request.headers.authorization);
    serve(request, response);
  };
  for (const method of ['prompts/get', 'resources/read'])
    await call({ jsonrpc: '2.0', id: 1, method, params: { name: 'x', uri: 'file:///x' } });
  expect(seen).toEqual([expect.stringMatching(/^Bearer ./), expect.stringMatching(/^Bearer ./)]);
});

test('a token that expires while a stream is open does not break it; the next call refreshes it once, and nothing is called twice', async () => {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const serve = server.mcp.handler;
  let calls = 0;
  server.mcp.handler = (request, response) => {
    calls += 1;
    if (calls > 1) return serve(request, response);
    request.resume();
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    resolve(response);
  };
  const answer = await call();
  const stream = await promise;
  const reader = readerOf(answer);
  const progress = 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n';
  stream.write(progress);
  expect(await reader.until((text) => text === progress)).toBe(progress);
  advance(3700);
  expect((await call()).status).toBe(200);
  const end = 'data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n';
  stream.end(end);
  expect(await reader.toEnd()).toBe(progress + end);
  await expectNothingOpen(fixture.url, server.mcp);
  expect([calls, refreshes().length]).toEqual([2, 1]);
});
