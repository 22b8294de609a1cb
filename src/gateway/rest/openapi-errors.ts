import { STATUS_OF } from '../../core/errors.ts';
import { type AnyRoute, type Route, isKeyless, isWrite } from '../../core/http/route.ts';

/** The errors that openapi.json describes. */

type ErrorStatus = (typeof STATUS_OF)[keyof typeof STATUS_OF];

interface DescribedError {
  readonly description: string;
  /** The message of an example. */
  readonly message: string;
  readonly category: string;
  /** The field at fault in the example, if it is one. */
  readonly field?: string;
}

const DESCRIBED: Readonly<Partial<Record<ErrorStatus, DescribedError>>> = {
  400: {
    description:
      'The input breaks a rule, organization information is missing, or `X-Organization-Id` names another organization than that of the key.',
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
    description: 'The key lacks the scope, or the caller the role or subscription.',
    message: 'the API key lacks the scope sessions.read',
    category: 'MISSING_SCOPES',
  },
  404: {
    description:
      "Missing, deleted, or of somebody else; or `X-Organization-Id` names none of the organizations of an unbound key's user.",
    message: 'organization not found',
    category: 'OBJECT_NOT_FOUND',
  },
  409: {
    description: 'The change does not fit the present state, or the `Idempotency-Key` was used for another request.',
    message: 'taken already; choose another name',
    category: 'CONFLICT',
    field: 'name',
  },
  413: {
    description: 'The body is over 4 MiB.',
    message: 'the body must be at most 4194304 bytes (4 MiB)',
    category: 'VALIDATION_ERROR',
  },
  415: {
    description: 'The body is not JSON.',
    message: 'the body must be sent as application/json, in UTF-8, without content encoding',
    category: 'VALIDATION_ERROR',
  },
  429: {
    description: 'Too many requests, or too many occurrences in this month.',
    message: 'rate limit exceeded: 100 requests per minute per API key; try again in 42 s',
    category: 'RATE_LIMITS',
  },
  500: {
    description: 'A failure of the gateway.',
    message: 'internal error; quote the request id to the operator',
    category: 'INTERNAL_ERROR',
  },
  502: {
    description: 'The remote MCP server failed.',
    message: 'the MCP server could not be reached',
    category: 'INTERNAL_ERROR',
  },
  503: {
    description: 'The gateway cannot serve at the moment.',
    message: 'the database cannot be reached; try again',
    category: 'INTERNAL_ERROR',
  },
};

export function describedError(status: number): DescribedError {
  const found = DESCRIBED[status as ErrorStatus];
  if (!found) throw new Error(`no description of errors with the status ${status}`);
  return found;
}

/** The two families of error documents. */
export const ERROR_SCHEMAS = {
  Error: {
    type: 'object',
    description: 'An error everywhere but under `/events`.',
    properties: {
      error: { type: 'string', description: 'What is wrong, with the path of each field at fault.' },
    },
    required: ['error'],
    additionalProperties: false,
  },
  EventsError: {
    type: 'object',
    description: 'An error under `/events`.',
    properties: {
      status: { type: 'string', const: 'error' },
      message: { type: 'string', description: 'What is wrong, with the path of each field at fault.' },
      category: { type: 'string', enum: [...new Set(Object.values(DESCRIBED).map(({ category }) => category))] },
      correlationId: { type: 'string', description: 'The id of the request, as in `X-Request-Id`.' },
      errors: {
        type: 'array',
        description: 'Each fault by itself.',
        items: {
          type: 'object',
          properties: {
            message: { type: 'string' },
            code: { type: 'string' },
            in: { type: 'string', description: 'The path of the field at fault, with dots; empty when it is none.' },
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

export function familyOf({ path }: Pick<AnyRoute, 'path'>): ErrorFamily {
  return path.startsWith('/events/') ? 'EventsError' : 'Error';
}

export function errorExample(family: ErrorFamily, status: number): object {
  const { message, category, field } = describedError(status);
  const whole = field === undefined ? message : `${field}: ${message}`;
  if (family === 'Error') return { error: whole };
  const fault = { message, code: category.toLowerCase(), in: field ?? '' };
  const correlationId = 'c1e0a3b2-4d5f-4a6b-8c7d-9e0f1a2b3c4d';
  return { status: 'error', message: whole, category, correlationId, errors: [fault] };
}

/**
 * The errors of an operation itself, and those that follow from its route: 400 and 404 by the organization's header, 401 by the security scheme,
 * 403 where access can be refused, 409 by the idempotency key of a write, 413 and 415 where a body is read, 429, 500, 503.
 */
export function errorStatuses(route: AnyRoute): number[] {
  const found = [
    ...route.errors,
    ...(isKeyless(route) ? [] : statusesOfCaller(route)),
    ...(isWrite(route) ? [STATUS_OF.tooLarge, STATUS_OF.unsupportedMediaType] : []),
    STATUS_OF.rateLimited,
    STATUS_OF.internal,
    STATUS_OF.unavailable,
  ];
  return [...new Set(found)].toSorted((a, b) => a - b);
}

function statusesOfCaller(route: Route): number[] {
  return [
    STATUS_OF.invalid,
    STATUS_OF.unauthenticated,
    STATUS_OF.notFound,
    ...(isRefusable(route) ? [STATUS_OF.forbidden] : []),
    ...(isWrite(route) ? [STATUS_OF.conflict] : []),
  ];
}

/** A write checks membership and role in its transaction; a read without a rule of access is open to every key. */
function isRefusable(route: Route): boolean {
  const { scopes, anyScopeOf, role, subscription } = route.access;
  return isWrite(route) || scopes.length > 0 || [anyScopeOf, role, subscription].some((rule) => rule !== undefined);
}
