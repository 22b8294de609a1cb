import type { Actor } from '../core/access.ts';
import { DomainError } from '../core/errors.ts';
import { isEventPath } from '../core/http/event-paths.ts';
import { wantsHtml } from '../core/http/html-page.ts';
import { type HttpAnswer, type HttpHeaders, answerWith } from '../core/http/messages.ts';
import { isFile, isKeyless, isWrite } from '../core/http/route.ts';
import { traced } from '../core/tracing/tracing.ts';
import { type Admitted, admit, findAgain } from './admission/authenticate.ts';
import type { ClientLimits } from './admission/client-limits.ts';
import type { RateLimits, Sender } from './admission/rate-limits.ts';
import { RequestShares } from './admission/request-shares.ts';
import { operationContext, publicContext } from './contexts.ts';
import { type Dependencies, publicUrlOf } from './dependencies.ts';
import type { Exchange, FoundPage } from './exchange.ts';
import { type GraphQLApi, createGraphQLApi } from './graphql/handler.ts';
import type { Cors } from './http/cors.ts';
import { createPages } from './answer-pages.ts';
import { SCIM_LIMIT, answerScim, isScim } from './scim.ts';
import { createMcpApi } from './mcp/handler.ts';
import { answerKeylessRest, answerRest, matchRoute, refuseQuery } from './rest/handler.ts';

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
  const shares = new RequestShares(dependencies.pools, dependencies.config);
  const admitCaller = createAdmission(dependencies, { limits, shares });
  const findPage = createPages(dependencies, clientLimits);
  const graphql = createGraphQLApi(dependencies, limits);
  const answerGraphQL = createGraphQLDispatch(dependencies, { graphql, admitCaller });
  const answerMcp = createMcpDispatch(dependencies, { graphql, admitCaller });
  const answerProvisioning = createScimDispatch(dependencies, admitCaller);
  const answerRoute = createRestDispatch(dependencies, { clientLimits, admitCaller, shares });
  return (exchange) => {
    const preflight = cors?.preflight(exchange.request);
    if (preflight) {
      exchange.operation = 'preflight';
      return preflight;
    }
    const page = findPage(exchange);
    if (page) return answerPage(exchange, page, shares);
    if (exchange.path === '/mcp') return answerMcp(exchange);
    if (isScim(exchange.path)) return answerProvisioning(exchange);
    return exchange.path === '/graphql' ? answerGraphQL(exchange) : answerRoute(exchange);
  };
}

function answerPage(exchange: Exchange, { answer, refuse }: FoundPage, shares: RequestShares): ReturnType<Dispatch> {
  const { path } = exchange;
  // What watches the gateway must not wait for its callers.
  if (path === '/metrics' || path.startsWith('/health/')) return answer();
  const answered = shares.admitAddress(exchange).then(answer);
  return refuse ? answered.catch(refuse) : answered;
}

/**
 * Checks the caller before the body is read: authentication (401), then the rate limit (429), then unknown paths (404, 405). Then the request
 * waits until it is worked on.
 */
function createAdmission(
  dependencies: Dependencies,
  { limits, shares }: { readonly limits: RateLimits | undefined; readonly shares: RequestShares },
): AdmitCaller {
  return async (exchange, badPath) => {
    const { path, organizationId } = exchange;
    const caller = { headers: headersOf(exchange), path, organizationId };
    const onKey = async (sender: Sender) => {
      exchange.keyId = sender.keyId;
      exchange.userId = sender.userId;
      if (limits)
        exchange.limitHeaders = await limits.countRequest(sender, isScim(exchange.path) ? SCIM_LIMIT : undefined);
      if (badPath) throw badPath;
    };
    const unknown = shares.takeUnknown(exchange.request);
    const slot = unknown instanceof Promise ? await unknown : unknown;
    let admitted: Admitted;
    try {
      admitted = await admit(exchange.request, caller, dependencies, onKey);
    } finally {
      slot?.release();
    }
    exchange.actor = admitted.actor;
    const waiting = shares.admit(exchange, admitted.actor);
    if (!waiting) return admitted;
    await waiting;
    return { ...admitted, whenRead: () => findAgain(caller, dependencies) };
  };
}

/** Clients of the event API from version 2026-09 on send the key in the header `private-app`. */
function headersOf({ request: { headers }, path }: Exchange): HttpHeaders {
  const key = headers.get('private-app');
  return key === null || headers.has('authorization') || !isEventPath(path) ? headers : new WithKey(headers, key);
}

class WithKey implements HttpHeaders {
  readonly #headers: HttpHeaders;
  readonly #authorization: string;

  constructor(headers: HttpHeaders, key: string) {
    this.#headers = headers;
    this.#authorization = `Bearer ${key.replace(/^Bearer +/i, '')}`;
  }

  get(name: string): string | null {
    return name === 'authorization' ? this.#authorization : this.#headers.get(name);
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  keys(): Iterable<string> {
    return this.#headers.keys();
  }
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
    const open = (actor: Actor) => operationContext(dependencies, actor, exchange);
    const openOperation = () => {
      const actor = whenRead();
      return actor instanceof Promise ? actor.then(open) : open(actor);
    };
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
    const openOperation = async () => {
      const actor = await whenRead();
      refuseQuery(exchange.url);
      return operationContext(dependencies, actor, exchange);
    };
    return answerMcp(request, openOperation, { logs: exchange, onWrite: () => (exchange.isWrite = true) });
  };
}

/** For identity providers, which manage people and groups. */
function createScimDispatch(dependencies: Dependencies, admitCaller: AdmitCaller): Dispatch {
  return async (exchange) => {
    exchange.api = 'rest';
    exchange.operation = 'scim';
    const { whenRead } = await admitCaller(exchange);
    const open = async () => operationContext(dependencies, await whenRead(), exchange);
    return answerScim(exchange, open, publicUrlOf(dependencies));
  };
}

interface RestParts {
  readonly clientLimits: ClientLimits;
  readonly admitCaller: AdmitCaller;
  readonly shares: RequestShares;
}

function createRestDispatch(dependencies: Dependencies, { clientLimits, admitCaller, shares }: RestParts): Dispatch {
  return async (exchange) => {
    const { request } = exchange;
    exchange.api = 'rest';
    const match = matchRoute(request.method, exchange.path, dependencies.now());
    if (match instanceof DomainError) return refusePath(exchange, match, admitCaller);
    const { route, parameters } = match;
    exchange.operation = route.operationId;
    exchange.routeHeaders = route.headers;
    exchange.isWrite = isWrite(route);
    const span = { name: route.operationId, kind: 'internal' } as const;
    if (isKeyless(route)) {
      const excess = clientLimits.count(route.operationId, exchange.clientAddress);
      if (excess) throw excess;
      await shares.admitAddress(exchange);
      const context = publicContext(dependencies, exchange);
      return traced(dependencies.tracing, span, () => answerKeylessRest(exchange, route, context));
    }
    if (isFile(route)) exchange.organizationId = exchange.url.searchParams.get('organization') ?? undefined;
    const caller = await admitCaller(exchange);
    return traced(dependencies.tracing, span, () => answerRest(exchange, { route, parameters }, caller, dependencies));
  };
}
