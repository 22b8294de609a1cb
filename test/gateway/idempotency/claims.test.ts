import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { Idempotency } from '../../../src/gateway/idempotency/idempotency.ts';
import { type TestGateway, fetchOf, startTestGateway } from '../../support/fixtures/gateway.ts';
import { createRemote, visibleParts, sendKeyed, storedAnswers } from '../../support/fixtures/idempotency.ts';
import { transactionsEnd } from '../../support/fixtures/transactions.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';

/** Operations that call other servers are not one transaction. Instead, they claim their `Idempotency-Key` while they run. */

const ENV = { ALLOW_PRIVATE_NETWORK: 'true' };

let gateway: TestGateway;
let server: Peer;
let key: string;
/** The remote server answers only after this resolves. */
let released: PromiseWithResolvers<void>;
/** Resolves when the remote server receives a request. */
let asked: PromiseWithResolvers<void>;

const serve = mcpHandler();
const others: TestGateway[] = [];

beforeAll(async () => {
  gateway = await startTestGateway(ENV);
  server = await startPeer(serve);
});

beforeEach(async () => {
  ({ key } = await gateway.createKey());
  released = Promise.withResolvers();
  asked = Promise.withResolvers();
  server.handler = (request, response) => {
    asked.resolve();
    void released.promise.then(() => serve(request, response));
  };
});

afterEach(async () => {
  released.resolve();
  for (const other of others.splice(0)) await other.close();
});

afterAll(async () => {
  await gateway.close();
  await server.stop();
});

/** A second gateway on the same database, optionally with another timeout for outbound requests. */
async function startOther(totalTimeoutMs?: number): Promise<TestGateway> {
  const other = await startTestGateway(ENV, {
    beside: gateway,
    ...(totalTimeoutMs !== undefined && { outbound: { totalTimeoutMs } }),
  });
  others.push(other);
  return other;
}

function send(to: TestGateway, write = createRemote(server.origin)) {
  return sendKeyed(to, write, { key, idempotencyKey: 'k-1' });
}

test('repeated requests in two processes wait for a slow remote server without an open transaction', async () => {
  const beside = await startOther();
  const write = createRemote(server.origin);
  const first = send(gateway, write);
  await asked.promise;
  const twins = [send(gateway, write), send(beside, write)];
  // The other process has looked for the answer, and looks again.
  await expect
    .poll(() => beside.statements.filter((text) => text.includes('insert into "idempotency_key"')).length)
    .toBeGreaterThan(1);
  await transactionsEnd(gateway);
  expect(await storedAnswers(gateway, key)).toEqual([{ answer: null }]);
  released.resolve();
  const { answer } = visibleParts(await first);
  expect(answer.status).toBe(201);
  expect((await Promise.all(twins)).map(visibleParts)).toEqual([
    { answer, replayed: 'true' },
    { answer, replayed: 'true' },
  ]);
});

// The constant in src/gateway/idempotency/idempotency.ts documents how many outbound requests an operation may send one after the other.
test.each([30_000, 60_000])(
  'an operation that takes the maximum time, six times the outbound timeout of %i ms, is not run a second time',
  async (boundMs) => {
    const [one, two] = [await startOther(boundMs), await startOther(boundMs)];
    const write = createRemote(server.origin);
    const first = send(one, write);
    await asked.promise;
    server.handler = serve;
    const requests = server.requests.length;
    two.setClock(new Date(Date.now() + 6 * boundMs));
    const impatient = new Idempotency(two.dependencies, { waitMs: 0 });
    const twin = fetchOf(createGateway({ ...two.dependencies, idempotency: impatient }));
    const refused = await twin(write.path, {
      method: write.method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Idempotency-Key': 'k-1' },
      body: JSON.stringify(write.body),
    });
    expect([refused.status, await refused.json()]).toEqual([
      409,
      { error: 'Idempotency-Key: a request with this key is still running; retry later to get its answer' },
    ]);
    expect(server.requests).toHaveLength(requests);
    released.resolve();
    expect((await first).status).toBe(201);
  },
);

test('after the claim of a dead process expires, a repeated request runs the operation once', async () => {
  const beside = await startOther();
  const write = createRemote(server.origin);
  const lost = send(gateway, write);
  await asked.promise;
  server.handler = serve;
  beside.setClock(new Date(Date.now() + 8 * beside.dependencies.outbound.totalTimeoutMs));
  const second = visibleParts(await send(beside, write));
  expect([second.answer.status, second.replayed]).toEqual([201, undefined]);
  released.resolve();
  expect((await lost).status).toBe(409);
  expect(visibleParts(await send(gateway, write))).toEqual({ answer: second.answer, replayed: 'true' });
});
