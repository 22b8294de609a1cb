import { type ExecutionResult, GraphQLError } from 'graphql';
import { type HttpAnswer, answerJson } from '../../core/http/messages.ts';
import type { Logger } from 'pino';
import { CODE_OF, DomainError, type ErrorKind, ForbiddenError, type Missing, STATUS_OF } from '../../core/errors.ts';
import { answerTooLarge, isLarger, isSurelyLarger } from '../../core/answer-size.ts';
import type { RequestBudget } from '../../core/postgres/reading/request-budget.ts';
import { enumName } from '../../core/text/wording.ts';
import { stringifyWithRawJson } from '../../core/text/raw-json.ts';
import { toDomainError } from '../failures.ts';
import { halted } from './error-behavior.ts';

/** Converts errors to the format of GraphQL answers. */

/** Errors that a client should retry: they have their HTTP status and `Retry-After` in every media type, as in REST. */
const RETRIED: ReadonlySet<ErrorKind> = new Set(['unavailable', 'rateLimited']);

/** The error that a caller sees: GraphQL errors without the value that was found, domain errors with their code, and internal errors without details. */
export function toGraphQLError(error: unknown, log: Logger): GraphQLError {
  const original = error instanceof GraphQLError ? error.originalError : error;
  if (error instanceof GraphQLError && (original == null || original instanceof GraphQLError))
    return withoutFoundValue(error);
  const domain = toDomainError(original, log);
  const { nodes, path } = error instanceof GraphQLError ? error : {};
  const http = RETRIED.has(domain.kind) && { http: { status: domain.status, headers: domain.headers } };
  return new GraphQLError(domain.graphqlMessage, { nodes, path, extensions: { ...extensionsOf(domain), ...http } });
}

/** The part of a message in which graphql-js quotes the value that it found. It has no option for that; found-values.unit.test.ts tries every kind of message. */
const FOUND = /,? [Ff]ound: [^]*$|(?<= cannot represent [^:]*): [^]*$|(?<=\b(?:Block)?String) "[^]*$/;
const FOUND_ENUM_VALUE = /\bValue "[^]*" does(?= not exist in "\w+" enum)/;

/** Removes the quoted value from the message, because it can contain a secret. */
export function withoutFoundValue(error: GraphQLError): GraphQLError {
  const message = error.message.replace(FOUND_ENUM_VALUE, 'The value does').replace(FOUND, '');
  if (message === error.message) return error;
  const { nodes, source, positions, path, extensions } = error;
  return new GraphQLError(/[.?!]$/.test(message) ? message : `${message}.`, {
    nodes,
    source,
    positions,
    path,
    extensions,
  });
}

const namedInSchema = (missing: Missing) => ({ ...missing, ...(missing.role && { role: enumName(missing.role) }) });

const extensionsOf = (error: DomainError): Record<string, unknown> => ({
  code: error.code,
  ...error.details,
  ...(error instanceof ForbiddenError && error.missing && { missing: namedInSchema(error.missing) }),
  ...(error.inputPath.length > 0 && { path: error.inputPath }),
});

/**
 * Converts the errors of a result. GraphQL errors without a code are invalid variables and arguments. The log is created only when something is
 * logged.
 */
export function masked(result: ExecutionResult, logs: { readonly log: Logger }): ExecutionResult {
  if (!result.errors) return result;
  // Without data nothing was executed: 400 if the media type has statuses for request errors (GraphQL over HTTP, section 6.4).
  const http = result.data === undefined && { http: { spec: true, status: STATUS_OF.invalid } };
  const errors = result.errors.map((error) => {
    const known = toGraphQLError(error, logs.log);
    if (known.extensions['code'] !== undefined) return known;
    const { message, nodes, path } = known;
    return new GraphQLError(message, { nodes, path, extensions: { code: CODE_OF.invalid, ...http } });
  });
  return { ...result, errors };
}

/** Converts each event of a subscription, which has the same size limit as an answer. */
export async function* maskedStream(
  results: AsyncIterable<ExecutionResult>,
  { logs, isHalting }: { readonly logs: { readonly log: Logger }; readonly isHalting: boolean },
  budget: RequestBudget,
): AsyncGenerator<ExecutionResult, void, undefined> {
  try {
    for await (const result of results) {
      // Before the event is sent, so that nothing is held while the client reads.
      budget.renew();
      const event = isSurelyLarger(result, budget.maxBytes) ? tooLarge(logs, budget.maxBytes) : masked(result, logs);
      yield isHalting ? halted(event) : event;
    }
  } catch (error) {
    yield { errors: [toGraphQLError(error, logs.log)] };
  } finally {
    budget.close();
  }
}

/** The result as JSON. An error replaces a result that turns out to be too large. */
export function toJson(result: ExecutionResult, logs: { readonly log: Logger }, maxBytes: number): string {
  const json = stringifyWithRawJson(result);
  return isLarger(json, maxBytes)
    ? JSON.stringify({ ...tooLarge(logs, maxBytes), extensions: result.extensions })
    : json;
}

/** The result for an answer that is too large. */
export const tooLarge = ({ log }: { readonly log: Logger }, maxBytes: number): ExecutionResult => ({
  data: null,
  errors: [toGraphQLError(answerTooLarge(maxBytes), log)],
});

/** Converts an error of the request to a GraphQL error with an HTTP status. Internal errors are masked. */
export function toHttpError(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  if (!(error instanceof DomainError))
    return new GraphQLError('internal error', {
      originalError: error instanceof Error ? error : new Error(String(error)),
    });
  return new GraphQLError(error.graphqlMessage, {
    extensions: { ...extensionsOf(error), http: { status: error.status, headers: error.headers } },
  });
}

/** Answers an error that occurred before the document was read, in the format of GraphQL. */
export function answerGraphQLError(error: DomainError, requestId: string): HttpAnswer {
  const body = {
    errors: [{ message: error.graphqlMessage, extensions: extensionsOf(error) }],
    extensions: { requestId },
  };
  return answerJson(body, { status: error.status, headers: error.headers });
}
