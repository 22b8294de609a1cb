import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../../src/gateway/modules.ts';
import { MUTATION_CASES } from '../support/operations/cases.ts';
import { type WriteWorkspace, callerOf, mutate, startWriteWorkspace } from '../support/operations/write-workspace.ts';
import { type WideRequest, mutationRequest, queryRequests, restRequests } from '../support/widest/contract.ts';
import type { Place } from '../support/widest/places.ts';
import { numbered } from '../support/widest/wide-values.ts';

/**
 * Sends every operation of both APIs inputs that grow at one place, and compares the CPU time of the process for two sizes: it must not grow
 * faster than the bytes that were sent.
 */

const STEP = 4;
/** Between linear growth (4) and quadratic growth (16). */
const MAX_GROWTH = 8;

let workspace: WriteWorkspace;
const ids: Record<string, string> = {};
beforeAll(async () => {
  workspace = await startWriteWorkspace();
  const { sessionId, artifactId, callers } = workspace.kept;
  const { key, userId } = callers.admin;
  const create = async (path: string, body: object) =>
    (await workspace.gateway.rest<{ connection?: { id: string } }>('POST', path, { key, body })).body;
  const server = { type: 'stdio', name: 's', command: 'c', env: { k0: 'v', k1: 'v' } };
  const { connection } = await create('/v1/mcp-connections', server);
  const definition = routes.find(({ operationId }) => operationId === 'createEventDefinition')?.examples?.input ?? {};
  await create('/events/2026-03/event-definitions', definition);
  const names = { eventName: 'checkout_started', propertyName: 'cart_total' };
  Object.assign(ids, { sessionId, artifactId, mcpConnectionId: connection?.id, userId, ...names });
});
afterAll(() => workspace.stop());

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Sends the JSON of an input. */
type Send = (input: string) => Promise<void>;

async function cpuOf(send: Send, input: string): Promise<number> {
  const before = process.cpuUsage();
  await send(input);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** A place of an input that grows with `count`. */
interface Growing {
  readonly place: string;
  /** A count that shows whether work grows linearly: lists of 12,000 items or 1 MiB, objects of 128 KiB, and texts of 64 KiB. */
  readonly most: number;
  readonly grown: (count: number) => string;
}

const KIB = 1024;

function growingAt({ path: place, takes, target: { item }, fill }: Place): Growing[] {
  const several = (count: number, partOf: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => partOf(index)).join(',');
  // Runs of different characters, which patterns may try in many ways.
  const runs = (count: number) => `"${['a', ' ', '-'].map((each) => each.repeat(count)).join('')}"`;
  if (takes.includes('text')) return [{ place, most: (64 * KIB) / 3, grown: (count) => fill(runs(count)) }];
  if (takes.includes('items')) {
    const most = Math.min(12_000, (1024 * KIB) / (item.length + 6));
    return [{ place, most, grown: (count) => fill(several(count, (index) => numbered(item, index))) }];
  }
  if (!takes.includes('members')) return [];
  return [{ place, most: (128 * KIB) / 13, grown: (count) => fill(several(count, (index) => `"k${index}":"a"`)) }];
}

/** How many times the CPU time of a quarter of the input the whole input takes. */
async function growthOf(send: Send, { grown }: Growing, count: number): Promise<number> {
  const [small, large] = [grown(Math.ceil(count / STEP)), grown(count)];
  const costs: [small: number[], large: number[]] = [[], []];
  const measure = async () => {
    costs[1].push(await cpuOf(send, large));
    costs[0].push(await cpuOf(send, small));
  };
  const growth = () => median(costs[1]) / median(costs[0]);
  await measure();
  // The first request compiles code, and something else, such as a collection of garbage, can fall into one measurement.
  for (let times = 0; times < 6 && growth() > MAX_GROWTH; times += 1) await measure();
  return growth();
}

let tried = 0;
let accepted = 0;

/** The places of an input where work grows faster than the input, also for the largest input within a limit that the answers name. */
async function faultsOf(request: WideRequest, key = workspace.kept.callers.admin.key): Promise<string[]> {
  const limits = new Set<number>();
  const send: Send = async (input) => {
    const text = await answerTo(request, input, key);
    for (const [, limit = ''] of text.matchAll(/at most ([\d,]+)/g)) limits.add(Number(limit.replaceAll(',', '')));
  };
  const found: string[] = [];
  for (const growing of [...request.places()].flatMap(growingAt)) {
    limits.clear();
    const most = Math.floor(growing.most);
    const check = async (count: number) => {
      tried += 1;
      const growth = await growthOf(send, growing, count);
      if (growth > MAX_GROWTH) found.push(`${request.operation} ${growing.place}, ${count}: ${growth} times`);
    };
    await check(most);
    const smaller = Array.from(limits).filter((limit) => limit < most && limit >= 4 * STEP);
    for (const limit of smaller) await check(limit);
  }
  return found;
}

async function faultsOfAll(requests: readonly WideRequest[], operation: string): Promise<string[]> {
  const found: string[] = [];
  for (const request of requests) if (request.operation === operation) found.push(...(await faultsOf(request)));
  return found;
}

async function answerTo({ method, path, accept, bodyOf }: WideRequest, input: string, key: string): Promise<string> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: accept };
  const response = await workspace.gateway.fetch(path, { method, headers, body: bodyOf(input) });
  if (response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
    // A subscription waits for changes.
    await response.body?.cancel();
    return '';
  }
  const text = await response.text();
  if (response.status < 300 && !/"errors":\[|"message":/.test(text)) accepted += 1;
  return text;
}

describe('the CPU time of a REST request grows at most as its body', () => {
  const names = [...new Set(restRequests({}).map(({ operation }) => operation))];
  test.each(names)('%s', async (name) => {
    expect(await faultsOfAll(restRequests(ids), name)).toEqual([]);
  });
});

describe('the CPU time of a mutation grows at most as its input', () => {
  test.each(MUTATION_CASES)('%s', async (name, write) => {
    const to = await workspace.objectsFor(name, write);
    // Before objects are changed or removed, and after they are created.
    const isCreation = write.creates !== undefined && name !== 'deleteUser';
    if (isCreation) await mutate(workspace.gateway, [name, write], to);
    expect(await faultsOf(mutationRequest(name, write.input(to)), callerOf(write, to).key)).toEqual([]);
    if (!isCreation) await mutate(workspace.gateway, [name, write], to);
  });
});

describe('the CPU time of a query or subscription grows at most as its variables', () => {
  test.each(queryRequests({}).map(({ operation }) => operation))('%s', async (name) => {
    expect(await faultsOfAll(queryRequests(ids), name)).toEqual([]);
  });
});

test('the inputs are not only refused', () => {
  expect(tried).toBeGreaterThan(500);
  expect(accepted).toBeGreaterThan(200);
});
