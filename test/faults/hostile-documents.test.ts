import { setTimeout as delay } from 'node:timers/promises';
import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Attack, attacks, rawAttacks } from '../support/fixtures/attacks.ts';
import { repeat } from '../support/fixtures/graphql-limits.ts';
import {
  type GatewayProcess,
  SMALL_HEAP,
  SMALL_HEAP_MIB,
  endProcesses,
  gatewayWithKey,
} from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';

let gateway: GatewayProcess;
let key: string;
beforeAll(async () => {
  ({ gateway, key } = await gatewayWithKey(inject('serverUrl'), { LOG_LEVEL: 'error', ...SMALL_HEAP }));
});
afterAll(endProcesses);

const MIB = 1024 * 1024;
const RESPONSE = 'application/graphql-response+json';
const figures: Record<string, string | number> = {};

interface Verdict {
  readonly status: number;
  /** `answered` where there is no error at all. */
  readonly code: string;
  readonly ms: number;
}

async function ask(path: string, init: RequestInit & { as?: string } = {}): Promise<Verdict> {
  const { as = key, headers = {}, ...rest } = init;
  const began = performance.now();
  const send = () =>
    fetch(`${gateway.url}${path}`, {
      ...rest,
      headers: { ...(as && { Authorization: `Bearer ${as}` }), ...(headers as Record<string, string>) },
    });
  // A body that is refused unread is not waited for: who still writes may find the connection closed before the answer is read.
  const response = await [50, 200, 500, 1_000].reduce((sent, ms) => sent.catch(() => delay(ms).then(send)), send());
  const text = await response.text();
  const code = /"errors":\[.*?"code":"(\w+)"/s.exec(text)?.[1] ?? (/"data":/.test(text) ? 'answered' : '');
  return { status: response.status, code, ms: performance.now() - began };
}

const jsonOf = ({ query, variables = 'null' }: Attack) => `{"query":${JSON.stringify(query)},"variables":${variables}}`;

/** The ways by which a document may come in. */
const WAYS: Record<string, (attack: Attack, as?: string) => Promise<Verdict>> = {
  POST: (attack, as) => post(jsonOf(attack), RESPONSE, as),
  SSE: (attack, as) => post(jsonOf(attack), 'text/event-stream', as),
  GET: ({ query, variables }, as) =>
    ask(`/graphql?${new URLSearchParams({ query, ...(variables && { variables }) })}`, {
      headers: { Accept: RESPONSE },
      as,
    }),
  /** Sent with its hash, and then by that alone; what is too long to be kept is judged at once. */
  async persisted(attack, as) {
    const { query, variables = 'null' } = attack;
    const extensions = `"extensions":{"persistedQuery":{"version":1,"sha256Hash":"${hash('sha256', query)}"}}`;
    const first = await post(`{"query":${JSON.stringify(query)},"variables":${variables},${extensions}}`, RESPONSE, as);
    return first.code === 'QUERY_TOO_LARGE' ? first : post(`{"variables":${variables},${extensions}}`, RESPONSE, as);
  },
};

const post = (body: BodyInit, accept: string, as?: string, headers = {}) =>
  ask('/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: accept, ...headers },
    body,
    as,
  });

test('G2, G3, G4, G8: every attack gets its own verdict, the same on every way in; without a key none is looked at', async () => {
  const found: object[] = [];
  const expected: object[] = [];
  const times: number[] = [];
  for (const attack of attacks) {
    for (const [way, send] of Object.entries(WAYS)) {
      const { name, verdict, query, variables = '' } = attack;
      // Node's server takes 16 KiB of headers and address.
      const isTooLong = way === 'GET' && String(new URLSearchParams({ query, variables })).length > 15_950;
      const { status, code, ms } = await send(attack);
      times.push(ms);
      found.push({ name, way, verdict: status === 431 ? 431 : code, isFailure: status >= 500 });
      // An address has no lone surrogates.
      const told = way === 'GET' && !query.isWellFormed() ? 'answered' : verdict;
      expected.push({ name, way, verdict: isTooLong ? 431 : told, isFailure: false });
      if (isTooLong) continue;
      const anonymous = await send(attack, '');
      found.push({ name, way, anonymous: [anonymous.status, anonymous.code] });
      expected.push({ name, way, anonymous: [401, 'UNAUTHENTICATED'] });
    }
  }
  expect(found).toEqual(expected);
  figures['documents × ways'] = times.length;
  figures['slowest document, ms'] = Math.round(Math.max(...times));
});

