import { type GraphQLField, getNamedType, isLeafType, isObjectType, isRequiredArgument } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnyRoute, pathParameters, takesBody } from '../../src/core/http/route.ts';
import { inputJsonSchema, isSchema } from '../../src/core/input/json-schema.ts';
import { routes } from '../../src/gateway/routes.ts';
import { schema } from '../../src/gateway/schema.ts';
import type { AuditWorkspace } from '../support/fixtures/audit-log.ts';
import {
  type Growing,
  growingPlaces,
  sampleOf,
  shapeOfGraphQL,
  shapeOfJson,
} from '../support/fixtures/growing-inputs.ts';
import { mutationCases, startMutationWorkspace } from '../support/fixtures/mutation-cases.ts';

/**
 * Sends every operation of both APIs inputs that grow at one place, and compares the CPU time of the process for two sizes: it must not grow
 * faster than the bytes that were sent. Operations and places are found in the schemas, so new ones are tested without a change here.
 */

const STEP = 4;
/** Between linear growth (4) and quadratic growth (16). */
const MAX_GROWTH = 8;

interface Answer {
  readonly status: number;
  readonly text: string;
}
/** Sends an input as JSON. */
type Send = (body: string) => Promise<Answer>;

let workspace: AuditWorkspace;
/** Ids of objects, by the names that parameters of paths have. */
const ids: Record<string, string> = {};
const NOWHERE = '01890a5d-ac96-774b-bcce-b302099a8057';
beforeAll(async () => {
  const original = await startMutationWorkspace();
  workspace = {
    ...original,
    // The input of each mutation is also sent with each of its places grown: before objects are changed or deleted, and after they are created.
    mutate: async (name, input, selection, key = original.admin.key) => {
      const vary = () => requireLinear(name, placesOfMutation(name, input), sendMutation(name, key));
      if (!name.startsWith('create')) await vary();
      const change = await original.mutate(name, input, selection, key);
      if (name.startsWith('create')) await vary();
      return change;
    },
  };
  const { rest, admin } = original;
  const created = async (path: string, body: object) => String((await rest('POST', path, body)).result['id']);
  ids['sessionId'] = await created('/v1/sessions', { title: 'S' });
  ids['artifactId'] = await created(`/v1/sessions/${ids['sessionId']}/artifacts`, { type: 'PullRequest' });
  const server = { type: 'stdio', name: 's', command: 'c', env: { k0: 'v', k1: 'v' } };
  const { result } = await rest('POST', '/v1/mcp-connections', server);
  ids['mcpConnectionId'] = (result['connection'] as { id: string }).id;
  const definition = routes.find(({ operationId }) => operationId === 'createEventDefinition')?.examples?.input ?? {};
  await created('/events/2026-03/event-definitions', definition);
  Object.assign(ids, { eventName: 'checkout_started', propertyName: 'cart_total', userId: admin.userId });
}, 60_000);
afterAll(() => workspace.stop());

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

