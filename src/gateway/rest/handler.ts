import { inRest } from '../../core/text/wording.ts';
import { type HttpAnswer, type HttpRequest, answerJson, answerJsonText, answerWith } from '../../core/http/messages.ts';
import { DomainError, type ErrorKind, STATUS_OF, ValidationError, invalid } from '../../core/errors.ts';
import {
  type AnyRoute,
  type KeylessRoute,
  type Method,
  type PublicContext,
  type RawRoute,
  type Route,
  isRaw,
  isWrite,
  pathParameters,
  takesBody,
} from '../../core/http/route.ts';
import { inDocumentedVersion, isEventPath, pathsOf } from '../../core/http/event-paths.ts';
import { inputJsonSchema } from '../../core/input/json-schema.ts';
import { NOT_KNOWN, meantBy, parseInput } from '../../core/input/validation.ts';
import { requireAccess } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import {
  mediaTypeOf,
  readBytes,
  readJson,
  readLines,
  requireBoundedQuery,
  requireObject,
} from '../../core/http/request-body.ts';
import type { Admitted } from '../admission/authenticate.ts';
import { operationContext, readingContext } from '../contexts.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Exchange } from '../exchange.ts';
import { idempotencyKeyOf } from '../request-headers.ts';
import { runIdempotent } from './idempotent-call.ts';
import { shortenedJson } from '../../core/answer-size.ts';
import { describeRemoval, removedApiAt } from '../../domains/api-lifecycle/public.ts';
import { routes } from '../modules.ts';
import { WORK } from '../../core/work-budget.ts';

/** The route of a request, with the undecoded parameters of its path. */
export interface Match<Found extends AnyRoute = AnyRoute> {
  readonly route: Found;
  readonly parameters: Readonly<Record<string, string>>;
}

/** All paths by their number of segments. */
const TABLE = Map.groupBy(
  routes.flatMap((route) => pathsOf(route.path).map((path) => ({ route, segments: path.split('/') }))),
  ({ segments }) => segments.length,
);

/** Finds the route of a request. @returns an error for removed APIs (410), unknown paths (404), and other methods (405 with `Allow`). */
export function matchRoute(method: string, path: string, now: Date): Match | DomainError {
  const removed = removedApiAt(path, now);
  if (removed) return new DomainError('gone', describeRemoval(removed));
  const event = isEventPath(path) ? inDocumentedVersion(withoutTrailingSlash(path)) : undefined;
  const segments = (event?.path ?? path).split('/');
  const onPath = (TABLE.get(segments.length) ?? []).filter((row) =>
    row.segments.every((part, index) => (part.startsWith(':') ? segments[index] !== '' : part === segments[index])),
  );
  if (onPath.length === 0)
    return new DomainError('notFound', `there is nothing at ${path.slice(0, 200)}; /docs lists the addresses`);
  if (event?.refusal !== undefined) return new DomainError('notFound', event.refusal);
  // HEAD is handled like GET; the body is not sent (RFC 9110, section 9.3.2).
  const row = onPath.find(({ route }) => route.method === (method === 'HEAD' ? 'GET' : method));
  if (!row)
    return methodNotAllowed(
      method,
      onPath.map(({ route }) => route.method),
    );
  return {
    route: row.route,
    parameters: Object.fromEntries(
      row.segments.flatMap((part, index) => (part.startsWith(':') ? [[part.slice(1), segments[index] ?? '']] : [])),
    ),
  };
}

function withoutTrailingSlash(path: string): string {
  return path.replace(/\/$/, '');
}

export function methodNotAllowed(method: string, allowed: readonly Method[]): DomainError {
  const Allow = [...new Set(allowed.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])))].join(', ');
  return new DomainError('methodNotAllowed', `${method} is not allowed here; allowed: ${Allow}`, {
    headers: { Allow },
  });
}

function decoded(parameters: Match['parameters']): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).map(([name, segment]) => [name, decode(name, segment)]));
}

function decode(name: string, segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalid(name, 'is not valid percent-encoding', 'BAD_FORMAT');
  }
}

/**
 * Runs the operation of a route with the path parameters, the query and the body as input, and answers the document in
 * openapi.json. Errors that do not depend on the input are thrown before it is read.
 */
