import type { GraphQLParams } from 'graphql-yoga';
import type { HttpRequest } from '../../core/http/messages.ts';
import { ValidationError, invalid } from '../../core/errors.ts';
import { readJson, requireObject } from '../../core/http/request-body.ts';
import { LIMITS, limitError } from './limits.ts';

/**
 * Reads the parameters of a request (GraphQL over HTTP, sections 5 and 6), with the same bounds and messages as the REST API.
 * @throws DomainError (415, 413, 400) like `readJson`; GraphQLError `TOO_MANY_OPERATIONS` for an array of requests.
 */
export async function readGraphQLRequest(request: HttpRequest): Promise<GraphQLParams> {
  if (request.method === 'GET') return readQuery(new URL(request.url).searchParams);
  const body = await readJson(request);
  if (Array.isArray(body)) {
    const message = `The body is an array of requests; at most ${LIMITS.operations} operation per request is allowed. Send a separate request for each.`;
    throw limitError('TOO_MANY_OPERATIONS', message, LIMITS.operations, body.length);
  }
  return requireObject(body);
}

/** Reads query parameters. `variables` and `extensions` are JSON, the others are text (GraphQL over HTTP, section 6.1). */
function readQuery(query: URLSearchParams): GraphQLParams {
  const names = [...new Set(query.keys())];
  const repeated = names.filter((name) => query.getAll(name).length > 1);
  if (repeated.length > 0) {
    throw new ValidationError(
      repeated.map((name) => ({ path: [name], code: 'DUPLICATE', message: 'must be given only once' })),
    );
  }
  return Object.fromEntries(
    names.map((name) => [
      name,
      /^(?:variables|extensions)$/.test(name) ? parsed(name, query.get(name) ?? '') : (query.get(name) ?? ''),
    ]),
  );
}

function parsed(name: string, text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(name, 'is not well-formed JSON');
  }
}

/** @throws ValidationError (400) when there is no document to execute, in every media type (GraphQL over HTTP, section 6.4). */
export function requireQuery(params: GraphQLParams): GraphQLParams {
  if (params.query == null) throw invalid('query', 'is required', 'REQUIRED');
  return params;
}
