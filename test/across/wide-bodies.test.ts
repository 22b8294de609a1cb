import { randomUUID } from 'node:crypto';
import { type GraphQLInputType, isInputObjectType, isListType, isNonNullType } from 'graphql';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { isKeyless, isRaw, pathParameters, takesBody } from '../../src/core/http/route.ts';
import { isSchema } from '../../src/core/input/json-schema.ts';
import { WORK } from '../../src/core/work-budget.ts';
import { routes } from '../../src/gateway/modules.ts';
import { schema } from '../../src/gateway/schema.ts';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { sampled } from '../support/sample.ts';

/** What a body may become is bounded for every operation with a body, and for every mutation. */

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

type Json = z.core.JSONSchema.JSONSchema;

const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`unknown${at}`, 1]));
const TOO_WIDE = 'must have at most 500 properties';

/** The ways to the objects in a body whose properties its schema names: `0` is the first item of a list, `name` any name. */
function placesIn(document: Json, within: Json = document, seen: readonly Json[] = []): string[][] {
  const [, , definition] = /^#\/(\$defs|definitions)\/(.+)$/.exec(within.$ref ?? '') ?? [];
  const found = definition === undefined ? within : (document.$defs?.[definition] as Json);
  if (seen.includes(found)) return [];
  const inner = (part: unknown, name: string) =>
    isSchema(part) ? placesIn(document, part, [...seen, found]).map((place) => [name, ...place]) : [];
  return [
    ...(found.type === 'object' && found.additionalProperties === false ? [[]] : []),
    ...Object.entries(found.properties ?? {}).flatMap(([name, part]) => inner(part, name)),
    ...inner(found.items, '0'),
    ...inner(found.additionalProperties, 'name'),
    ...[...(found.anyOf ?? []), ...(found.oneOf ?? [])].flatMap((option) =>
      isSchema(option) ? placesIn(document, option, [...seen, found]) : [],
    ),
  ];
}

function valueAt([name, ...rest]: readonly string[], value: object): object {
  if (name === undefined) return value;
  return name === '0' ? [valueAt(rest, value)] : { [name]: valueAt(rest, value) };
}

const withBody = routes.flatMap((route) => {
  if (isRaw(route) || !takesBody(route)) return [];
  const input = z.toJSONSchema(route.input, { io: 'input', unrepresentable: 'any' });
  const inPath = pathParameters(route.path);
  const places = placesIn(input).filter(([first = '']) => !inPath.includes(first));
  const unique = new Map(places.map((place) => [place.join('.'), place]));
  return [[`${route.method} ${route.path}`, route, [...unique.values()]] as const];
});

async function sent(route: (typeof withBody)[number][1], body: string) {
  const path = route.path.replaceAll(/:\w+/g, () => randomUUID());
  const { status, body: answer } = await gateway.rest<{ error?: string; message?: string }>(route.method, path, {
    key: isKeyless(route) ? undefined : key,
    body,
  });
  return { status, message: answer.error ?? answer.message ?? '' };
}

sampled(test, 8).each(withBody)('%s refuses every object with more than 500 properties', async (_, route, places) => {
  expect(places).toContainEqual([]);
  for (const place of places) {
    const wide = await sent(route, JSON.stringify(valueAt(place, named(501))));
    const expected = place.length === 0 ? `the body ${TOO_WIDE}` : `${place.join('.')}: ${TOO_WIDE}`;
    expect([place, wide]).toEqual([place, { status: 400, message: expected }]);
    const narrow = await sent(route, JSON.stringify(valueAt(place, named(500))));
    expect([place, narrow.message.includes(TOO_WIDE)]).toEqual([place, false]);
    // Where it answers with faults, there are at most 20 and their number.
    expect([place, narrow.message.split('; ').length <= WORK.faults + 1]).toEqual([place, true]);
  }
});

sampled(test, 8).each(withBody)('%s refuses more than 500 levels, and reads at most its bytes', async (_, route) => {
  const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  expect(await sent(route, nested(501))).toEqual({
    status: 400,
    message: 'a.0.0: must not be nested deeper than 500 levels',
  });
  expect((await sent(route, nested(500))).message).not.toContain('levels');
  const [bytes, words] = isKeyless(route) ? [8192, '8192 bytes (8 KiB)'] : [4 * 1024 * 1024, '4194304 bytes (4 MiB)'];
  const message = `the body must be at most ${words}`;
  expect(await sent(route, ' '.repeat(bytes + 1))).toEqual({ status: 413, message });
  expect((await sent(route, `{"a":${' '.repeat(bytes - 7)}1}`)).status).toBe(400);
});

test('a body has at most 400,000 properties and items', async () => {
  const [, createSession] = withBody.find(([name]) => name === 'POST /v1/sessions') ?? [];
  if (!createSession) throw new Error('there is no such route');
  const lists = (count: number) => `{"title":[${'[],'.repeat(count - 2)}1]}`;
  expect(await sent(createSession, lists(400_000))).toEqual({
    status: 400,
    message: expect.stringMatching(/^title: must be a string/),
  });
  expect(await sent(createSession, lists(400_001))).toEqual({
    status: 400,
    message: 'the body must have at most 400000 properties and items in all',
  });
});