export async function answerRest(
  exchange: Exchange,
  { route, parameters: encoded }: Match<Route | RawRoute>,
  { actor, whenRead }: Admitted,
  dependencies: Dependencies,
): Promise<HttpAnswer> {
  const { request, path } = exchange;
  requireAccess(actor, route.access);
  if (isRaw(route)) return answerRaw(exchange, { route, parameters: encoded }, whenRead, dependencies);
  if (isWrite(route) && !takesBody(route)) await refuseProperties(request);
  const text = textBodyOf(request, route, exchange.url.searchParams);
  const given = text
    ? await text.read()
    : takesBody(route)
      ? await bodyOf(request, route)
      : queryOf(exchange.url, route);
  const inQuery = takesBody(route) && !text ? givenInQuery(exchange.url, route, given) : {};
  if (takesBody(route)) refuseQuery(exchange.url, text?.body.queryParameters ?? inQuery);
  const current = await whenRead();
  requireAccess(current, route.access);
  const parameters = decoded(encoded);
  // A path parameter in the query or body is an unknown property.
  const doubled = Object.keys(parameters).filter((name) => Object.hasOwn(given, name));
  if (doubled.length > 0) throw unknownProperties(doubled);
  const whole = { ...given, ...inQuery, ...parameters };
  const input = parseInput(text?.body.input ?? route.input, whole, Object.keys(parameters).length);
  const context = operationContext(dependencies, current, exchange);
  // A change never waits for memory: what it has written would be answered with an error.
  if (!isWrite(route)) context.budget.expectAnswerOf(route);
  // A stream continues to read, and closes its budget itself.
  if ('respond' in route) return route.respond(readingContext(context, dependencies), input, request);
  try {
    const maxBytes = () => (isWrite(route) ? context.budget.answerRoom : Infinity);
    const run = async (inner: OperationContext) => {
      const result = await (text ? text.body.run(inner, input) : route.run(inner, input, path));
      return answerDocument(route, result, { url: inner.settings.publicUrl + path, maxBytes: maxBytes() });
    };
    if (!isWrite(route)) return await run(readingContext(context, dependencies));
    const key = idempotencyKeyOf(request.headers);
    if (key === undefined) return await run(context);
    return await runIdempotent(dependencies.idempotency, { route, context, key, input: whole }, run);
  } finally {
    context.budget.close();
  }
}

/** Answers a route whose body and answer are documents of another protocol. */
async function answerRaw(
  exchange: Exchange,
  { route, parameters }: Match<RawRoute>,
  whenRead: Admitted['whenRead'],
  dependencies: Dependencies,
): Promise<HttpAnswer> {
  const { request } = exchange;
  // A stream would be opened for nothing.
  if (request.method === 'HEAD') throw methodNotAllowed(request.method, ['GET', 'POST', 'DELETE']);
  const body = await readBytes(request);
  exchange.message = body;
  refuseQuery(exchange.url);
  const current = await whenRead();
  requireAccess(current, route.access);
  const input = parseInput(route.input, decoded(parameters));
  const context = operationContext(dependencies, current, exchange);
  // What comes first waits for MCP servers.
  return context.budget.waiting(() => route.exchange(context, input, { request, body }));
}

/** Runs the operation of a route that needs no API key, with the body as input. */
export async function answerKeylessRest(
  { request, url }: Exchange,
  route: KeylessRoute,
  context: PublicContext,
): Promise<HttpAnswer> {
  const body = await bodyOf(request, route, WORK.keylessBytes);
  refuseQuery(url);
  const input = parseInput(route.input, body);
  return answerDocument(route, await route.run(context, input));
}

/** `url` is that of the request. `maxBytes` is given for a write, which must not be answered with an error. */
function answerDocument(route: AnyRoute, result: unknown, { url = '', maxBytes = Infinity } = {}): HttpAnswer {
  const created = route.location?.(result);
  const headers = {
    ...route.headers,
    ...(created !== undefined && { Location: `${withoutTrailingSlash(url)}/${encodeURIComponent(created)}` }),
  };
  if (result === undefined) return answerWith(null, { status: route.status, headers });
  const status = route.isUnchanged?.when(result) ? 200 : route.status;
  return answerJsonText(shortenedJson(result, maxBytes), { status, headers });
}

/** The body of a request of the media type that a route takes in addition to JSON; undefined for any other. */
function textBodyOf(request: HttpRequest, { textBody: body }: Route, query: URLSearchParams) {
  if (!body) return undefined;
  const { mediaType, parameters } = mediaTypeOf(request.headers);
  if (mediaType !== body.mediaType) return undefined;
  return { body, read: async () => body.toInput(await readLines(request), parameters, query) };
}

async function bodyOf(request: HttpRequest, route: AnyRoute, maxBytes?: number): Promise<object> {
  const body = await readJson(request, maxBytes);
  return body === undefined && route.optionalBody ? {} : requireObject(body);
}

/** Accepts an empty body for a write without input, and refuses every property in it. */
async function refuseProperties(request: HttpRequest): Promise<void> {
  const body = await readJson(request);
  const unknown = body === undefined ? [] : Object.keys(requireObject(body));
  if (unknown.length > 0) throw unknownProperties(unknown);
}

