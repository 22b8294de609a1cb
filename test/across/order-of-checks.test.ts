import { randomUUID } from 'node:crypto';
import { type GraphQLInputType, isEnumType, isInputObjectType, isListType, isNonNullType } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { isKeyless, takesBody } from '../../src/core/http/route.ts';
import { accessOf } from '../../src/core/graphql/refusable.ts';
import type { Access } from '../../src/core/access.ts';
import { routes } from '../../src/gateway/modules.ts';
import { schema } from '../../src/gateway/schema.ts';
import { type Callers, createCallers } from '../support/fixtures/api-keys.ts';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { sampled } from '../support/sample.ts';

/** Every operation checks scopes, role and subscription before its input: a caller without them gets 403, whatever the input is. */

const gateway = useTestGateway();
let keys: Callers;
beforeAll(async () => {
  keys = await createCallers(gateway);
});

/** The callers who lack something that the operation needs. */
function refusedCallers({ scopes, role, subscription }: Access): (keyof typeof keys)[] {
  return [
    ...(scopes.length > 0 ? (['scopeless'] as const) : []),
    ...(role === 'admin' ? (['member'] as const) : []),
    ...(role ? (['viewer'] as const) : []),
    ...(subscription ? (['unsubscribed'] as const) : []),
  ];
}

const keyed = routes.flatMap((route) => (isKeyless(route) || refusedCallers(route.access).length === 0 ? [] : [route]));

sampled(describe, 12).each(keyed.map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s',
  (_, route) => {
    const path = route.path.replaceAll(/:\w+/g, '%00').concat('?nothing=of&the=kind&limit=x');
    const bodies =
      route.method === 'GET' ? [undefined] : ['{', '[]', '{"nothing":"of the kind"}', 'x'.repeat(5 * 1024 * 1024)];

    test('403 whatever the input is', async () => {
      for (const caller of refusedCallers(route.access)) {
        for (const body of bodies) {
          const headers = { Authorization: `Bearer ${keys[caller]}`, ...(body && { 'Content-Type': 'text/plain' }) };
          const { status } = await gateway.fetch(path, { method: route.method, headers, body });
          expect([caller, body?.slice(0, 20), status]).toEqual([caller, body?.slice(0, 20), 403]);
        }
      }
    });
  },
);

const ofWorkspace = routes.filter(({ path }) => !path.startsWith('/events/'));

test.each(ofWorkspace.map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s refuses a parameter of the query that it does not know',
  async (_, route) => {
    const path = `${route.path.replaceAll(/:\w+/g, randomUUID())}?isDryRun=true`;
    const body = takesBody(route) ? (route.examples?.input ?? {}) : undefined;
    const { status, text } = await gateway.rest(route.method, path, { key: keys.admin, body });
    expect([status, text]).toEqual([400, expect.stringContaining('isDryRun: ')]);
  },
);

test('the MCP server refuses a parameter of the query', async () => {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const { status, text } = await gateway.rest('POST', '/mcp?session=1', { key: keys.admin, body });
  expect([status, text]).toEqual([400, expect.stringContaining('session: ')]);
});

test('clients of the event API may send other parameters', async () => {
  const path = `/events/2026-03/event-definitions?hapikey=1`;
  expect((await gateway.rest('GET', path, { key: keys.admin })).status).toBe(200);
});

/** A value of the type that breaks as many rules as the type allows. */
function garbage(type: GraphQLInputType): unknown {
  if (isNonNullType(type)) return garbage(type.ofType);
  if (isListType(type)) return [garbage(type.ofType)];
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields());
    const wanted = type.isOneOf ? fields.slice(0, 1) : fields.filter((field) => isNonNullType(field.type));
    return Object.fromEntries(wanted.map((field) => [field.name, garbage(field.type)]));
  }
  if (isEnumType(type)) return type.getValues()[0]?.name;
  return (
    { Int: -1, Float: -1, Boolean: true, URL: 'http://x', UUID: randomUUID(), DateTime: '2026-01-01T00:00:00Z' }[
      type.name
    ] ?? '\u0000'
  );
}

const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});

test.each(mutations.map((field) => [field.name, field] as const))(
  'mutation %s declares the scopes, role and subscription that it needs',
  (_, field) => {
    expect(accessOf(field)).toBeDefined();
  },
);

const refusable = mutations.flatMap((field) => {
  const access = accessOf(field);
  const callers = access ? refusedCallers(access) : [];
  return callers.length > 0 ? [[field.name, field, callers] as const] : [];
});

sampled(describe, 12).each(refusable)('mutation %s', (name, field, callers) => {
  test('403 whatever the input is', async () => {
    const type = String(field.args.find((argument) => argument.name === 'input')?.type);
    const query = `mutation($input: ${type}) { ${name}(input: $input) { __typename ... on Error { code } } }`;
    // Variables may also have a wrong type. In the document itself, a wrong type would be a validation error.
    const inputs = [garbage(field.args[0]?.type as GraphQLInputType), { nothing: 'of the kind' }, 5];
    for (const caller of callers) {
      for (const input of inputs) {
        const { data, errors } = await gateway.graphql<Record<string, { code?: string } | null>>(keys[caller], query, {
          input,
        });
        const code = data?.[name]?.code ?? errors?.[0]?.extensions?.['code'];
        expect([caller, input, code]).toEqual([caller, input, 'FORBIDDEN']);
      }
    }
  });
});

test('over GraphQL, a missing scope is reported before variables of a wrong type: as status 403 if the media type allows it, and in the audit log', async () => {
  const body = JSON.stringify({
    query: 'mutation($input: CreateSessionInput!) { mine: createSession(input: $input) { __typename } }',
    variables: { input: 5 },
  });
  const ask = async (key: string, Accept: string) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept };
    const response = await gateway.fetch('/graphql', { method: 'POST', headers, body });
    const { errors } = (await response.json()) as { errors: { path?: string[]; extensions: { code: string } }[] };
    return [response.status, errors.map(({ path, extensions: { code } }) => [path, code])];
  };
  const { key, keyId } = await gateway.createKey({ scopes: [] });
  const refusal = [[['mine'], 'FORBIDDEN']];
  expect(await ask(key, 'application/json')).toEqual([200, refusal]);
  expect(await ask(key, 'application/graphql-response+json')).toEqual([403, refusal]);
  expect(await ask(keys.member, 'application/graphql-response+json')).toEqual([400, [[undefined, 'INVALID_INPUT']]]);
  const recorded = 'select operation, refusal from audit_entry where key_id = $1';
  expect(await gateway.dependencies.sql.query(recorded, [keyId])).toEqual([
    { operation: 'createSession', refusal: 'forbidden' },
  ]);
});