test('bodies that are none: 4xx with a code, each', async () => {
  for (const { name, status, headers, body } of rawAttacks)
    expect({ name, ...(await post(body as BodyInit, RESPONSE, key, headers)) }).toEqual({
      name,
      status,
      code: expect.stringMatching(/^\w+$/),
      ms: expect.any(Number),
    });
  figures['bodies'] = rawAttacks.length;
});

const mib = (bytes: number) => Math.round(bytes / MIB);

/** What is reachable or not yet collected, and what the process holds: V8 keeps pages that it has once had. */
async function memoryNow(): Promise<{ used: number; resident: number }> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const bytes = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return {
    used: bytes('nodejs_heap_size_used_bytes') + bytes('nodejs_external_memory_bytes'),
    resident: bytes('process_resident_memory_bytes'),
  };
}

/** The least of twenty looks, between which garbage may be collected. */
async function memory(): Promise<{ used: number; resident: number }> {
  let least = await memoryNow();
  for (let look = 1; look < 20; look += 1) {
    await ask('/graphql?query={viewer{role}}');
    const { used, resident } = await memoryNow();
    least = { used: Math.min(used, least.used), resident: Math.min(resident, least.resident) };
  }
  return least;
}

test('G1: memory is bounded, whatever the documents are, and honest queries are answered as before', async () => {
  let flooded = 0;
  const count = full ? 2_000 : 300;
  // Every one is parsed, is valid, is of the largest size in text and nearly so in tokens, and has not been seen before.
  const largest = (n: number) => {
    const query = `${repeat(780, (i) => `query Q${n}_${i}{__typename}`)} #`.padEnd(65_536, 'x');
    return JSON.stringify({ query, operationName: `Q${n}_0` });
  };
  const huge = (n: number) => JSON.stringify({ query: `{__typename #${n}`.padEnd(MIB, 'x') });
  const variables = (n: number) =>
    JSON.stringify({ query: `query V${n}($id:ID!){node(id:$id){id}}`, variables: { id: `${n}`.padEnd(3 * MIB, 'x') } });
  const flood = async (bodies: number, bodyOf: (n: number) => string, as?: string) => {
    let next = (flooded += 10_000);
    const last = next + bodies;
    const statuses = new Set<number>();
    const worker = async () => {
      while (next < last) statuses.add((await post(bodyOf((next += 1)), RESPONSE, as)).status);
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    return [...statuses];
  };
  // What every process takes once it has worked.
  expect(await flood(200, (n) => JSON.stringify({ query: `query W${n}{viewer{role}}` }))).toEqual([200]);
  const before = await memory();
  const statuses = {
    largest: await flood(count, largest),
    again: await flood(100, largest),
    huge: await flood(count / 4, huge),
    variables: await flood(count / 3, variables),
    batches: await flood(count / 4, () => JSON.stringify(Array.from({ length: 200 }, () => ({ query: '{a}' })))),
    refused: await flood(10 * count, (n) => JSON.stringify({ query: `{a${n}:viewer{nothing}}` })),
    anonymous: await flood(count / 4, largest, ''),
  };
  expect(statuses).toEqual({
    largest: [200],
    again: [200],
    huge: [400],
    variables: [200],
    batches: [400],
    refused: [400],
    anonymous: [401],
  });
  const after = await memory();
  // The same again finds room in what the first flood has left, and in the heap.
  await flood(count, largest);
  await flood(count / 3, variables);
  const again = await memory();
  figures['heap it may use (MiB)'] = SMALL_HEAP_MIB;
  figures['distinct documents of 64 KiB'] = count;
  figures['distinct documents that are refused'] = 10 * count;
  figures['memory in use, MiB more'] = mib(after.used - before.used);
  figures['resident memory, MiB more'] = mib(after.resident - before.resident);
  figures['resident memory after the same again, MiB more'] = mib(again.resident - before.resident);
  expect(mib(after.used - before.used)).toBeLessThanOrEqual(150);
  // Of both floods.
  expect(mib(again.resident - before.resident)).toBeLessThanOrEqual(2 * 150);
  expect(await ask('/graphql?query={viewer{role}}')).toMatchObject({ status: 200, code: 'answered' });
  const shortfalls = [
    'Resident memory may grow by more than the 150 MiB of the goal, though what is in use does not: V8 keeps the pages that it once had, up to the heap that it is given. See docs/operations.md.',
  ];
  proof('Hostile documents', { figures, shortfalls });
}, 600_000);
