import { STATUS_OF } from '../../core/errors.ts';
import { isEventPath } from '../../core/http/event-paths.ts';
import { isMcpAddress } from '../../core/http/mcp-addresses.ts';
import { type AnyRoute, type KeyedRoute, isKeyless, isRaw, isWrite, takesBody } from '../../core/http/route.ts';

/** Descriptions of errors for openapi.json. */

type ErrorStatus = (typeof STATUS_OF)[keyof typeof STATUS_OF];

interface DescribedError {
  readonly description: string;
  /** The message in the example. */
  readonly message: string;
  readonly category: string;
  /** The faulty field in the example, if there is one. */
  readonly field?: string;
}

const DESCRIPTIONS = {
  400: {
    description:
      'The input is invalid, organization information is missing, or `X-Organization-Id` names another organization than that of a bound key.',
    message: 'must not be empty',
    category: 'VALIDATION_ERROR',
    field: 'name',
  },
  401: {
    description: 'The API key is missing, malformed, unknown, expired or revoked.',
    message: 'missing or invalid API key',
    category: 'INVALID_AUTHENTICATION',
  },
  403: {
    description: 'The key lacks the scope, the caller lacks the role, or the organization lacks the subscription.',
    message: 'the API key lacks the scope sessions.read',
    category: 'MISSING_SCOPES',
  },
  404: {
    description:
      'The object does not exist, was deleted, or belongs to somebody else; or the user of an unbound key is not a member of the organization in `X-Organization-Id`.',
    message: 'organization not found',
    category: 'OBJECT_NOT_FOUND',
  },
  409: {
    description: 'The change conflicts with the current state, or the `Idempotency-Key` was used for another request.',
    message: 'already taken; choose another name',
    category: 'CONFLICT',
    field: 'name',
  },
  413: {
    description: 'The request body is larger than 4 MiB.',
    message: 'the body must be at most 4194304 bytes (4 MiB)',
    category: 'VALIDATION_ERROR',
  },
  415: {
    description: 'The request body is not JSON.',
    message: 'the body must be sent as application/json, in UTF-8, without content encoding',
    category: 'VALIDATION_ERROR',
  },
  429: {
    description:
      'The rate limit or the monthly limit of occurrences is exceeded, or the request has waited for 5 seconds because too many run at once.',
    message: 'rate limit exceeded: 100 requests per minute per API key; try again in 42 s',
    category: 'RATE_LIMITS',
  },
  500: {
    description: 'Internal error of the gateway.',
    message: 'internal error; quote the request id to the operator',
    category: 'INTERNAL_ERROR',
  },
  502: {
    description: 'The remote MCP server or its authorization server failed.',
    message: 'the MCP server could not be reached',
    category: 'INTERNAL_ERROR',
  },
  503: {
    description: 'The gateway is temporarily unavailable.',
    message: 'the database is unreachable; try again',
    category: 'INTERNAL_ERROR',
  },
  504: {
    description: 'The remote MCP server did not answer in time.',
    message: 'the MCP server sent nothing for 60 s',
    category: 'INTERNAL_ERROR',
  },
} satisfies Partial<Record<ErrorStatus, DescribedError>>;
const DESCRIBED: Readonly<Record<number, DescribedError>> = DESCRIPTIONS;

export function describedError(status: number): DescribedError {
  const found = DESCRIBED[status];
  if (!found) throw new Error(`no description of errors with the status ${status}`);
  return found;
}