async function cpuOf(send: Send, body: string): Promise<number> {
  const before = process.cpuUsage();
  await send(body);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** How many times the CPU time of a quarter of the input the whole input takes. */
async function growthOf(send: Send, { grown }: Growing, count: number): Promise<number> {
  const [small, large] = [JSON.stringify(grown(Math.ceil(count / STEP))), JSON.stringify(grown(count))];
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
/** The limits that answers name. The largest input within a limit is tried too. */
const limits = new Set<number>();

async function requireLinear(operation: string, places: Iterable<Growing>, send: Send): Promise<void> {
  for (const growing of places) {
    const most = Math.floor(growing.most);
    limits.clear();
    await check(most);
    for (const limit of [...limits]) if (limit < most && limit >= 4 * STEP) await check(limit);

    async function check(count: number) {
      tried += 1;
      const growth = await growthOf(send, growing, count);
      if (growth > MAX_GROWTH) expect(`${operation} ${growing.place}, ${count}: ${growth} times`).toBe('linear');
    }
  }
}

const sendAs =
  (key: string, method: string, path: string, headers: Readonly<Record<string, string>> = {}): Send =>
  async (body) => {
    const response = await workspace.gateway.fetch(path, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
      body,
    });
    const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream');
    // A subscription waits for changes.
    if (isStream) await response.body?.cancel();
    const answer = { status: response.status, text: isStream ? '' : await response.text() };
    for (const [, limit = ''] of answer.text.matchAll(/at most ([\d,]+)/g))
      limits.add(Number(limit.replaceAll(',', '')));
    if (answer.status < 300 && !/"errors":\[|"message":/.test(answer.text)) accepted += 1;
    return answer;
  };

describe('the CPU time of a REST request grows at most as its body', () => {
  const pathOf = ({ method, path }: AnyRoute) =>
    pathParameters(path).reduce(
      (made, name) => made.replace(`:${name}`, (method === 'DELETE' ? undefined : ids[name]) ?? NOWHERE),
      path,
    );
  test.each(routes.filter(takesBody).map((route) => [route.operationId, route] as const))('%s', async (name, route) => {
    const inPath = pathParameters(route.path);
    const whole = inputJsonSchema(route.input);
    for (const one of [whole.oneOf ?? whole.anyOf ?? whole].flat().filter(isSchema)) {
      const shape = shapeOfJson(one, whole.$defs);
      if (shape.kind !== 'object') throw new Error(`the input of ${name} is no object`);
      const fields = new Map([...shape.fields].filter(([field]) => !inPath.includes(field)));
      // Unknown names too, which are refused in one way at any depth.
      const inBody = { ...shape, fields, isOpen: true };
      const example = { ...(sampleOf(inBody) as object), ...route.examples?.input };
      await requireLinear(
        name,
        growingPlaces(example, inBody),
        sendAs(workspace.admin.key, route.method, pathOf(route)),
      );
    }
  });
});

const asJson = { Accept: 'application/json' };

function placesOfMutation(name: string, input: object): Iterable<Growing> {
  const [argument] = schema.getMutationType()?.getFields()[name]?.args ?? [];
  if (!argument) throw new Error(`${name} has no input`);
  return growingPlaces(input, shapeOfGraphQL(argument.type));
}

function sendMutation(name: string, key: string): Send {
  const query = `mutation($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename ... on Error { message path } } }`;
  const post = sendAs(key, 'POST', '/graphql', asJson);
  return (input) => post(`{"query":${JSON.stringify(query)},"variables":{"input":${input}}}`);
}

describe('the CPU time of a mutation grows at most as its input', () => {
  test.each(Object.entries(mutationCases(() => workspace)))('%s', async (_, { run }) => {
    await run();
  });
});

type Argued = GraphQLField<unknown, unknown>;

/** Each field with arguments that can be reached from a root type without them, and how to select it. */
function* fieldsWithArguments(
  type: string,
  around: (selection: string) => string,
  seen = new Set<string>(),
): Generator<[coordinate: string, field: Argued, around: (selection: string) => string]> {
  const found = schema.getType(type);
  if (!isObjectType(found) || seen.has(type)) return;
  seen.add(type);
  const fields = Object.values(found.getFields());
  for (const field of fields) if (field.args.length > 0) yield [`${type}.${field.name}`, field, around];
  // The shortest ways need no arguments.
  for (const { name, type: inner, args } of fields.toSorted((one, other) => one.args.length - other.args.length)) {
    if (args.some(isRequiredArgument)) continue;
    yield* fieldsWithArguments(getNamedType(inner).name, (selection) => around(`${name} { ${selection} }`), seen);
  }
}

describe('the CPU time of a query or subscription grows at most as its variables', () => {
  const roots = [
    ...fieldsWithArguments('Query', (selection) => `{ ${selection} }`),
    ...fieldsWithArguments('Subscription', (selection) => `{ ${selection} }`),
  ];
  test.each(roots)('%s', async (coordinate, field, around) => {
    const required = field.args.filter(isRequiredArgument);
    for (const argument of field.args) {
      const given = [...new Set([...required, argument])];
      const selection = isLeafType(getNamedType(field.type)) ? '' : '{ __typename }';
      const call = `${field.name}(${given.map(({ name }) => `${name}: $${name}`).join(', ')}) ${selection}`;
      const variables = given.map(({ name, type }) => `$${name}: ${String(type)}`).join(', ');
      const isStream = coordinate.startsWith('Subscription.');
      const query = `${isStream ? 'subscription' : 'query'}(${variables}) ${around(call)}`;
      const samples = Object.fromEntries(
        required.map(({ name, type }) => [name, ids[name] ?? sampleOf(shapeOfGraphQL(type))]),
      );
      const accept = { Accept: isStream ? 'text/event-stream' : 'application/json' };
      const post = sendAs(workspace.admin.key, 'POST', '/graphql', accept);
      const send: Send = (value) =>
        post(
          `{"query":${JSON.stringify(query)},"variables":${JSON.stringify(samples).slice(0, -1)}${required.length > 0 ? ',' : ''}${JSON.stringify(argument.name)}:${value}}}`,
        );
      const shape = shapeOfGraphQL(argument.type);
      await requireLinear(`${coordinate}(${argument.name})`, growingPlaces(sampleOf(shape), shape), send);
    }
  });
});

test('the inputs are not only refused', () => {
  expect(tried).toBeGreaterThan(500);
  expect(accepted).toBeGreaterThan(200);
});
