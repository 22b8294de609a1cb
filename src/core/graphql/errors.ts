import { MAX_ANSWER_BYTES, inMib } from '../answer-size.ts';
import { MAX_BODY_BYTES } from '../http/request-body.ts';
import { inGraphQL } from '../text/wording.ts';
import { OWN_STATEMENT, builder } from './builder.ts';
import { resolveNode } from './nodes.ts';
import { LIMITS } from './document-limits.ts';
import { describedValues } from './enums.ts';
import {
  CONFLICT_REASONS,
  ConflictError,
  type DomainError,
  ForbiddenError,
  INPUT_FAULT_CODES,
  type InputFault,
  NotFoundError,
  REMOTE_FAILURES,
  RemoteFailedError,
  ValidationError,
} from '../errors.ts';

const inWords = (limit: number) => limit.toLocaleString('en-US');

/** Codes of mutation errors, followed by the codes in `extensions.code` of top-level errors. */
const ERROR_CODES = {
  INVALID_INPUT: 'The input breaks a rule; the message names the field and the bound.',
  FORBIDDEN: 'The key lacks a scope, or the caller a role or a subscription.',
  NOT_FOUND: 'Missing, deleted or foreign: the answer is the same for all three.',
  CONFLICT: 'The change conflicts with the current state; `ConflictError.reason` has the reason.',
  REMOTE_FAILED: 'The remote MCP server failed.',
  UNAUTHENTICATED: 'The API key is missing, malformed, unknown, expired or revoked.',
  RATE_LIMITED: 'Too many requests or too much cost in this minute, or too many occurrences in this month.',
  TOO_MANY_AT_ONCE:
    'The caller has too many requests at once, or all callers together; this one has waited for 5 seconds.',
  ANSWER_TOO_LARGE: `The answer would be larger than ${inMib(MAX_ANSWER_BYTES)}; ask for fewer or smaller objects.`,
  UNAVAILABLE: 'The gateway is temporarily unavailable; try again.',
  INTERNAL: 'An internal error; find it in the log by the request id.',
  BAD_REQUEST: 'The request is not a valid GraphQL over HTTP request.',
  METHOD_NOT_ALLOWED: 'GraphQL over HTTP does not allow this HTTP method.',
  NOT_ACCEPTABLE: 'The gateway supports none of the media types that the client accepts.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is not JSON.',
  TOO_LARGE: `The request body is larger than ${inMib(MAX_BODY_BYTES)}.`,
  GRAPHQL_PARSE_FAILED: 'The document has a syntax error.',
  GRAPHQL_VALIDATION_FAILED: 'The document is not valid for this schema.',
  OPERATION_RESOLUTION_FAILURE: 'The request does not name the operation of the document to execute.',
  PERSISTED_QUERY_NOT_FOUND: 'The document with this hash is unknown; send its text, too.',
  PERSISTED_DOCUMENT_NOT_FOUND:
    'No document with this `documentId` is listed by the operator or published for the client and version of the request.',
  DOCUMENT_NOT_TRUSTED: 'Only documents that the operator has listed, or administrators have published, are executed.',
  QUERY_TOO_LARGE: `The text of the document is longer than ${LIMITS.queryBytes / 1024} KiB.`,
  TOO_MANY_TOKENS: `The document has more than ${inWords(LIMITS.tokens)} tokens.`,
  TOO_DEEP: `The document is nested deeper than ${LIMITS.depth} levels.`,
  TOO_MANY_ALIASES: `The document has more than ${LIMITS.aliases} aliases and repeated fields.`,
  TOO_MANY_DIRECTIVES: `The document has more than ${LIMITS.directives} directives.`,
  TOO_MANY_OPERATIONS: 'The document has more than one operation.',
  TOO_MANY_COMPARISONS: 'Checking the document for overlapping fields would take too long.',
  TOO_COSTLY: `The operation costs more than ${inWords(LIMITS.cost)}; the message names its most expensive path.`,
};

const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description:
    'Stable, machine-readable kinds of error: in typed errors of mutations, and in `extensions.code` of top-level errors.',
  values: describedValues(ERROR_CODES),
});

export const InputFaultCodeEnum = builder.enumType('InputFaultCode', {
  description: 'The rules that an input can break.',
  values: describedValues(INPUT_FAULT_CODES),
});

