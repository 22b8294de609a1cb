import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSession } from '../support/fixtures/sessions.ts';
import { type Peer, mcpHandler, startPeer } from '../support/peers/mcp-server.ts';
import { WebhookReceiver } from '../support/peers/webhook-receiver.ts';
import { type GatewayProcess, call, endProcesses, gatewayWithKey, graphqlApi } from '../support/processes/process.ts';

/** What thousands of operations leave in the memory of a process: nothing, neither of this project nor of a library. */

/** On SIGUSR2, prints what is left after a collection of all garbage. */
const PROBE = `
  import { setFlagsFromString } from 'node:v8';
  import { runInNewContext } from 'node:vm';
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  process.on('SIGUSR2', async () => {
    for (let times = 0; times < 3; times += 1) await collect({ execution: 'async' });
    const left = { heapBytes: process.memoryUsage().heapUsed, entries: performance.getEntries().filter(({ entryType }) => entryType !== 'resource').length, resources: process.getActiveResourcesInfo().length };
    process.stderr.write('LEFT ' + JSON.stringify(left) + '\\n');
  });`;
const OPERATIONS = 2000;
const AT_ONCE = 4;

interface Left {
  readonly heapBytes: number;
  /** Entries of the performance timeline, but of requests: Node.js keeps at most 250 of these. */
  readonly entries: number;
  /** Timers, sockets and the like. */
  readonly resources: number;
}

let gateway: GatewayProcess;
let key: string;
let sessionId: string;
let connectionId: string;
let peer: Peer;
const receivers: WebhookReceiver[] = [];
beforeAll(async () => {
  ({ gateway, key } = await gatewayWithKey({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PROBE)}`,
    ALLOW_PRIVATE_NETWORK: 'true',
    LOG_LEVEL: 'silent',
  }));
  peer = await startPeer(mcpHandler());
  sessionId = await createSession(graphqlApi(gateway.url), key);
  const serverUrl = `${peer.origin}/mcp`;
  const { connection } = await post<{ connection: { id: string } }>('/v1/mcp-connections', {
    name: 'tools',
    serverUrl,
  });
  connectionId = connection.id;
});
afterAll(async () => {
  await endProcesses();
  await peer.stop();
  await Promise.all(receivers.map((receiver) => receiver.stop()));
});

async function post<Body>(path: string, body: unknown): Promise<Body> {
  const answer = await call(gateway.url, key, 'POST', path, body);
  if (answer.status >= 300) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body as Body;
}

/** Runs the operation that often, some at once. */
async function repeat(count: number, run: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await run((next += 1));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function left(): Promise<Left> {
  const { output, pid } = gateway;
  const lines = () => output.stderr.match(/^LEFT .*$/gm) ?? [];
  const before = lines().length;
  process.kill(pid, 'SIGUSR2');
  await expect.poll(() => lines().length).toBeGreaterThan(before);
  return JSON.parse(lines().at(-1)?.slice('LEFT '.length) ?? '') as Left;
}

const text = (index: number) => `step ${index}: the token wgk_${'a1B2'.repeat(9)} of https://user:s3cret@host.example`;
const KINDS: Readonly<Record<string, (index: number) => Promise<unknown>>> = {
  'appends of events with credentials': (index) =>
    post(`/v1/sessions/${sessionId}/events`, {
      events: [{ eventType: 'text', provider: 'any', eventData: { type: 'text', accumulatedText: text(index) } }],
    }),
  'requests of both APIs': async (index) => {
    expect((await call(gateway.url, key, 'GET', `/v1/sessions?limit=${(index % 5) + 1}`)).status).toBe(200);
    const query = `{ viewer { organization { sessions(first: ${(index % 5) + 1}) { nodes { title } } } } }`;
    await post('/graphql', { query });
  },
  'calls of tools': () =>
    post(`/v1/mcp-connections/${connectionId}/tool-calls`, { name: 'add', arguments: { a: 1, b: 2 } }),
};

test.each(Object.entries(KINDS))('%s', async (_, run) => {
  await repeat(OPERATIONS / 8, run);
  const before = await left();
  await repeat(OPERATIONS, run);
  expect(grown(before, await left())).toEqual(NOTHING);
});

test('deliveries of webhooks', async () => {
  for (let count = 0; count < AT_ONCE; count += 1) {
    const receiver = await new WebhookReceiver().start();
    receivers.push(receiver);
    const { secret } = await post<{ secret: string }>('/v1/webhooks', {
      url: receiver.url,
      types: ['session.created'],
    });
    receiver.secret = secret;
  }
  const deliverEach = async (total: number, more: number) => {
    await repeat(more, () => createSession(graphqlApi(gateway.url), key));
    await Promise.all(receivers.map((receiver) => receiver.arrived(total)));
  };
  await deliverEach(60, 60);
  const before = await left();
  await deliverEach(60 + OPERATIONS / AT_ONCE, OPERATIONS / AT_ONCE);
  expect(grown(before, await left())).toEqual(NOTHING);
});

/** Caches may still fill by so many bytes in each operation, and connections may be open by chance. */
const BYTES_OF_OPERATION = 4096;
const RESOURCES = 20;
const NOTHING = { entries: 0, resources: 0, bytesOfOperation: 0 };

/** What is more than chance. */
function grown(before: Left, after: Left): typeof NOTHING {
  const resources = after.resources - before.resources;
  const bytesOfOperation = (after.heapBytes - before.heapBytes) / OPERATIONS;
  return {
    entries: after.entries - before.entries,
    resources: resources < RESOURCES ? 0 : resources,
    bytesOfOperation: bytesOfOperation < BYTES_OF_OPERATION ? 0 : bytesOfOperation,
  };
}
