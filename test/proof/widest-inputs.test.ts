// Measures how long others wait for the widest inputs within the limit of a request body.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  mutationRequests,
  queryRequests,
  restRequests,
  type GrowingRequest,
} from '../support/fixtures/growing-requests.ts';
import { type GatewayProcess, endProcesses, gatewayWithKey } from '../support/processes/process.ts';
import { proof } from '../support/proof.ts';

const GOAL_MS = 500;
const ASK_EVERY_MS = 20;
/** A little less than a body may have. */
const BODY_BYTES = 3.9 * 1024 * 1024;

let gateway: GatewayProcess;
let key: string;
let neighbor: string;
const ids: Record<string, string> = {};
beforeAll(async () => {
  const started = await gatewayWithKey({ RATE_LIMIT_PER_MINUTE: '0', RUN_JOBS: 'false', LOG_LEVEL: 'error' });
  ({ gateway, key } = started);
  neighbor = await started.createKey('ned@example.com');
  ids['sessionId'] = await created('/v1/sessions', { title: 'S' });
  ids['artifactId'] = await created(`/v1/sessions/${ids['sessionId']}/artifacts`, { type: 'PullRequest' });
  await created('/v1/mcp-connections', { type: 'stdio', name: 's', command: 'c' });
  await created('/events/2026-03/event-definitions', {
    label: 'Checkout started',
    propertyDefinitions: [{ label: 'Cart total', name: 'cart_total', type: 'number' }],
  });
  Object.assign(ids, { eventName: 'checkout_started', propertyName: 'cart_total' });
}, 120_000);
afterAll(endProcesses);

async function send(method: string, path: string, body: string, { by = key, accept = 'application/json' } = {}) {
  const headers = { Authorization: `Bearer ${by}`, 'Content-Type': 'application/json', Accept: accept };
  const response = await fetch(gateway.url + path, { method, headers, body });
  const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream') === true;
  // A subscription waits for changes.
  if (isStream) await response.body?.cancel();
  return { status: response.status, text: isStream ? '' : await response.text() };
}

async function created(path: string, body: object): Promise<string> {
  const { status, text } = await send('POST', path, JSON.stringify(body));
  expect([path, status]).toEqual([path, 201]);
  return String((JSON.parse(text) as { id?: string }).id);
}

const small = JSON.stringify({ query: '{ viewer { role } }' });

/** The longest latency of a small query of somebody else that is sent every 20 ms during `work`. */
async function worstWaitBeside(work: () => Promise<unknown>): Promise<number> {
  const waits: Promise<number>[] = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const began = performance.now();
      const asked = send('POST', '/graphql', small, { by: neighbor });
      waits.push(
        asked.then(({ status }) => {
          expect(status).toBe(200);
          return performance.now() - began;
        }),
      );
      await delay(ASK_EVERY_MS);
    }
  })();
  await work();
  isOver = true;
  await asking;
  return Math.round(Math.max(...(await Promise.all(waits))));
}

test('measures how long others wait for two of the widest inputs of each operation at once', async () => {
  const rows: { readonly name: string; readonly wait: number; readonly status: number }[] = [];
  const requests: GrowingRequest[] = [...restRequests(ids), ...mutationRequests(ids), ...queryRequests(ids)];
  await send('POST', '/graphql', small, { by: neighbor });
  for (const { operation, method, path, accept, bodyOf, places } of requests) {
    for (const { place, each, grown } of places()) {
      const body = bodyOf(JSON.stringify(grown(Math.floor(BODY_BYTES / each))));
      let status = 0;
      const once = async () => void ({ status } = await send(method, path, body, { accept }));
      const wait = await worstWaitBeside(() => Promise.all([once(), once()]));
      rows.push({ name: `${operation} ${place}`, wait, status });
    }
  }
  // Too large for its limit, or accepted.
  expect(rows.filter(({ status }) => status >= 500 || status === 0)).toEqual([]);
  rows.sort((one, other) => other.wait - one.wait);
  for (const row of rows.slice(0, 20)) process.stdout.write(`${JSON.stringify(row)}\n`);
  const figures = {
    'inputs of 3.9 MiB, each twice at once': rows.length,
    'worst wait of a neighbor, ms': rows[0]?.wait ?? 0,
    'by the input': rows[0]?.name ?? '',
  };
  const shortfalls = (rows[0]?.wait ?? 0) > GOAL_MS ? [`A neighbor waits more than ${GOAL_MS} ms.`] : [];
  proof('Widest inputs', { figures, shortfalls });
}, 1_800_000);