function unknownProperties(names: readonly string[], shape: object = {}): ValidationError {
  const faultOf = (name: string) =>
    ({ path: [name], code: 'UNKNOWN_FIELD', message: NOT_KNOWN + meantBy(name, { shape }) }) as const;
  return new ValidationError(names.map(faultOf));
}

/** Refuses the parameters of a query that are not known, where the input is not in the query. Clients of the event API send some. */
export function refuseQuery({ searchParams, pathname }: URL, known: object = {}): void {
  if (isEventPath(pathname)) return;
  requireBoundedQuery(searchParams);
  const unknown = [...new Set(searchParams.keys())].filter((name) => !Object.hasOwn(known, name));
  if (unknown.length > 0) throw unknownProperties(unknown, known);
}

/** The properties of a body's input that are given in the query. @throws ValidationError (400) for one of them in the body */
function givenInQuery({ searchParams }: URL, route: Route, body: object): object {
  const { inQuery = [] } = route;
  const misplaced = inQuery.filter((name) => Object.hasOwn(body, name));
  if (misplaced.length > 0) throw unknownProperties(misplaced);
  const { types } = queryTypes(route);
  const names = inQuery.filter((name) => searchParams.has(name));
  return Object.fromEntries(names.map((name) => [name, typed(searchParams.get(name) ?? '', types.get(name))]));
}

/** Converts query parameters, which are text, to the numbers and booleans that the schema expects. */
function queryOf({ searchParams: query, pathname }: URL, route: Route): object {
  requireBoundedQuery(query);
  const { types, isOpen } = queryTypes(route);
  const ignoresUnknown = isEventPath(pathname) && !isOpen;
  const names = new Set(ignoresUnknown ? [...query.keys()].filter((name) => types.has(name)) : query.keys());
  // An open schema decides about repeated names that only it knows.
  const isList = (name: string) =>
    types.get(name) === 'array' || (isOpen && !types.has(name) && query.getAll(name).length > 1);
  const repeated = [...names].filter((name) => !isList(name) && query.getAll(name).length > 1);
  if (repeated.length > 0)
    throw new ValidationError(
      repeated.map((name) => ({ path: [name], code: 'DUPLICATE', message: 'must be given only once' })),
    );
  return Object.fromEntries(
    [...names].map((name) => [name, isList(name) ? query.getAll(name) : typed(query.get(name) ?? '', types.get(name))]),
  );
}

function typed(value: string, type: unknown): unknown {
  // A fraction becomes a number, so that the schema can report it. `5.0` stays text, because it is not written in digits only.
  if (type === 'integer' && /^-?\d+(?:\.\d*[1-9]\d*)?$/.test(value)) return Number(value);
  if (type === 'number' && /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(value)) return Number(value);
  // In any case, because programs in Python write `True`.
  if (type === 'boolean' && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  return value;
}

interface QueryTypes {
  /** The JSON type of each named parameter of the query. */
  readonly types: ReadonlyMap<string, unknown>;
  /** Whether the schema itself decides about other names. */
  readonly isOpen: boolean;
}

const typesOf = new WeakMap<Route, QueryTypes>();

function queryTypes(route: Route): QueryTypes {
  let types = typesOf.get(route);
  if (!types) {
    const { properties = {}, additionalProperties } = inputJsonSchema(route.input);
    const inPath = pathParameters(route.path);
    const inQuery = Object.entries(properties).filter(([name]) => !inPath.includes(name));
    types = {
      types: new Map(inQuery.map(([name, schema]) => [name, typeof schema === 'object' ? schema.type : undefined])),
      isOpen: additionalProperties !== false,
    };
    typesOf.set(route, types);
  }
  return types;
}

const CATEGORY_OF: Partial<Record<ErrorKind, string>> = {
  unauthenticated: 'INVALID_AUTHENTICATION',
  forbidden: 'MISSING_SCOPES',
  notFound: 'OBJECT_NOT_FOUND',
  gone: 'OBJECT_NOT_FOUND',
  conflict: 'CONFLICT',
  rateLimited: 'RATE_LIMITS',
  internal: 'INTERNAL_ERROR',
  remoteFailed: 'INTERNAL_ERROR',
  unavailable: 'INTERNAL_ERROR',
};

/** Answers an error in the documented form: `{error}`, except under `/events/`. */
export function answerRestError(error: DomainError, path: string, requestId: string): HttpAnswer {
  const body = isEventPath(path)
    ? {
        status: 'error',
        message: error.message,
        category: CATEGORY_OF[error.kind] ?? 'VALIDATION_ERROR',
        correlationId: requestId,
        errors: error.faults.map(({ path: where, code, message }) => ({
          message: inRest(message),
          code,
          in: where.join('.'),
        })),
      }
    : { error: error.message, ...(error.details && { details: error.details }) };
  return answerJson(body, { status: STATUS_OF[error.kind], headers: error.headers });
}
