import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { Idempotency } from '../../../src/gateway/idempotency/idempotency.ts';
import { type TestGateway, fetchOf, startTestGateway } from '../../support/fixtures/gateway.ts';
import { createRemote, seen, sendKeyed, storedAnswers } from '../../support/fixtures/idempotency.ts';
import { heldTransactions } from '../../support/fixtures/transactions.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';

/** Operations that ask other servers cannot be one transaction: their `Idempotency-Key` is claimed while they run. */

const ENV = { ALLOW_PRIVATE_NETWORK: 'true' };

let gateway: TestGateway;
let server: Peer;
let key: string;
/** The server answers nothing until then. */
let held: PromiseWithResolvers<void>;
/** The server has been asked something. */
let asked: PromiseWithResolvers<void>;

const serve = mcpHandler();
const others: TestGateway[] = [];

beforeAll(async () => {
  gateway = await startTestGateway(ENV);
  server = await startPeer(serve);
});

beforeEach(async () => {
  ({ key } = await gateway.createKey());
  held = Promise.withResolvers();
  asked = Promise.withResolvers();
  server.handler = (request, response) => {
    asked.resolve();
    void held.promise.then(() => serve(request, response));
  };
});

afterEach(async () => {
  held.resolve();
  for (const other of others.splice(0)) await other.close();
});

afterAll(async () => {
  await gateway.close();
  await server.stop();
});

/** Another process, whose outbound work may take so long. */
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

test('twins wait for a slow remote server without a transaction, in this process and in another', async () => {
  const beside = await startOther();
  const write = createRemote(server.origin);
  const first = send(gateway, write);
  await asked.promise;
  const twins = [send(gateway, write), send(beside, write)];
  expect(await heldTransactions(gateway)).toEqual([]);
  expect(await storedAnswers(gateway, key)).toEqual([{ answer: null }]);
  held.resolve();
  const { answer } = seen(await first);
  expect(answer.status).toBe(201);
  expect((await Promise.all(twins)).map(seen)).toEqual([
    { answer, replayed: 'true' },
    { answer, replayed: 'true' },
  ]);
});

// What operations may take in a row is written at the constant in src/gateway/idempotency/idempotency.ts.
test.each([30_000, 60_000])(
  'an operation that takes as long as it may, six times the %i ms of outbound work, is not run a second time',
  async (boundMs) => {
    const [one, two] = [await startOther(boundMs), await startOther(boundMs)];
    const write = createRemote(server.origin);
    const first = send(one, write);
    await asked.promise;
    server.handler = serve;
    const requests = server.requests.length;
    two.setClock(new Date(Date.now() + 6 * boundMs));
    const impatient = new Idempotency(two.dependencies, { waitMs: 200 });
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
    held.resolve();
    expect((await first).status).toBe(201);
  },
);

test('what a process that has died did not finish is taken over when its claim has ended, and once', async () => {
  const beside = await startOther();
  const write = createRemote(server.origin);
  const lost = send(gateway, write);
  await asked.promise;
  server.handler = serve;
  beside.setClock(new Date(Date.now() + 8 * beside.dependencies.outbound.totalTimeoutMs));
  const second = seen(await send(beside, write));
  expect([second.answer.status, second.replayed]).toEqual([201, undefined]);
  held.resolve();
  expect((await lost).status).toBe(409);
  expect(seen(await send(gateway, write))).toEqual({ answer: second.answer, replayed: 'true' });
});
