import { type ExecutionResult, GraphQLError } from 'graphql';
import { type HttpAnswer, answerJson } from '../core/http.ts';
import type { Logger } from 'pino';
import { DomainError } from '../core/errors.ts';
import { toDomainError } from './failures.ts';

/** How errors leave the GraphQL door. */

/** What a caller sees of an error: errors of the language as they are; domain errors with their code; a failure of ours without detail. */
export function toGraphQLError(error: unknown, log: Logger): GraphQLError {
  const original = error instanceof GraphQLError ? error.originalError : error;
  if (error instanceof GraphQLError && (original == null || original instanceof GraphQLError)) return error;
  const domain = toDomainError(original, log);
  const { nodes, path } = error instanceof GraphQLError ? error : {};
  const http = domain.kind === 'unavailable' && { http: { status: domain.status, headers: domain.headers } };
  return new GraphQLError(domain.message, { nodes, path, extensions: { ...extensionsOf(domain), ...http } });
}

function extensionsOf({ code, path }: DomainError): Record<string, unknown> {
  return { code, ...(path.length > 0 && { path }) };
}

export function masked(result: ExecutionResult, log: Logger): ExecutionResult {
  const { errors, data } = result;
  if (!errors) return result;
  return {
    ...result,
    errors: errors.map((error) => toGraphQLError(data === undefined ? asRequestError(error) : error, log)),
  };
}

/**
 * Of an operation that was not begun, such as for variables of wrong types (GraphQL specification, section 6.1.2), graphql says no code.
 * It is 400 in GraphQL's own media type (GraphQL over HTTP, section 6.4.2).
 */
function asRequestError(error: GraphQLError): GraphQLError {
  const { originalError } = error;
  if ((originalError != null && !(originalError instanceof GraphQLError)) || error.extensions['code'] !== undefined)
    return error;
  const { message, nodes, source, positions, path, extensions } = error;
  const told = { code: 'INVALID_INPUT', http: { spec: true, status: 400 } };
  return new GraphQLError(message, { nodes, source, positions, path, extensions: { ...extensions, ...told } });
}

export async function* maskedStream(
  results: AsyncIterable<ExecutionResult>,
  log: Logger,
): AsyncGenerator<ExecutionResult, void, undefined> {
  try {
    for await (const result of results) yield masked(result, log);
  } catch (error) {
    yield { errors: [toGraphQLError(error, log)] };
  }
}

/** An error of the request itself, with the status that Yoga is to answer. */
export function toHttpError(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error;
  return new GraphQLError(error.message, {
    extensions: { ...extensionsOf(error), http: { status: error.status, headers: error.headers } },
  });
}

/** An error that stopped a request before its document was read, in GraphQL's form. */
export function answerGraphQLError(error: DomainError, requestId: string): HttpAnswer {
  const body = { errors: [{ message: error.message, extensions: extensionsOf(error) }], extensions: { requestId } };
  return answerJson(body, { status: error.status, headers: error.headers });
}
