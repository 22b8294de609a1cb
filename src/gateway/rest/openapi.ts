import { z } from 'zod';
import { STATUS_OF } from '../../core/errors.ts';
import { type Route, isWrite, pathParameters, takesBody } from '../../core/http/route.ts';
import { KEY_HEADER, MAX_KEY, ORGANIZATION_HEADER, REPLAYED_HEADER } from '../request-headers.ts';

type JsonSchema = z.core.JSONSchema.JSONSchema;

/** The JSON Schema of what a route takes, from its own zod schema. */
export function inputJsonSchema(route: Route): JsonSchema {
  return z.toJSONSchema(route.input, { io: 'input' });
}

const DESCRIPTION_OF: Readonly<Record<number, string>> = {
  400: 'The input breaks a rule, organization information is missing, or `X-Organization-Id` names another organization than that of the key.',
  401: 'The API key is missing, malformed, unknown, expired or revoked.',
  403: 'The key lacks the scope, or the caller the role or subscription.',
  404: "Missing, deleted, or of somebody else; or `X-Organization-Id` names none of the organizations of an unbound key's user.",
  409: 'The change does not fit the present state.',
  413: 'The body is over 4 MiB.',
  415: 'The body is not JSON.',
  429: 'Too many requests, or too many occurrences in this month.',
  500: 'A failure of the gateway.',
  502: 'The remote MCP server failed.',
  503: 'The gateway cannot serve at the moment.',
};

const ERROR_SCHEMAS = {
  Error: {
    type: 'object',
    properties: { error: { type: 'string' } },
    required: ['error'],
    additionalProperties: false,
  },
  EventsError: {
    type: 'object',
    properties: {
      status: { const: 'error' },
      message: { type: 'string' },
      category: {
        enum: [
          'VALIDATION_ERROR',
          'OBJECT_NOT_FOUND',
          'CONFLICT',
          'MISSING_SCOPES',
          'INVALID_AUTHENTICATION',
          'RATE_LIMITS',
          'INTERNAL_ERROR',
        ],
      },
      correlationId: { type: 'string', description: 'The request id.' },
      errors: {
        type: 'array',
        items: {
          type: 'object',
          properties: { message: { type: 'string' }, code: { type: 'string' }, in: { type: 'string' } },
          required: ['message', 'code', 'in'],
          additionalProperties: false,
        },
      },
    },
    required: ['status', 'message', 'category', 'correlationId', 'errors'],
    additionalProperties: false,
  },
} as const;

