import type { GraphQLParams } from 'graphql-yoga';
import type { HttpHeaders, HttpRequest } from '../../core/http/messages.ts';
import { ValidationError, invalid } from '../../core/errors.ts';
import { ERROR_BEHAVIORS, type ErrorBehavior } from './error-behavior.ts';
import { requireNarrow } from '../../core/input/shape-bounds.ts';
import { readJson, requireBoundedQuery, requireObject } from '../../core/http/request-body.ts';
import { parseExactJson } from '../../core/text/exact-json.ts';
import { LIMITS } from '../../core/graphql/document-limits.ts';
import { limitError } from './limits.ts';
import { PUBLISHED_BY } from './documents.ts';
import type { NamedClient } from '../../domains/operation-manifests/public.ts';

/**
 * Reads the parameters of a request (GraphQL over HTTP, sections 5 and 6), with the same bounds and messages as the REST API.
 * @throws DomainError (415, 413, 400) like `readJson`; GraphQLError `TOO_MANY_OPERATIONS` for an array of requests.
 */
export async function readGraphQLRequest(request: HttpRequest): Promise<GraphQLParams> {
  const params = await readParams(request);
  requireNarrow('variables', params.variables);
  requireNarrow('extensions', params.extensions);
  return asClientsMean(params);
}

async function readParams(request: HttpRequest): Promise<GraphQLParams> {
  if (request.method === 'GET') return readQuery(new URL(request.url).searchParams);
  const body = await readJson(request);
  if (Array.isArray(body)) {
    const message =
      'The body must be one request, and no array of any length: send a separate request for each operation.';
    throw limitError('TOO_MANY_OPERATIONS', message, LIMITS.operations, body.length);
  }
  return requireObject(body);
}

interface ClientParams extends GraphQLParams {
  readonly documentId?: unknown;
  readonly id?: unknown;
  readonly doc_id?: unknown;
  readonly onError?: unknown;
  readonly [PUBLISHED_BY]?: string;
}

/**
 * The parameters in the form of the specification. An empty `operationName` is none (GraphQL over HTTP, section 6.1),
 * since clients send empty fields. `id` and `doc_id` are the names of Relay's network layers for `documentId`; beside a
 * query they only repeat which document it is. Some of these layers send an empty query beside them, or a null id.
 */
function asClientsMean(params: ClientParams): GraphQLParams {
  if (!('id' in params || 'doc_id' in params || params.documentId === null || params.operationName === ''))
    return params;
  const { id, doc_id: docId, documentId, operationName, ...rest } = params;
  const meant = documentId ?? (rest.query ? null : (id ?? docId ?? null));
  return {
    ...rest,
    ...(operationName !== '' && { operationName }),
    ...(meant !== null && { documentId: meant }),
  };
}

/** Reads query parameters. `variables` and `extensions` are JSON, the others are text (GraphQL over HTTP, section 6.1). */
function readQuery(query: URLSearchParams): GraphQLParams {
  requireBoundedQuery(query);
  const names = [...new Set(query.keys())].filter((name) => PARAMETERS.has(name));
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
    return parseExactJson(text);
  } catch {
    throw invalid(name, 'is not well-formed JSON');
  }
}

/** The names of GraphQL over HTTP, section 6.1, those of persisted documents, and `onError`. Others are ignored. */
const PARAMETERS: ReadonlySet<string> = new Set([
  'query',
  'variables',
  'operationName',
  'extensions',
  'documentId',
  'id',
  'doc_id',
  'onError',
]);

const EXECUTED: ReadonlySet<string> = new Set(['query', 'variables', 'operationName', 'extensions']);
const only = (params: ClientParams): GraphQLParams =>
  Object.fromEntries(Object.entries(params).filter(([name]) => EXECUTED.has(name)));

/** A request with a document, and what an error does to the parents of its field. */
interface AskedDocument {
  readonly params: GraphQLParams;
  readonly onError: ErrorBehavior;
  /** The client that has published the document. */
  readonly publishedBy: string | undefined;
}

/**
 * @throws ValidationError (400) when there is no document to execute, in every media type (GraphQL over HTTP, section
 * 6.4), and for values of other parameters that have no meaning.
 */
export function requireQuery(given: ClientParams): AskedDocument {
  const { query, operationName, onError }: { readonly [Name in keyof ClientParams]?: unknown } = given;
  if (query == null) throw invalid('query', 'is required', 'REQUIRED');
  if (operationName != null && typeof operationName !== 'string')
    throw invalid('operationName', 'must be a string', 'WRONG_TYPE');
  const behavior = onError == null ? 'PROPAGATE' : ERROR_BEHAVIORS.find((each) => each === onError);
  if (behavior === undefined) throw invalid('onError', `must be one of ${ERROR_BEHAVIORS.join(', ')}`, 'NOT_ALLOWED');
  const isPlain = Object.keys(given).every((name) => EXECUTED.has(name));
  return { params: isPlain ? given : only(given), onError: behavior, publishedBy: given[PUBLISHED_BY] };
}

/** The headers in which clients name themselves: those of GraphQL tools in general, and those of Apollo's clients. */
const NAME_HEADERS = ['graphql-client-name', 'apollographql-client-name'];
const VERSION_HEADERS = ['graphql-client-version', 'apollographql-client-version'];

/** The same over WebSocket, where they are members of `connection_init`. */
export const CLIENT_HEADERS: readonly string[] = [...NAME_HEADERS, ...VERSION_HEADERS];

export const namedClientOf = (headers: HttpHeaders): NamedClient => ({
  client: firstOf(headers, NAME_HEADERS),
  version: firstOf(headers, VERSION_HEADERS),
});

const firstOf = (headers: HttpHeaders, names: readonly string[]): string | null =>
  names.map((name) => headers.get(name)).find((value) => value !== null && value !== '') ?? null;
