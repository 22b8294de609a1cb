import { builder } from './builder.ts';
import {
  type CODE_OF,
  ConflictError,
  type DomainError,
  type Fault,
  ForbiddenError,
  NotFoundError,
  RemoteFailedError,
  ValidationError,
} from '../errors.ts';

const DESCRIPTION_OF = {
  INVALID_INPUT: 'The input breaks a rule; the message names the field and the bound.',
  ANSWER_TOO_LARGE: 'The answer would be larger than 32 MiB; ask for fewer or smaller objects.',
  UNAUTHENTICATED: 'The API key is missing, malformed, unknown, expired or revoked.',
  FORBIDDEN: 'The key lacks a scope, or the caller a role or a subscription.',
  NOT_FOUND: 'Missing, deleted, or of somebody else: the three look the same.',
  METHOD_NOT_ALLOWED: 'The HTTP method does not fit the path.',
  CONFLICT: 'The change does not fit the present state.',
  GONE: 'The API was removed.',
  TOO_LARGE: 'The request is larger than the bound.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is not JSON.',
  RATE_LIMITED: 'Too many requests or too much cost in this minute, or too many occurrences in this month.',
  INTERNAL: 'A failure of the gateway; the request id finds it in the log.',
  REMOTE_FAILED: 'The remote MCP server failed.',
  UNAVAILABLE: 'The gateway cannot serve at the moment; try again.',
} satisfies Record<(typeof CODE_OF)[keyof typeof CODE_OF], string>;

const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description: 'Stable, machine-readable kinds of error; the same on both doors.',
  values: Object.fromEntries(Object.entries(DESCRIPTION_OF).map(([value, description]) => [value, { description }])),
});

const ErrorInterface = builder.interfaceRef<DomainError>('Error').implement({
  description: 'What every typed error of a mutation tells.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'Says what is wrong and how to mend it; safe to show.' }),
    code: t.field({ type: ErrorCodeEnum, description: 'The kind of error.', resolve: ({ code }) => code }),
    path: t.stringList({
      nullable: true,
      description: 'The input field that caused it, outermost first; null when no single field did.',
      resolve: ({ inputPath }) => (inputPath.length === 0 ? null : [...inputPath]),
    }),
  }),
});

const FaultType = builder.objectRef<Fault>('InputFault').implement({
  description: 'One fault of an input.',
  fields: (t) => ({
    path: t.stringList({
      description: 'Where it is, outermost first; empty for the input as a whole.',
      resolve: ({ path }) => [...path],
    }),
    code: t.exposeString('code', { description: 'The rule that is broken, machine-readable.' }),
    message: t.exposeString('message', { description: 'The rule with its bound.' }),
  }),
});

builder.objectType(ValidationError, {
  name: 'ValidationError',
  description: 'The input breaks rules; every fault found is listed.',
  interfaces: [ErrorInterface],
  isTypeOf: (value) => value instanceof ValidationError,
  fields: (t) => ({
    faults: t.field({ type: [FaultType], description: 'Every fault found.', resolve: ({ faults }) => [...faults] }),
  }),
});

const TYPED_ERRORS = [
  [ForbiddenError, 'ForbiddenError', 'The key lacks a scope, or the caller a role or a subscription.'],
  [NotFoundError, 'NotFoundError', 'What the input refers to is missing, deleted, or of somebody else.'],
  [ConflictError, 'ConflictError', 'The change does not fit the present state, such as a name that is taken.'],
  [RemoteFailedError, 'RemoteFailedError', 'The remote MCP server, or the authorization server it relies on, failed.'],
] as const;

for (const [errorClass, name, description] of TYPED_ERRORS) {
  builder.objectType(errorClass, {
    name,
    description,
    interfaces: [ErrorInterface],
    isTypeOf: (value) => value instanceof errorClass,
  });
}