const ConflictReasonEnum = builder.enumType('ConflictReason', {
  description: 'Why a change conflicts with the current state.',
  values: describedValues(CONFLICT_REASONS),
});

const ErrorInterface = builder.interfaceRef<DomainError>('Error').implement({
  description: 'The fields of every typed error of a mutation.',
  fields: (t) => ({
    message: t.exposeString('graphqlMessage', {
      description: 'What is wrong and how to correct it, with the names of this schema; safe to show to users.',
    }),
    code: t.field({
      type: ErrorCodeEnum,
      description: 'The kind of error.',
      resolve: ({ code }) => (code === 'GONE' ? 'NOT_FOUND' : code),
    }),
    path: t.stringList({
      nullable: true,
      description:
        'Path of the input field that caused the error, within `input` as the client wrote it, with list positions: `["remote", "headers", "1", "name"]`. Null if no single field did.',
      resolve: ({ inputPath }) => (inputPath.length === 0 ? null : [...inputPath]),
    }),
  }),
});

const FaultType = builder.objectRef<InputFault>('InputFault').implement({
  description: 'One fault of an input.',
  fields: (t) => ({
    path: t.stringList({
      description: 'Path of the field within `input`, as in `Error.path`; empty for the whole input.',
      resolve: ({ path }) => [...path],
    }),
    code: t.expose('code', { type: InputFaultCodeEnum, description: 'The broken rule.' }),
    limit: t.exposeInt('limit', {
      nullable: true,
      description: 'The exceeded bound: characters, items, or a number. Null for a rule without one.',
    }),
    message: t.string({ description: 'The rule, with its bound.', resolve: ({ message }) => inGraphQL(message) }),
  }),
});

builder.objectType(ValidationError, {
  name: 'ValidationError',
  description: 'The input is invalid; every fault that was found is listed.',
  interfaces: [ErrorInterface],
  isTypeOf: (value) => value instanceof ValidationError,
  fields: (t) => ({
    faults: t.field({
      type: [FaultType],
      description: 'All faults that were found.',
      resolve: ({ faults }) => [...faults],
    }),
  }),
});

builder.objectType(ConflictError, {
  name: 'ConflictError',
  description: 'The change conflicts with the current state, for example because a name is taken.',
  interfaces: [ErrorInterface],
  isTypeOf: (value) => value instanceof ConflictError,
  fields: (t) => ({
    reason: t.expose('reason', {
      type: ConflictReasonEnum,
      description: 'The reason, so that a client can react to it.',
    }),
    limit: t.exposeInt('limit', {
      nullable: true,
      description: 'The maximum number, for `LIMIT_REACHED`. Null for other reasons.',
    }),
    current: t.field({
      type: builder.nodeInterfaceRef(),
      nullable: true,
      description:
        'For `CHANGED_MEANWHILE` the object as it is stored now, so that a client need not read it again. Null for other reasons, and if the caller cannot read it.',
      extensions: OWN_STATEMENT,
      resolve: ({ current }, _, context, info) =>
        current ? resolveNode({ context, info }, current.type, current.key) : null,
    }),
  }),
});

export const ForbiddenErrorType = builder.objectType(ForbiddenError, {
  name: 'ForbiddenError',
  description: 'The key lacks a scope, or the caller a role or a subscription.',
  interfaces: [ErrorInterface],
  isTypeOf: (value) => value instanceof ForbiddenError,
});

builder.objectType(NotFoundError, {
  name: 'NotFoundError',
  description: 'The object that the input refers to is missing, deleted or foreign.',
  interfaces: [ErrorInterface],
  isTypeOf: (value) => value instanceof NotFoundError,
  fields: (t) => ({
    type: t.exposeString('type', {
      nullable: true,
      description: 'The type of the object in this schema. Null if several are missing.',
    }),
  }),
});

builder.objectType(RemoteFailedError, {
  name: 'RemoteFailedError',
  description: 'The remote MCP server or its authorization server failed.',
  interfaces: [ErrorInterface],
  isTypeOf: (value) => value instanceof RemoteFailedError,
  fields: (t) => ({
    reason: t.expose('reason', {
      type: builder.enumType('RemoteFailureReason', {
        description: 'Why a remote MCP server failed.',
        values: describedValues(REMOTE_FAILURES),
      }),
      nullable: true,
      description: 'Why it failed. Null if that is not known, or if the authorization server failed.',
    }),
  }),
});