/** The two formats of error documents. */
export const ERROR_SCHEMAS = {
  Error: {
    type: 'object',
    description: 'An error, except under `/events` and at addresses for MCP clients.',
    properties: {
      error: { type: 'string', description: 'What is wrong, with the path of each faulty field.' },
      details: {
        type: 'object',
        description: 'More about some errors.',
        properties: {
          code: {
            type: 'string',
            description: '`TOO_MANY_AT_ONCE`: too many requests of the caller, or of all callers, run at once.',
          },
          missing: {
            type: 'object',
            description:
              'With 403, what the caller lacks: all `scopes` of one of the lists, the `role`, a `subscription` of the organization.',
          },
          type: { type: 'string', description: 'With 404, the type of the missing object, as in the GraphQL schema.' },
          limit: { type: 'integer', description: 'With 409, the maximum number that is reached.' },
          reason: {
            type: 'string',
            description: 'Why a remote MCP server failed, as in `RemoteFailureReason` of the GraphQL schema.',
          },
          files: {
            type: 'array',
            items: { type: 'object' },
            description:
              'Lines of a transcript are missing: what was received of its files, as `PUT /v1/sessions/by-source/…` answers it.',
          },
        },
      },
    },
    required: ['error'],
    additionalProperties: false,
  },
  JsonRpcError: {
    type: 'object',
    description: 'A JSON-RPC 2.0 error, at addresses for messages of MCP clients.',
    properties: {
      jsonrpc: { type: 'string', const: '2.0', description: 'The version of JSON-RPC.' },
      id: {
        type: ['string', 'number', 'null'],
        description: 'The id of the message. Null if it has none, or if the body was not read.',
      },
      error: {
        type: 'object',
        properties: {
          code: { type: 'integer', description: 'An error code of JSON-RPC or MCP.' },
          message: { type: 'string', description: 'What is wrong.' },
          data: { type: 'object', description: 'The kind of error in `code`, and more about it.' },
        },
        required: ['code', 'message'],
        additionalProperties: true,
        description: 'The error.',
      },
    },
    required: ['jsonrpc', 'id', 'error'],
    additionalProperties: true,
  },
  EventsError: {
    type: 'object',
    description: 'An error under `/events`.',
    properties: {
      status: { type: 'string', const: 'error', description: 'Always `error`.' },
      message: { type: 'string', description: 'What is wrong, with the path of each faulty field.' },
      category: {
        type: 'string',
        enum: [...new Set(Object.values(DESCRIBED).map(({ category }) => category))],
        description: 'The kind of error.',
      },
      correlationId: { type: 'string', description: 'The request id, as in `X-Request-Id`.' },
      errors: {
        type: 'array',
        description: 'The faults, one item for each.',
        items: {
          type: 'object',
          properties: {
            message: { type: 'string', description: 'What is wrong with the field.' },
            code: { type: 'string', description: 'The broken rule.' },
            in: {
              type: 'string',
              description:
                'The path of the faulty field, separated by dots. Empty when the fault is not about a field.',
            },
          },
          required: ['message', 'code', 'in'],
          additionalProperties: false,
        },
      },
    },
    required: ['status', 'message', 'category', 'correlationId', 'errors'],
    additionalProperties: false,
  },
} as const;

export type ErrorFamily = keyof typeof ERROR_SCHEMAS;

export function familyOf({ path, method }: Pick<AnyRoute, 'path' | 'method'>): ErrorFamily {
  if (method === 'POST' && isMcpAddress(path)) return 'JsonRpcError';
  return isEventPath(path) ? 'EventsError' : 'Error';
}

export function errorExample(family: ErrorFamily, status: number): object {
  const { message, category, field } = describedError(status);
  const whole = field === undefined ? message : `${field}: ${message}`;
  if (family === 'Error') return { error: whole };
  if (family === 'JsonRpcError')
    return { jsonrpc: '2.0', id: 1, error: { code: -32_000, message: whole, data: { code: category } } };
  const fault = { message, code: category.toLowerCase(), in: field ?? '' };
  const correlationId = 'c1e0a3b2-4d5f-4a6b-8c7d-9e0f1a2b3c4d';
  return { status: 'error', message: whole, category, correlationId, errors: [fault] };
}

/**
 * The error statuses of an operation and of its route: 400 and 404 for the organization header, 401 for the API key, 403 when access can be
 * refused, 409 for the idempotency key of a write, 413 and 415 for a body, and always 429, 500 and 503.
 */
export function errorStatuses(route: AnyRoute): number[] {
  const found = [
    ...route.errors,
    ...(isKeyless(route) ? [] : statusesOfCaller(route)),
    ...(isRaw(route) && takesBody(route) ? [STATUS_OF.tooLarge] : []),
    ...(isWrite(route) && !isRaw(route) ? [STATUS_OF.tooLarge, STATUS_OF.unsupportedMediaType] : []),
    STATUS_OF.rateLimited,
    STATUS_OF.internal,
    STATUS_OF.unavailable,
  ];
  return [...new Set(found)].toSorted((a, b) => a - b);
}

const statusesOfCaller = (route: KeyedRoute): number[] => [
  STATUS_OF.invalid,
  STATUS_OF.unauthenticated,
  STATUS_OF.notFound,
  ...(isRefusable(route) ? [STATUS_OF.forbidden] : []),
  ...(isWrite(route) ? [STATUS_OF.conflict] : []),
];

/**
 * Whether the route can answer 403. A write checks membership and role in its transaction. A read without access rule
 * is open to every key.
 */
function isRefusable(route: KeyedRoute): boolean {
  const { scopes, anyScopeOf, role, subscription } = route.access;
  return isWrite(route) || scopes.length > 0 || [anyScopeOf, role, subscription].some((rule) => rule !== undefined);
}
