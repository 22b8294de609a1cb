import {
  type GraphQLArgument,
  type GraphQLField,
  getNamedType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from 'graphql';
import { type AnyRoute, isRaw, pathParameters, takesBody } from '../../../src/core/http/route.ts';
import { inputJsonSchema, isSchema } from '../../../src/core/input/json-schema.ts';
import { publicPages, routes } from '../../../src/gateway/modules.ts';
import { schema } from '../../../src/gateway/schema.ts';
import { type Place, placesOf, sampleOf, shapeOfGraphQL, shapeOfJson, shapeOfValue } from './places.ts';

/** The operations of the contract, each with the places of its input. They are found in the schemas, so new ones need no change here. */

export interface WideRequest {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly accept: string;
  /** The JSON of a small input. */
  readonly sample: string;
  /** The body of the request for the JSON of an input. */
  readonly bodyOf: (input: string) => string;
  readonly places: () => Iterable<Place>;
}

/** Ids of existing objects, by the names of parameters. */
export type Ids = Readonly<Record<string, string>>;

/** An example that names no server but that of the test, at `origin`. */
const local = (example: object, { origin = 'http://127.0.0.1:9' }: Ids) =>
  JSON.parse(JSON.stringify(example).replaceAll(/https?:\/\/[\w.]*example\.com/g, origin)) as object;

const NOWHERE = '01890a5d-ac96-774b-bcce-b302099a8057';
const JSON_TYPE = 'application/json';
const MCP_TYPES = `${JSON_TYPE}, text/event-stream`;

const asIs = (input: string) => input;

/** A request for each route with a body, and for each shape of its body. */
export function restRequests(ids: Ids): WideRequest[] {
  return routes.filter(takesBody).flatMap((route) => {
    const common = {
      operation: route.operationId,
      method: route.method,
      path: pathOf(route, ids),
      type: JSON_TYPE,
      bodyOf: asIs,
    };
    if (isRaw(route)) return route.body === undefined ? [] : messagesTo({ ...common, accept: MCP_TYPES });
    const inPath = pathParameters(route.path);
    const whole = inputJsonSchema(route.input);
    return [whole.oneOf ?? whole.anyOf ?? whole].flat().flatMap((one) => {
      const shape = isSchema(one) ? shapeOfJson(one, whole.$defs) : undefined;
      if (shape?.kind !== 'object') return [];
      const inBody = { ...shape, fields: new Map([...shape.fields].filter(([name]) => !inPath.includes(name))) };
      const example = local({ ...(sampleOf(inBody) as object), ...route.examples?.input }, ids);
      return [
        { ...common, accept: JSON_TYPE, sample: JSON.stringify(example), places: () => placesOf(example, inBody) },
      ];
    });
  });
}

function pathOf({ method, path }: AnyRoute, ids: Ids): string {
  return pathParameters(path).reduce(
    (made, name) => made.replace(`:${name}`, (method === 'DELETE' ? undefined : ids[name]) ?? NOWHERE),
    path,
  );
}

const REQUEST = { jsonrpc: '2.0', id: 1 };
/** Messages of the protocol of MCP servers. */
const MESSAGES = {
  call: {
    ...REQUEST,
    method: 'tools/call',
    params: { name: 'add', arguments: { a: 1, b: 2 }, _meta: { progressToken: 1 } },
  },
  list: { ...REQUEST, method: 'tools/list', params: { cursor: 'a' } },
  initialize: {
    ...REQUEST,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
  },
  answer: { jsonrpc: '2.0', id: 'a', result: { content: [{ type: 'text', text: 'a' }] } },
  notification: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 'a' } },
};

const messagesTo = (common: Omit<WideRequest, 'sample' | 'places'>): WideRequest[] =>
  Object.entries(MESSAGES).map(([name, message]) => ({
    ...common,
    operation: `${common.operation} ${name}`,
    ...exampleOf(message),
  }));

export interface ToolRequest extends Omit<WideRequest, 'bodyOf' | 'sample' | 'places'> {
  readonly body: string;
}

