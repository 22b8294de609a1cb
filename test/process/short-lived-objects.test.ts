import { afterAll, beforeAll, expect, test } from 'vitest';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';
import { type GatewayProcess, call, endProcesses, gatewayWithKey, graphqlApi } from '../support/processes/process.ts';

// See docs/decisions/short-lived-objects.md.

/** Makes V8 print a line for each garbage collection, with the size of the heap before and after. */
const TRACED = `--import=data:text/javascript,import${encodeURIComponent(' { setFlagsFromString } from "node:v8"; setFlagsFromString("--trace-gc");')}`;
// Enough for several collections of a young generation of 24 MiB.
const REQUESTS = 400;
const PAGE =
  'query ($id: ID!) { session(id: $id) { events(first: 100) { edges { node { id eventData { type event { message } } } } } } }';

let gateway: GatewayProcess;
let key: string;
let id: string;
beforeAll(async () => {
  ({ gateway, key } = await gatewayWithKey({ NODE_OPTIONS: TRACED, LOG_LEVEL: 'silent' }));
  id = await createSession(graphqlApi(gateway.url), key);
  await append(graphqlApi(gateway.url), key, id, eventsOf(100, { from: 1 }));
});
afterAll(endProcesses);

/** The MB of young objects before and after the collections of the young generation. */
function collected(log: string): { allocated: number; survived: number } {
  const sum = { allocated: 0, survived: 0 };
  let after: number | undefined;
  for (const [, kind, from, to] of log.matchAll(/(Scavenge|Mark-Compact)[^\n]*? ([\d.]+) \([\d.]+\) -> ([\d.]+) \(/g)) {
    if (kind === 'Scavenge' && after !== undefined) {
      sum.allocated += Number(from) - after;
      sum.survived += Number(to) - after;
    }
    after = Number(to);
  }
  return sum;
}

test.each([
  ['REST', () => ['GET', `/v1/sessions/${id}/events?limit=100`] as const],
  ['GraphQL', () => ['POST', '/graphql', { query: PAGE, variables: { id } }] as const],
])(
  'less than a tenth of the objects of a page of events over %s survives the young generation',
  async (_api, request) => {
    const [method, path, body] = request();
    const ask = async (times: number) => {
      for (let index = 0; index < times; index += 1)
        expect((await call(gateway.url, key, method, path, body)).status).toBe(200);
    };
    await ask(REQUESTS);
    const warm = gateway.output.stdout.length;
    await ask(REQUESTS);
    const { allocated, survived } = collected(gateway.output.stdout.slice(warm));
    expect(allocated).toBeGreaterThan(10);
    expect(survived).toBeLessThan(allocated / 10);
  },
);