test('an object of free JSON has at most 50,000 properties', async () => {
  const [, callTool] = withBody.find(([name]) => name.endsWith('/tool-calls')) ?? [];
  if (!callTool) throw new Error('there is no such route');
  const body = (count: number) => JSON.stringify({ name: 'x', arguments: named(count) });
  expect((await sent(callTool, body(50_000))).status).toBe(404);
  expect(await sent(callTool, body(50_001))).toEqual({
    status: 400,
    message: 'arguments: must have at most 50000 properties',
  });
});

test('a query has at most 500 parameters', async () => {
  const query = (count: number) => Array.from({ length: count }, (_, at) => `p${at}=`).join('&');
  const { status, body } = await gateway.rest<{ error: string }>('GET', `/v1/sessions?${query(501)}`, { key });
  expect([status, body.error]).toEqual([400, 'the query must have at most 500 parameters']);
  const unknown = await gateway.rest<{ error: string }>('GET', `/v1/sessions?${query(500)}`, { key });
  expect(unknown.body.error).toMatch(/^p0: is not a known property; .*; and 480 more$/);
  const graphql = await gateway.rest<{ errors: { message: string }[] }>('GET', `/graphql?${query(501)}`, { key });
  expect(graphql.body.errors[0]?.message).toBe('the query must have at most 500 parameters');
});

/** The ways to the input objects of a type. */
function inputsIn(type: GraphQLInputType, seen: readonly unknown[] = []): string[][] {
  if (isNonNullType(type)) return inputsIn(type.ofType, seen);
  if (isListType(type)) return inputsIn(type.ofType, seen).map((place) => ['0', ...place]);
  if (!isInputObjectType(type) || seen.includes(type)) return [];
  const inner = Object.values(type.getFields()).flatMap((field) =>
    inputsIn(field.type, [...seen, type]).map((place) => [field.name, ...place]),
  );
  return [[], ...inner];
}

const fields = [schema.getMutationType(), schema.getQueryType(), schema.getSubscriptionType()].flatMap((root) =>
  Object.values(root?.getFields() ?? {}).flatMap((field) =>
    field.args.flatMap((argument) => {
      const places = inputsIn(argument.type);
      return places.length > 0
        ? [[`${root?.name}.${field.name}(${argument.name}:)`, field, argument, places] as const]
        : [];
    }),
  ),
);

sampled(test, 12).each(fields)(
  '%s refuses every input object with more than 500 properties',
  async (name, field, argument, places) => {
    const operation = name.split('.', 1)[0]?.toLowerCase();
    // Documents without required arguments are refused before their variables are read.
    const required = field.args
      .filter((other) => other !== argument && isNonNullType(other.type))
      .map((other) => `, ${other.name}: "x"`)
      .join('');
    const query = `${operation} ($value: ${String(argument.type)}) { ${field.name}(${argument.name}: $value${required}) { __typename } }`;
    for (const place of places) {
      const sentTo = async (count: number) => {
        const accept = { Accept: operation === 'subscription' ? 'text/event-stream' : 'application/json' };
        const body = { query, variables: { value: valueAt(place, named(count)) } };
        const response = await gateway.fetch('/graphql', {
          method: 'POST',
          headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...accept },
          body: JSON.stringify(body),
        });
        return response.text();
      };
      const at = place.length === 0 ? '' : ` at .${place.join('.')}`;
      const message = `Variable \\"$value\\" has invalid value${at}: ${TOO_WIDE}.`;
      expect([place, await sentTo(501)]).toEqual([place, expect.stringContaining(message)]);
      expect([place, (await sentTo(500)).includes(TOO_WIDE)]).toEqual([place, false]);
    }
  },
);

test('the name of a property of an input object, and an enum value, has at most 1,000 characters', async () => {
  const query = 'mutation ($value: CreateSessionInput!) { createSession(input: $value) { __typename } }';
  const answerTo = async (value: string) => {
    const body = `{"query":${JSON.stringify(query)},"variables":{"value":{"title":"S",${value}}}}`;
    const answer = await gateway.rest<{ errors: { message: string }[] }>('POST', '/graphql', { key, body });
    return answer.body.errors[0]?.message;
  };
  const invalid = 'Variable "$value" has invalid value';
  expect(await answerTo(`"${'a'.repeat(1001)}":1`)).toBe(
    `${invalid}: must have at most 1000 characters in the name of a property.`,
  );
  expect(await answerTo(`"${'a'.repeat(1000)}":1`)).toContain('not to include unknown field "aaaa');
  for (const [long, short] of [
    [`"${'a'.repeat(1001)}"`, `"${'a'.repeat(1000)}"`],
    ['7'.repeat(1001), '7'.repeat(1000)],
    [`["${'a'.repeat(997)}"]`, `["${'a'.repeat(996)}"]`],
  ]) {
    expect(await answerTo(`"mode":${long}`)).toBe(`${invalid} at .mode: must have at most 1000 characters.`);
    expect(await answerTo(`"mode":${short}`)).not.toContain('must have at most');
  }
});

test('the variables and extensions of a GraphQL request have at most 500 properties', async () => {
  for (const name of ['variables', 'extensions'])
    expect(
      await gateway.rest('POST', '/graphql', { key, body: { query: '{ __typename }', [name]: named(501) } }),
    ).toMatchObject({
      body: { errors: [{ message: `${name}: ${TOO_WIDE}` }] },
    });
});
