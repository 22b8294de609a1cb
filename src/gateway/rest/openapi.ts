import { VERSION } from '../../core/version.ts';
import { STATUS_OF } from '../../core/errors.ts';
import { type JsonSchema, inputJsonSchema, outputJsonSchema } from '../../core/input/json-schema.ts';
import {
  type AnyRoute,
  isKeyless,
  isRaw,
  outputExample,
  pathParameters,
  takesBody,
  takesIdempotencyKey,
} from '../../core/http/route.ts';
import {
  IDEMPOTENCY_KEY_HEADER,
  MAX_IDEMPOTENCY_KEY,
  ORGANIZATION_HEADER,
  REPLAYED_HEADER,
} from '../request-headers.ts';
import { ERROR_SCHEMAS, describedError, errorExample, errorStatuses, familyOf } from './openapi-errors.ts';
import { INTRODUCTION, TAGS } from './openapi-introduction.ts';
import { type StaticFile, staticFile } from '../../core/http/static-file.ts';
import { routes as allRoutes } from '../modules.ts';

/** Generates the OpenAPI document of the REST API from the table of routes. */

/** The default address of a gateway. */
const DEFAULT_URL = 'http://127.0.0.1:4000';

/** Generates the OpenAPI 3.1 document of the routes, with the public URL of the gateway. */
export function openApiDocument(routes: readonly AnyRoute[], publicUrl: string = DEFAULT_URL): object {
  const schemas: Record<string, unknown> = { ...ERROR_SCHEMAS };
  const responses: Record<string, unknown> = {};
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[route.method.toLowerCase()] = operation(route, schemas, responses);
  }
  const used = new Set(routes.map(({ tag }) => tag));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Workspace gateway',
      version: VERSION,
      description: INTRODUCTION,
      contact: { name: 'The operator of this gateway', url: `${publicUrl}/docs` },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicUrl }],
    security: [{ apiKey: [] }],
    tags: TAGS.filter(({ name }) => used.has(name)),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer wgk_…`.' },
      },
      parameters: PARAMETERS,
      headers: HEADERS,
      responses,
      schemas,
    },
  };
}

/** Header parameters of requests. */
const PARAMETERS = {
  [ORGANIZATION_HEADER]: {
    name: ORGANIZATION_HEADER,
    in: 'header',
    description:
      "Id or slug of the organization to act in. An unbound key needs it when its user has several organizations; 404 when the user is not a member. A bound key does not need it; 400 when it names another organization than the key's.",
    schema: { type: 'string' },
  },
  [IDEMPOTENCY_KEY_HEADER]: {
    name: IDEMPOTENCY_KEY_HEADER,
    in: 'header',
    description:
      'Makes a retry safe: for 24 hours the same key with the same input gets the stored answer of the first request, with `Idempotent-Replayed: true`. The same key with other input is 409. Errors are not stored.',
    schema: { type: 'string', minLength: 1, maxLength: MAX_IDEMPOTENCY_KEY },
  },
};

const count = { type: 'integer', minimum: 0 };

const HEADERS = {
  'X-Request-Id': {
    description:
      "Identifies the request in logs: the caller's `X-Request-Id` if it is valid, otherwise a generated one.",
    schema: { type: 'string' },
  },
  'WWW-Authenticate': {
    description: 'The required authentication scheme (RFC 6750).',
    schema: { type: 'string', const: 'Bearer' },
  },
  'RateLimit-Limit': {
    description:
      'Maximum number of requests per minute of the key, or of the browser that is signed in with it. Absent when rate limits are off.',
    schema: count,
  },
  'RateLimit-Remaining': { description: 'Number of requests that are left in this minute.', schema: count },
  'RateLimit-Reset': { description: 'Seconds until the next minute begins.', schema: count },
  'Retry-After': { description: 'Seconds to wait before a retry.', schema: count },
  [REPLAYED_HEADER]: {
    description: 'Present when the answer is the stored answer of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  Location: { description: 'The address of the created object.', schema: { type: 'string', format: 'uri' } },
  Deprecation: { description: 'Date since when the operation is deprecated (RFC 9745).', schema: { type: 'string' } },
  Link: { description: 'Address of the description of the deprecation.', schema: { type: 'string' } },
} as const;

type HeaderName = keyof typeof HEADERS;

/** Headers about the rate limit of the key. */
const LIMIT_HEADERS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const;

/** The headers of an answer by status. Errors before the key is known have no rate limit headers. */
function headersOf(route: AnyRoute, status: number): object {
  const names: HeaderName[] = [
    'X-Request-Id',
    ...(status === STATUS_OF.unauthenticated ? (['WWW-Authenticate'] as const) : []),
    ...(status === STATUS_OF.unauthenticated || isKeyless(route) ? [] : LIMIT_HEADERS),
    ...(status === STATUS_OF.rateLimited || status === STATUS_OF.unavailable ? (['Retry-After'] as const) : []),
    ...(status === route.status && takesIdempotencyKey(route) ? ([REPLAYED_HEADER] as const) : []),
    ...(status === route.status && route.location ? (['Location'] as const) : []),
    ...(Object.keys(route.headers ?? {}) as HeaderName[]),
  ];
  return {
    ...Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    ...(status === route.status && route.answerHeaders),
  };
}

function operation(route: AnyRoute, schemas: Record<string, unknown>, responses: Record<string, unknown>): object {
  const input = withSharedDefinitions(inputJsonSchema(route.input), schemas);
  const inPath = new Set(pathParameters(route.path));
  const properties = Object.entries(input.properties ?? {});
  const required = new Set(input.required ?? []);
  const parameters = properties
    .filter(([name]) => inPath.has(name) || !takesBody(route) || route.inQuery?.includes(name))
    .map(([name, schema]) => {
      const { description, ...rest } = typeof schema === 'object' ? schema : {};
      return {
        name,
        in: inPath.has(name) ? 'path' : 'query',
        ...(description !== undefined && { description }),
        required: inPath.has(name) || required.has(name),
        schema: rest,
      };
    });
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description && { description: route.description }),
    ...(route.headers?.['Deprecation'] && { deprecated: true }),
    parameters: [
      ...parameters,
      ...Object.entries(route.textBody?.queryParameters ?? {}).map(([name, each]) => ({ name, in: 'query', ...each })),
      ...(route.headerParameters ?? []).map((parameter) => ({ ...parameter, in: 'header' })),
      ...requestHeadersOf(route).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(isKeyless(route) && { security: [] }),
    ...requestBody(route, bodySchema(input, new Set([...inPath, ...(route.inQuery ?? [])]))),
    responses: { ...successes(route, schemas), ...errorResponses(route, responses) },
  };
}

function textContent({ textBody }: AnyRoute): object {
  if (!textBody) return {};
  const { mediaType, description, example: value } = textBody;
  return { [mediaType]: { schema: { type: 'string', description }, ...example(value) } };
}

function requestBody(route: AnyRoute, schema: object): object {
  if (!takesBody(route)) return {};
  const content = isRaw(route)
    ? { 'application/json': { schema: { type: 'object' }, ...example(route.examples?.input) } }
    : { 'application/json': { schema, ...example(route.examples?.input) }, ...textContent(route) };
  return {
    requestBody: { required: !route.optionalBody, ...(isRaw(route) && { description: route.body }), content },
  };
}

function requestHeadersOf(route: AnyRoute): string[] {
  if (isKeyless(route)) return [];
  return [ORGANIZATION_HEADER, ...(takesIdempotencyKey(route) ? [IDEMPOTENCY_KEY_HEADER] : [])];
}

function bodySchema(input: JsonSchema, elsewhere: ReadonlySet<string>): object {
  const { $schema: _, properties, required, ...rest } = input;
  if (!properties) return rest;
  const inBody = (name: string) => !elsewhere.has(name);
  const needed = (required ?? []).filter(inBody);
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => inBody(name))),
    ...(needed.length > 0 && { required: needed }),
  };
}

function successes(route: AnyRoute, schemas: Record<string, unknown>): Record<number, object> {
  const usual = success(route, schemas);
  const { status, isUnchanged } = route;
  return isUnchanged
    ? { 200: { ...usual, description: isUnchanged.description }, [status]: usual }
    : { [status]: usual };
}

function success(route: AnyRoute, schemas: Record<string, unknown>): object {
  const { output, status, mediaTypes } = route;
  const headers = headersOf(route, status);
  if (!output && mediaTypes)
    return { description: 'Done. The answer is streamed.', headers, content: textContents(mediaTypes) };
  if (isRaw(route)) {
    const content = Object.fromEntries(
      Object.entries(route.answers).map(([type, description]) => [type, { schema: { description } }]),
    );
    return { description: 'The answer of the server.', headers, content };
  }
  if (!output) return { description: 'Success, without a body.', headers };
  const { $schema: _, ...schema } = withSharedDefinitions(outputJsonSchema(output), schemas);
  return {
    description: status === STATUS_OF_CREATION ? 'Created.' : 'Done.',
    headers,
    content: { 'application/json': { schema, ...example(outputExample(route)) }, ...textContents(mediaTypes ?? {}) },
  };
}

/** The content of answers that are no JSON. */
const textContents = (mediaTypes: Readonly<Record<string, string>>): object =>
  Object.fromEntries(
    Object.entries(mediaTypes).map(([type, description]) => [type, { schema: { type: 'string', description } }]),
  );

const STATUS_OF_CREATION = 201;

const example = (value: unknown): object => (value === undefined ? {} : { example: value });

/** Adds the error responses, which operations share, to the components. */
function errorResponses(route: AnyRoute, responses: Record<string, unknown>): object {
  const family = familyOf(route);
  return Object.fromEntries(
    errorStatuses(route).map((status) => {
      const kind = isKeyless(route) ? 'Keyless' : route.headers ? 'Deprecated' : '';
      const name = `${kind}${family}${status}`;
      responses[name] ??= {
        description: describedError(status).description,
        headers: headersOf(route, status),
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${family}` },
            example: errorExample(family, status),
          },
        },
      };
      return [status, { $ref: `#/components/responses/${name}` }];
    }),
  );
}

/** Moves the definitions of a schema to the shared components and adapts its references. */
function withSharedDefinitions({ $defs = {}, ...schema }: JsonSchema, schemas: Record<string, unknown>): JsonSchema {
  const shared: { schema: JsonSchema; $defs: Record<string, JsonSchema> } = JSON.parse(
    JSON.stringify({ schema, $defs }).replaceAll('#/$defs/', '#/components/schemas/'),
  );
  for (const [name, definition] of Object.entries(shared.$defs)) schemas[name] = withoutId(definition);
  return shared.schema;
}

function withoutId(schema: JsonSchema): JsonSchema {
  const { id: _, ...rest } = schema;
  return rest;
}

/** Creates openapi.json on first use, because the address of the gateway is known only after it listens. */
export function createOpenApiFile(): (publicUrl: string) => StaticFile {
  let known: { readonly publicUrl: string; readonly file: StaticFile } | undefined;
  return (publicUrl) => {
    if (known?.publicUrl !== publicUrl) {
      const text = JSON.stringify(openApiDocument(allRoutes, publicUrl));
      known = { publicUrl, file: staticFile(text, 'application/json') };
    }
    return known.file;
  };
}