/** The smallest request of each operation that calls a server. */
export function toolRequests(ids: Ids): ToolRequest[] {
  const calling = new Set(
    routes.filter((route) => route.callsOut || isRaw(route)).map(({ operationId }) => operationId),
  );
  const isCalling = ({ operation }: WideRequest) => calling.has(operation.split(' ', 1)[0] ?? '');
  const isCallingField = ({ operation }: WideRequest) =>
    schema.getMutationType()?.getFields()[operation]?.extensions['callsOut'] === true;
  const smallest = ({ operation, method, path, type, accept, bodyOf, sample }: WideRequest): ToolRequest => ({
    operation,
    method,
    path,
    type,
    accept,
    body: bodyOf(sample),
  });
  const tools = `{ node(id: "${Buffer.from(`McpServer:${ids['mcpServerId']}`).toString('base64')}") { ... on McpServer { tools { __typename } } } }`;
  return [
    ...[...restRequests(ids).filter(isCalling), ...mutationRequests(ids).filter(isCallingField)].map(smallest),
    { ...graphql('tools of a server', JSON_TYPE), body: JSON.stringify({ query: tools }) },
  ];
}

/** What the contract does not list: the endpoint for MCP clients, the members of a GraphQL request, and the forms of pages. */
export function otherRequests(): WideRequest[] {
  const common = { method: 'POST', type: JSON_TYPE, bodyOf: asIs };
  const query = { query: 'query a($a: Int) { __typename }', variables: { a: 1 }, operationName: 'a', extensions: {} };
  const form = { type: 'application/x-www-form-urlencoded', accept: 'text/html', bodyOf: formOf };
  return [
    ...messagesTo({ ...common, operation: '/mcp', path: '/mcp', accept: MCP_TYPES }),
    { ...graphql('a GraphQL request', JSON_TYPE), bodyOf: asIs, ...exampleOf(query) },
    ...publicPages
      .filter(({ submit }) => submit)
      .map(({ path, operationId }) => ({
        ...common,
        ...form,
        operation: operationId,
        path,
        ...exampleOf({ token: 'a' }),
      })),
  ];
}

const exampleOf = (value: object) => ({
  sample: JSON.stringify(value),
  places: () => placesOf(value, shapeOfValue(value)),
});
/** JSON as a form, without reading it: members become fields. */
const formOf = (json: string) => json.slice(1, -1).replaceAll('":', '=').replaceAll(',', '&').replaceAll('"', '');

/** A mutation with its input; by default the smallest one, about the given objects where they have the same names. */
export function mutationRequest(name: string, given?: object, ids: Ids = {}): WideRequest {
  const [argument] = schema.getMutationType()?.getFields()[name]?.args ?? [];
  if (!argument) throw new Error(`${name} has no input`);
  const shape = shapeOfGraphQL(argument.type);
  const sample = sampleOf(shape) as object;
  const known = Object.fromEntries(Object.keys(sample).flatMap((each) => (ids[each] ? [[each, ids[each]]] : [])));
  const input = given ?? local({ ...sample, ...known }, ids);
  const query = `mutation($input: ${String(argument.type)}) { ${name}(input: $input) { __typename ... on Error { message path } } }`;
  return {
    ...graphql(name, JSON_TYPE),
    bodyOf: (value) => `{"query":${JSON.stringify(query)},"variables":{"input":${value}}}`,
    sample: JSON.stringify(input),
    places: () => placesOf(input, shape),
  };
}

/** Mutations that would remove what other requests need. */
const REMOVES = /^(?:delete|remove|revoke|leave)/;

export const mutationRequests = (ids: Ids): WideRequest[] =>
  Object.keys(schema.getMutationType()?.getFields() ?? {}).map((name) =>
    mutationRequest(name, undefined, REMOVES.test(name) ? { origin: ids['origin'] ?? '' } : ids),
  );

const graphql = (operation: string, accept: string) => ({
  operation,
  method: 'POST',
  path: '/graphql',
  type: JSON_TYPE,
  accept,
});

/** A query or subscription for each argument of each field that can be reached. */
export function queryRequests(ids: Ids): WideRequest[] {
  const inBraces = (selection: string) => `{ ${selection} }`;
  const fields = [...fieldsWithArguments('Query', inBraces), ...fieldsWithArguments('Subscription', inBraces)];
  return fields.flatMap(([coordinate, field, around]) =>
    field.args.map((argument) => queryRequest(`${coordinate}(${argument.name})`, { field, argument, around }, ids)),
  );
}

