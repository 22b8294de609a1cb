import { type ExecutionResult, GraphQLError } from 'graphql';
import { type HttpAnswer, answerJson } from '../../core/http/messages.ts';
import type { Logger } from 'pino';
import { CODE_OF, DomainError, type ErrorKind, STATUS_OF } from '../../core/errors.ts';
import { MAX_ANSWER_BYTES, answerTooLarge, isSurelyTooLarge } from '../../core/answer-size.ts';
import type { RequestBudget } from '../../core/postgres/request-budget.ts';
import { stringifyWithRawJson } from '../../core/text/raw-json.ts';
import { toDomainError } from '../failures.ts';

/** The form of errors in GraphQL answers. */

/** What is to be tried again has its status and `Retry-After` in every media type, as under REST. */
const RETRIED: ReadonlySet<ErrorKind> = new Set(['unavailable', 'rateLimited']);

/** What a caller sees of an error: errors of the language, without the value they found; domain errors with their code; a failure of ours without detail. */
export function toGraphQLError(error: unknown, log: Logger): GraphQLError {
  const original = error instanceof GraphQLError ? error.originalError : error;
  if (error instanceof GraphQLError && (original == null || original instanceof GraphQLError))
    return withoutFoundValue(error);
  const domain = toDomainError(original, log);
  const { nodes, path } = error instanceof GraphQLError ? error : {};
  const http = RETRIED.has(domain.kind) && { http: { status: domain.status, headers: domain.headers } };
  return new GraphQLError(domain.graphqlMessage, { nodes, path, extensions: { ...extensionsOf(domain), ...http } });
}

/** How graphql-js shows the value that it found in place of the one expected, and the parser a string. */
const FOUND = /,? [Ff]ound: [^]*$|(?<= cannot represent [^:]*): [^]*$|(?<=\b(?:Block)?String) "[^]*$/;
const FOUND_ENUM_VALUE = /\bValue "[^]*" does(?= not exist in "\w+" enum)/;

/** The same error without the value that was found: whoever sent it knows it, and what is wrong elsewhere in it may be beside a secret. */
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

function extensionsOf({ code, inputPath: path }: DomainError): Record<string, unknown> {
  return { code, ...(path.length > 0 && { path }) };
}

/**
 * What came of an execution. Errors of the language that are left then are variables and arguments that do not fit. The log is made only
 * when there is something to write.
 */
export function masked(result: ExecutionResult, logs: { readonly log: Logger }): ExecutionResult {
  if (!result.errors) return result;
  // Without data nothing was run: 400 where the media type has statuses for errors of the request (GraphQL over HTTP, section 6.4).
  const http = result.data === undefined && { http: { spec: true, status: STATUS_OF.invalid } };
  const errors = result.errors.map((error) => {
    const known = toGraphQLError(error, logs.log);
    if (known.extensions['code'] !== undefined) return known;
    const { message, nodes, path } = known;
    return new GraphQLError(message, { nodes, path, extensions: { code: CODE_OF.invalid, ...http } });
  });
  return { ...result, errors };
}

/** Each event of a subscription may have what an answer may have. */
export async function* maskedStream(
  results: AsyncIterable<ExecutionResult>,
  logs: { readonly log: Logger },
  budget: RequestBudget,
): AsyncGenerator<ExecutionResult, void, undefined> {
  try {
    for await (const result of results) {
      yield isSurelyTooLarge(result) ? tooLarge(logs) : masked(result, logs);
      budget.renew();
    }
  } catch (error) {
    yield { errors: [toGraphQLError(error, logs.log)] };
  } finally {
    budget.close();
  }
}

/** What came of an execution, and is not surely too large, as JSON; an error in place of what is too large after all. */
export function toJson(result: ExecutionResult, logs: { readonly log: Logger }): string {
  const json = stringifyWithRawJson(result);
  // A UTF-16 unit has at most three bytes, so the bytes of most texts need not be counted.
  if (json.length * 3 <= MAX_ANSWER_BYTES || Buffer.byteLength(json) <= MAX_ANSWER_BYTES) return json;
  return JSON.stringify({ ...tooLarge(logs), extensions: result.extensions });
}

/** In place of what is larger than an answer may be. */
export function tooLarge({ log }: { readonly log: Logger }): ExecutionResult {
  return { data: null, errors: [toGraphQLError(answerTooLarge(), log)] };
}

/** An error of the request itself, with its status; a failure of ours is masked with the answer. */
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

/** An error that stopped a request before its document was read, in GraphQL's form. */
export function answerGraphQLError(error: DomainError, requestId: string): HttpAnswer {
  const body = {
    errors: [{ message: error.graphqlMessage, extensions: extensionsOf(error) }],
    extensions: { requestId },
  };
  return answerJson(body, { status: error.status, headers: error.headers });
}