/** The OpenAPI 3.1 document of the REST table: every operation with exactly the errors it can answer. */
export function openApiDocument(routes: readonly Route[]): object {
  const schemas: Record<string, unknown> = { ...ERROR_SCHEMAS };
  const responses: Record<string, unknown> = {};
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[route.method.toLowerCase()] = operation(route, schemas, responses);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Workspace gateway',
      version: '1.0.0',
      description:
        'MCP connections, API keys, sessions, organizations and users under `/v1`; custom event definitions under `/events/2026-03`.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
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

/** What requests take beside the input of their operation. */
const PARAMETERS = {
  [ORGANIZATION_HEADER]: {
    name: ORGANIZATION_HEADER,
    in: 'header',
    description:
      "Id or slug of the organization to act in. An unbound key needs it when its user has several organizations; 404 when it names none of them. A bound key needs none; 400 when it names anything but the key's organization.",
    schema: { type: 'string' },
  },
  [KEY_HEADER]: {
    name: KEY_HEADER,
    in: 'header',
    description:
      'Sent again with the same key within 24 hours, the request is not done again: its answer comes again, with `Idempotent-Replayed: true`. Errors are not stored.',
    schema: { type: 'string', minLength: 1, maxLength: MAX_KEY },
  },
};

const count = { type: 'integer', minimum: 0 };

/** What answers carry beside their body. */
const HEADERS = {
  'X-Request-Id': {
    description: "Names the request in logs: the caller's own `X-Request-Id` where it is sane, else a new one.",
    schema: { type: 'string' },
  },
  'WWW-Authenticate': { description: 'The scheme that would serve (RFC 6750).', schema: { const: 'Bearer' } },
  'RateLimit-Limit': { description: 'Requests that the key may make a minute; unless limits are off.', schema: count },
  'RateLimit-Remaining': { description: 'How many of them are left.', schema: count },
  'RateLimit-Reset': { description: 'Seconds until the next minute begins.', schema: count },
  'Retry-After': { description: 'Seconds to wait before trying again.', schema: count },
  [REPLAYED_HEADER]: {
    description: 'On the stored answer of an earlier request with the same `Idempotency-Key`.',
    schema: { const: 'true' },
  },
  Deprecation: { description: 'Since when the operation is deprecated (RFC 9745).', schema: { type: 'string' } },
  Link: { description: 'Where the deprecation is described.', schema: { type: 'string' } },
} as const;

type HeaderName = keyof typeof HEADERS;

/** The headers of an answer, by status: what is refused before the key is known says nothing of its limits. */
function headersOf(route: Route, status: number): object {
  const names: HeaderName[] = [
    'X-Request-Id',
    ...(status === STATUS_OF.unauthenticated
      ? (['WWW-Authenticate'] as const)
      : (['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const)),
    ...(status === STATUS_OF.rateLimited || status === STATUS_OF.unavailable ? (['Retry-After'] as const) : []),
    ...(status === route.status && isWrite(route) ? ([REPLAYED_HEADER] as const) : []),
    ...(Object.keys(route.headers ?? {}) as HeaderName[]),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function operation(route: Route, schemas: Record<string, unknown>, responses: Record<string, unknown>): object {
  const input = withSharedDefinitions(inputJsonSchema(route), schemas);
  const inPath = new Set(pathParameters(route.path));
  const properties = Object.entries(input.properties ?? {});
  const required = new Set(input.required ?? []);
  const parameters = properties
    .filter(([name]) => inPath.has(name) || !takesBody(route))
    .map(([name, schema]) => ({
      name,
      in: inPath.has(name) ? 'path' : 'query',
      required: inPath.has(name) || required.has(name),
      schema,
    }));
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description && { description: route.description }),
    ...(route.headers?.['Deprecation'] && { deprecated: true }),
    parameters: [
      ...parameters,
      ...(route.headerParameters ?? []).map((parameter) => ({ ...parameter, in: 'header' })),
      ...[ORGANIZATION_HEADER, ...(isWrite(route) ? [KEY_HEADER] : [])].map((name) => ({
        $ref: `#/components/parameters/${name}`,
      })),
    ],
    ...(takesBody(route) && {
      requestBody: {
        required: !route.optionalBody,
        content: { 'application/json': { schema: bodySchema(input, inPath), ...example(route.examples?.input) } },
      },
    }),
    responses: { [route.status]: success(route, schemas), ...errorResponses(route, responses) },
  };
}

function bodySchema(input: JsonSchema, inPath: ReadonlySet<string>): object {
  const { $schema: _, properties, required, ...rest } = input;
  if (!properties) return rest;
  const inBody = (name: string) => !inPath.has(name);
  const needed = (required ?? []).filter(inBody);
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => inBody(name))),
    ...(needed.length > 0 && { required: needed }),
  };
}

function success(route: Route, schemas: Record<string, unknown>): object {
  const { output, status, examples, mediaTypes = {} } = route;
  const headers = headersOf(route, status);
  if (!output) return { description: 'Done; there is no body.', headers };
  const { $schema: _, ...schema } = withSharedDefinitions(
    z.toJSONSchema(output, { io: 'output', reused: 'inline' }),
    schemas,
  );
  return {
    description: status === 201 ? 'Created.' : 'Done.',
    headers,
    content: {
      'application/json': { schema, ...example(examples?.output) },
      ...Object.fromEntries(
        Object.entries(mediaTypes).map(([type, description]) => [type, { schema: { type: 'string', description } }]),
      ),
    },
  };
}

/** Moves the definitions of a schema among those that all share, where its references then lead. */
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

function example(value: object | undefined): object {
  return value ? { example: value } : {};
}

/**
 * Those of the operation, and those that every request can get: 401 and 403 by the security scheme, 404 by the organization's header, 409 by
 * the idempotency key of a write, 413 and 415 where a body is read, 429, 500, 503.
 */
export function errorStatuses(route: Route): number[] {
  const common = [
    STATUS_OF.unauthenticated,
    STATUS_OF.forbidden,
    STATUS_OF.notFound,
    STATUS_OF.rateLimited,
    STATUS_OF.internal,
    STATUS_OF.unavailable,
  ];
  const ofWrites = [STATUS_OF.tooLarge, STATUS_OF.unsupportedMediaType, STATUS_OF.conflict];
  return [...new Set([...route.errors, ...common, ...(isWrite(route) ? ofWrites : [])])].toSorted((a, b) => a - b);
}

/** Answers that operations share, among the components. */
function errorResponses(route: Route, responses: Record<string, unknown>): object {
  const schema = route.path.startsWith('/events/') ? 'EventsError' : 'Error';
  return Object.fromEntries(
    errorStatuses(route).map((status) => {
      const name = `${route.headers ? 'Deprecated' : ''}${schema}${status}`;
      responses[name] ??= {
        description: DESCRIPTION_OF[status],
        headers: headersOf(route, status),
        content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
      };
      return [status, { $ref: `#/components/responses/${name}` }];
    }),
  );
}