type Around = (selection: string) => string;
type Field = GraphQLField<unknown, unknown>;

function queryRequest(
  operation: string,
  { field, argument, around }: { readonly field: Field; readonly argument: GraphQLArgument; readonly around: Around },
  ids: Ids,
): WideRequest {
  const required = field.args.filter(isRequiredArgument);
  const given = [...new Set([...required, argument])];
  const selection = isLeafType(getNamedType(field.type)) ? '' : '{ __typename }';
  const call = `${field.name}(${given.map(({ name }) => `${name}: $${name}`).join(', ')}) ${selection}`;
  const variables = given.map(({ name, type }) => `$${name}: ${String(type)}`).join(', ');
  const isStream = operation.startsWith('Subscription.');
  const query = `${isStream ? 'subscription' : 'query'}(${variables}) ${around(call)}`;
  const others = required.filter((each) => each !== argument);
  const samples = others.map(({ name, type }) => [name, ids[name] ?? sampleOf(shapeOfGraphQL(type))] as const);
  const bodyOf = (value: string) => {
    const members = [
      ...samples.map(([name, sample]) => [name, JSON.stringify(sample)] as const),
      [argument.name, value],
    ];
    const json = members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',');
    return `{"query":${JSON.stringify(query)},"variables":{${json}}}`;
  };
  const shape = shapeOfGraphQL(argument.type);
  const value = sampleOf(shape);
  // The variable itself is a place too.
  const places = () =>
    [...placesOf({ value }, { kind: 'object', fields: new Map([['value', { shape: () => shape, isRequired: true }]]) })]
      .filter(({ path }) => path !== '{}')
      .map((place): Place => ({ ...place, fill: (json) => place.fill(json).slice('{"value":'.length, -1) }));
  const accept = isStream ? 'text/event-stream' : JSON_TYPE;
  return { ...graphql(operation, accept), bodyOf, sample: JSON.stringify(value), places };
}

/** Each field with arguments that can be reached from a root type without any, and how to select it. */
function* fieldsWithArguments(
  type: string,
  around: Around,
  seen = new Set<string>(),
): Generator<[coordinate: string, field: Field, around: Around]> {
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

/** Query strings that the limit of headers still admits. */
const QUERY_BYTES = 15_000;
const inQuery = (part: (index: number) => string) => {
  let made = '';
  for (let index = 0; made.length < QUERY_BYTES; index += 1) made += part(index);
  return made;
};

/** The addresses of each route without a body, with wide query strings. */
export function wideAddresses(
  ids: Ids,
): { readonly operation: string; readonly method: string; readonly path: string }[] {
  return routes
    .filter((route) => !takesBody(route) && !isRaw(route))
    .flatMap((route) => {
      const inPath = pathParameters(route.path);
      const schemaOf = inputJsonSchema(route.input);
      const names = Object.keys(schemaOf.properties ?? {}).filter((name) => !inPath.includes(name));
      const wide = new Map([
        ['unknown names', inQuery((index) => `k${index}=1&`)],
        ['escapes', inQuery((index) => `%2${index % 10}&`)],
        ...names.flatMap((name): [string, string][] => [
          [`${name} repeated`, inQuery(() => `${name}=a&`)],
          [`${name} long`, `${name}=${inQuery(() => 'a%20,-')}`],
        ]),
      ]);
      const common = { method: route.method, base: pathOf(route, ids) };
      return [...wide].map(([kind, query]) => ({
        operation: `${route.operationId} ${kind}`,
        method: common.method,
        path: `${common.base}?${query}`,
      }));
    });
}

/** The addresses of all routes that read a session, with each value of a parameter that has a list of them. */
export function sessionAddresses(sessionId: string): string[] {
  return routes
    .filter(({ method, path }) => method === 'GET' && path.includes(':sessionId'))
    .flatMap((route) => {
      const path = pathOf(route, { sessionId });
      const parameters = Object.entries(inputJsonSchema(route.input).properties ?? {});
      const choices = parameters.flatMap(([name, schemaOf]) =>
        isSchema(schemaOf) ? (schemaOf.enum ?? []).map((value) => `${path}?${name}=${String(value)}`) : [],
      );
      return [path, ...choices];
    });
}
