import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type UseFixture, legacyServer, startUseFixture, toolCallers } from '../../support/fixtures/mcp-use.ts';
import { type Handler, mcpHandler } from '../../support/peers/mcp-server.ts';

/** Calls with an `Idempotency-Key`: at most once. */

let fixture: UseFixture;
beforeAll(async () => {
  fixture = await startUseFixture();
});
afterAll(() => fixture.stop());

let connectionId: string;
beforeEach(async () => {
  fixture.peer.handler = mcpHandler();
  connectionId = await fixture.connect();
});

const { rest, graphql } = toolCallers(
  () => fixture,
  () => connectionId,
);

const SUM = { name: 'add', arguments: { a: 19, b: 23 } };

let calls: number;
const counting = (then: (response: ServerResponse, id: number) => void): Handler => {
  calls = 0;
  return legacyServer((response, body) => {
    calls += 1;
    then(response, (JSON.parse(body) as { id: number }).id);
  });
};
const reply = (response: ServerResponse, id: number) =>
  response
    .writeHead(200, { 'Content-Type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: `call ${calls}` }] } }));
const key = () => ({ 'Idempotency-Key': crypto.randomUUID() });

test('the same key gets the stored result, over both APIs', async () => {
  fixture.peer.handler = counting(reply);
  const [ofRest, ofGraphQL] = [key(), key()];
  const first = await rest(SUM, ofRest);
  const again = await rest(SUM, ofRest);
  expect(again.text).toBe(first.text);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(await graphql(SUM, ofGraphQL)).toEqual(await graphql(SUM, ofGraphQL));
  expect(calls).toBe(2);
});

test('409 while the first call is open, at once', async () => {
  const { promise, resolve } = Promise.withResolvers<() => void>();
  fixture.peer.handler = counting((response, id) => resolve(() => reply(response, id)));
  const headers = key();
  const first = rest(SUM, headers);
  const answer = await promise;
  const second = await rest(SUM, headers);
  expect([second.status, second.body.error]).toEqual([409, expect.stringContaining('it is not run again')]);
  answer();
  expect((await first).status).toBe(200);
  expect((await rest(SUM, headers)).text).toBe((await first).text);
  expect(calls).toBe(1);
});

test('409 when the outcome is unknown, also a day later for the same key; another key calls again', async () => {
  fixture.peer.handler = counting((response) => response.destroy());
  const headers = key();
  expect((await rest(SUM, headers)).status).toBe(502);
  fixture.peer.handler = counting(reply);
  fixture.gateway.setClock(new Date(Date.now() + 23 * 60 * 60 * 1000));
  expect((await rest(SUM, headers)).status).toBe(409);
  expect(await graphql(SUM, key())).toMatchObject({ isError: false });
  fixture.gateway.setClock(undefined);
  expect(calls).toBe(1);
});

test('a call that was not run can be retried: nothing was sent, or the server refused it before', async () => {
  fixture.peer.handler = counting((response) => response.writeHead(429).end());
  const headers = key();
  expect((await rest(SUM, headers)).status).toBe(429);
  fixture.peer.handler = counting(reply);
  expect((await rest(SUM, headers)).status).toBe(200);
  const other = key();
  expect((await rest({ name: '' }, other)).status).toBe(400);
  fixture.peer.handler = counting(reply);
  expect((await rest(SUM, other)).status).toBe(200);
});
