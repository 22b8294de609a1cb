import { inGraphQL } from '../text/wording.ts';
import { builder } from './builder.ts';
import {
  CONFLICT_REASONS,
  ConflictError,
  type DomainError,
  ForbiddenError,
  INPUT_FAULT_CODES,
  type InputFault,
  NotFoundError,
  RemoteFailedError,
  ValidationError,
} from '../errors.ts';

/** What mutations can raise, and after it the values of `extensions.code` of errors beside `data`. */
const ERROR_CODES = {
  INVALID_INPUT: 'The input breaks a rule; the message names the field and the bound.',
  FORBIDDEN: 'The key lacks a scope, or the caller a role or a subscription.',
  NOT_FOUND: 'Missing, deleted, or of somebody else: the three look the same.',
  CONFLICT: 'The change does not fit the present state; `ConflictError.reason` has the reason.',
  REMOTE_FAILED: 'The remote MCP server failed.',
  UNAUTHENTICATED: 'The API key is missing, malformed, unknown, expired or revoked.',
  RATE_LIMITED: 'Too many requests or too much cost in this minute, or too many occurrences in this month.',
  ANSWER_TOO_LARGE: 'The answer would be larger than 32 MiB; ask for fewer or smaller objects.',
  UNAVAILABLE: 'The gateway cannot serve at the moment; try again.',
  INTERNAL: 'A failure of the gateway; the request id finds it in the log.',
  BAD_REQUEST: 'The request is not one of GraphQL over HTTP.',
  METHOD_NOT_ALLOWED: 'The HTTP method is not one of GraphQL over HTTP.',
  NOT_ACCEPTABLE: 'None of the media types that the client accepts fits the answer.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is not JSON.',
  TOO_LARGE: 'The request body is larger than 4 MiB.',
  GRAPHQL_PARSE_FAILED: 'The document does not follow the grammar of GraphQL.',
  GRAPHQL_VALIDATION_FAILED: 'The document does not fit the schema.',
  OPERATION_RESOLUTION_FAILURE: 'The request does not name which operation of the document to run.',
  PERSISTED_QUERY_NOT_FOUND: 'No document with this hash is known; send its text with it.',
  DOCUMENT_NOT_TRUSTED: 'Only documents that the operator has listed are run.',
  QUERY_TOO_LARGE: 'The text of the document is longer than 64 KiB.',
  TOO_MANY_TOKENS: 'The document has more than 4,000 tokens.',
  TOO_DEEP: 'The document is nested deeper than 15 levels.',
  TOO_MANY_ALIASES: 'The document has more than 100 aliases and repeated fields.',
  TOO_MANY_DIRECTIVES: 'The document has more than 50 directives.',
  TOO_MANY_OPERATIONS: 'The document has more than one operation.',
  TOO_MANY_COMPARISONS: 'Checking which fields of the document overlap would take too long.',
  TOO_COSTLY: 'The operation costs more than 20,000; the message names what would be cheaper.',
};

const describedValues = <Value extends string>(descriptions: Readonly<Record<Value, string>>) =>
  Object.fromEntries(
    Object.entries<string>(descriptions).map(([value, description]) => [value, { description }]),
  ) as Record<Value, { description: string }>;

const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description:
    'Stable, machine-readable kinds of error: of the typed errors of mutations, and of `extensions.code` of errors beside `data`.',
  values: describedValues(ERROR_CODES),
});

const InputFaultCodeEnum = builder.enumType('InputFaultCode', {
  description: 'The rules that an input can break.',
  values: describedValues(INPUT_FAULT_CODES),
});

const ConflictReasonEnum = builder.enumType('ConflictReason', {
  description: 'Why a change does not fit the present state.',
  values: describedValues(CONFLICT_REASONS),
});

const ErrorInterface = builder.interfaceRef<DomainError>('Error').implement({
  description: 'What every typed error of a mutation has.',
  fields: (t) => ({
    message: t.exposeString('graphqlMessage', {
      description: 'What is wrong and how to correct it, in the names of this schema; safe to show to people.',
    }),
    code: t.field({
      type: ErrorCodeEnum,
      description: 'The kind of error.',
      resolve: ({ code }) => (code === 'GONE' ? 'NOT_FOUND' : code),
    }),
    path: t.stringList({
      nullable: true,
      description:
        'The way to the input field that caused it, in `input` as it was written, list positions included: `["remote", "headers", "1", "name"]`. Null when no single field did.',
      resolve: ({ inputPath }) => (inputPath.length === 0 ? null : [...inputPath]),
    }),
  }),
});

const FaultType = builder.objectRef<InputFault>('InputFault').implement({
  description: 'One fault of an input.',
  fields: (t) => ({
    path: t.stringList({
      description: 'The way to it in `input`, as in `Error.path`; empty for the input as a whole.',
      resolve: ({ path }) => [...path],
    }),
    code: t.expose('code', { type: InputFaultCodeEnum, description: 'The rule that is broken.' }),
    limit: t.exposeInt('limit', {
      nullable: true,
      description: 'The bound that is broken: characters, items, or a number. Null for a rule without one.',
    }),
    message: t.string({ description: 'The rule with its bound.', resolve: ({ message }) => inGraphQL(message) }),
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

builder.objectType(ConflictError, {
  name: 'ConflictError',
  description: 'The change does not fit the present state, such as a name that is taken.',
  interfaces: [ErrorInterface],
  isTypeOf: (value) => value instanceof ConflictError,
  fields: (t) => ({
    reason: t.expose('reason', { type: ConflictReasonEnum, description: 'Why, so that a client can react to it.' }),
  }),
});

const TYPED_ERRORS = [
  [ForbiddenError, 'ForbiddenError', 'The key lacks a scope, or the caller a role or a subscription.'],
  [NotFoundError, 'NotFoundError', 'What the input refers to is missing, deleted, or of somebody else.'],
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
