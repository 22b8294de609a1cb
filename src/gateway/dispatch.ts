import { DomainError } from '../core/errors.ts';
import { isEventPath } from '../core/http/event-paths.ts';
import { wantsHtml } from '../core/http/html-page.ts';
import { type HttpAnswer, answerWith } from '../core/http/messages.ts';
import { isKeyless, isWrite } from '../core/http/route.ts';
import { traced } from '../core/tracing/tracing.ts';
import { type Admitted, admit } from './admission/authenticate.ts';
import type { ClientLimits } from './admission/client-limits.ts';
import type { RateLimits } from './admission/rate-limits.ts';
import { operationContext } from './contexts.ts';
import type { Dependencies } from './dependencies.ts';
import type { Exchange } from './exchange.ts';
import { type GraphQLApi, createGraphQLApi } from './graphql/handler.ts';
import type { Cors } from './http/cors.ts';
import { createPages } from './answer-pages.ts';
import { createMcpApi } from './mcp/handler.ts';
import { publicContext } from './public-context.ts';
import { answerKeylessRest, answerRest, matchRoute } from './rest/handler.ts';

/** The answer to an admitted caller who opens a WebSocket. */
export const SWITCHING_PROTOCOLS = 101;

type Dispatch = (exchange: Exchange) => HttpAnswer | Promise<HttpAnswer>;
type AdmitCaller = (exchange: Exchange, badPath?: DomainError) => Promise<Admitted>;

interface DispatchParts {
  readonly cors: Cors | undefined;
  readonly clientLimits: ClientLimits;
}

/** Passes each request to the handler of its path: a page, GraphQL, or REST. */
export function createDispatch(dependencies: Dependencies, { cors, clientLimits }: DispatchParts): Dispatch {
  const { rateLimits: limits } = dependencies;
  const admitCaller = createAdmission(dependencies, limits);
  const answerPage = createPages(dependencies, clientLimits);
  const graphql = createGraphQLApi(dependencies, limits);
  const answerGraphQL = createGraphQLDispatch(dependencies, { graphql, admitCaller });
  const answerMcp = createMcpDispatch(dependencies, { graphql, admitCaller });
  const answerRoute = createRestDispatch(dependencies, { clientLimits, admitCaller });
  return (exchange) => {
    const preflight = cors?.preflight(exchange.request);
    if (preflight) {
      exchange.operation = 'preflight';
      return preflight;
    }
    const page = answerPage(exchange);
    if (page) return page;
    if (exchange.url.pathname === '/mcp') return answerMcp(exchange);
    return exchange.url.pathname === '/graphql' ? answerGraphQL(exchange) : answerRoute(exchange);
  };
}

/** Checks the caller before the body is read: authentication (401), then the rate limit (429), then unknown paths (404, 405). */
function createAdmission(dependencies: Dependencies, limits: RateLimits | undefined): AdmitCaller {
  return async (exchange, badPath) => {
    const asked = { request: requestOf(exchange), path: exchange.url.pathname };
    const admitted = await admit(asked, dependencies, async (sender) => {
      exchange.keyId = sender.keyId;
      exchange.userId = sender.userId;
      exchange.limitHeaders = await limits?.countRequest(sender);
      if (badPath) throw badPath;
    });
    exchange.actor = admitted.actor;
    return admitted;
  };
}

/** Clients of the event API from version 2026-09 on send the key in the header `private-app`. */
function requestOf({ request, url }: Exchange): Parameters<typeof admit>[0]['request'] {
  const key = request.headers.get('private-app');
  if (key === null || request.headers.has('authorization') || !isEventPath(url.pathname)) return request;
  const { headers, body } = request;
  const get = (name: string) =>
    name === 'authorization' ? `Bearer ${key.replace(/^Bearer +/i, '')}` : headers.get(name);
  return {
    headers: { get, has: (name) => get(name) !== null, keys: () => headers.keys() },
    body,
    get hasArrived() {
      return request.hasArrived === true;
    },
  };
}

/**
 * Only callers with a key learn which paths of the APIs exist; others get 401. Exceptions are removed APIs, OPTIONS requests, which browsers
 * send without a key, and requests for HTML.
 */
async function refusePath(exchange: Exchange, error: DomainError, admitCaller: AdmitCaller): Promise<never> {
  const { request } = exchange;
  if (error.kind !== 'gone' && request.method !== 'OPTIONS' && !wantsHtml(request)) await admitCaller(exchange, error);
  throw error;
}

function createGraphQLDispatch(
  dependencies: Dependencies,
  { graphql, admitCaller }: { readonly graphql: GraphQLApi; readonly admitCaller: AdmitCaller },
): Dispatch {
  return async (exchange) => {
    const { request, requestId } = exchange;
    exchange.api = 'graphql';
    exchange.operation = 'graphql';
    if (request.method !== 'GET' && request.method !== 'POST') {
      const headers = { Allow: 'GET, POST' };
      const error = new DomainError('methodNotAllowed', 'GraphQL accepts only GET and POST', { headers });
      return refusePath(exchange, error, admitCaller);
    }
    const { whenRead } = await admitCaller(exchange);
    if (request.headers.has('upgrade')) return answerWith(null, { status: SWITCHING_PROTOCOLS });
    const openOperation = async () => operationContext(dependencies, await whenRead(), exchange);
    return graphql.answer(request, openOperation, {
      requestId,
      logs: exchange,
      onWrite: () => (exchange.isWrite = true),
    });
  };
}

/** The MCP server of the gateway. It is stateless, so there is only POST. */
function createMcpDispatch(
  dependencies: Dependencies,
  { graphql, admitCaller }: { readonly graphql: GraphQLApi; readonly admitCaller: AdmitCaller },
): Dispatch {
  const { mcpTools: tools, bounds } = dependencies;
  const answerMcp = createMcpApi({ tools, run: graphql.run, maxBytes: bounds.answerBytes });
  return async (exchange) => {
    const { request } = exchange;
    exchange.api = 'rest';
    exchange.operation = 'mcp';
    if (request.method !== 'POST') {
      const error = new DomainError('methodNotAllowed', 'the MCP server accepts only POST', {
        headers: { Allow: 'POST' },
      });
      return refusePath(exchange, error, admitCaller);
    }
    const { whenRead } = await admitCaller(exchange);
    const openOperation = async () => operationContext(dependencies, await whenRead(), exchange);
    return answerMcp(request, openOperation, { logs: exchange, onWrite: () => (exchange.isWrite = true) });
  };
}

function createRestDispatch(
  dependencies: Dependencies,
  { clientLimits, admitCaller }: { readonly clientLimits: ClientLimits; readonly admitCaller: AdmitCaller },
): Dispatch {
  return async (exchange) => {
    const { request, url } = exchange;
    exchange.api = 'rest';
    const match = matchRoute(request.method, url.pathname, dependencies.now());
    if (match instanceof DomainError) return refusePath(exchange, match, admitCaller);
    const { route, parameters } = match;
    exchange.operation = route.operationId;
    exchange.routeHeaders = route.headers;
    exchange.isWrite = isWrite(route);
    const span = { name: route.operationId, kind: 'internal' } as const;
    if (isKeyless(route)) {
      const excess = clientLimits.count(route.operationId, exchange.clientAddress);
      if (excess) throw excess;
      const context = publicContext(dependencies, exchange);
      return traced(dependencies.tracing, span, () => answerKeylessRest(request, route, context));
    }
    const caller = await admitCaller(exchange);
    return traced(dependencies.tracing, span, () => answerRest(exchange, { route, parameters }, caller, dependencies));
  };
}
