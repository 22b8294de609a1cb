import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { answerBytes } from '../core/answer-size.ts';
import { DomainError } from '../core/errors.ts';
import { type HttpAnswer, type HttpHeaders, type HttpRequest, answerWith } from '../core/http/messages.ts';
import { readForm } from '../core/http/request-body.ts';
import { clientAddressOf } from '../core/http/client-address.ts';
import { wantsHtml } from '../core/http/html-page.ts';
import { type Span, traced } from '../core/tracing/tracing.ts';
import { type Admitted, admit } from './admission/authenticate.ts';
import { createClientLimits } from './admission/client-limits.ts';
import { createCors } from './http/cors.ts';
import { type Dependencies, operationContext, publicUrlOf } from './dependencies.ts';
import { publicContext } from './public-context.ts';
import { toDomainError } from './failures.ts';
import { createGraphQLApi } from './graphql/handler.ts';
import { answerGraphQLError } from './graphql/errors.ts';
import { live, ready } from './http/health.ts';
import { metricsPage } from './telemetry/metrics-page.ts';
import { whileOpen } from './telemetry/observe.ts';
import { createOpenApiFile } from './rest/openapi-file.ts';
import { openSite } from './open-site.ts';
import { errorPage } from './pages/error-page.ts';
import type { SitePage } from './pages/site.ts';
import { createRateLimits } from './admission/rate-limits.ts';
import { answerRest, answerRestError, matchRoute, methodNotAllowed } from './rest/handler.ts';
import { publicPages } from './routes.ts';
import { createUnreadAnswers } from './http/unread-answers.ts';

export type Gateway = (request: HttpRequest) => Promise<HttpAnswer>;

/** One request on its way: what is learnt of it ends up in its log line and its metrics. */
interface Passage {
  readonly request: HttpRequest;
  readonly url: URL;
  readonly requestId: string;
  /** Undefined for a call in process. */
  readonly clientAddress: string | undefined;
  api: 'graphql' | 'rest' | 'page';
  operation: string;
  keyId?: string;
  /** What the answer says of the key's rate limit. */
  limitHeaders?: Readonly<Record<string, string>>;
  /** What every answer of the route carries, such as that it is deprecated. */
  routeHeaders?: Readonly<Record<string, string>> | undefined;
  readonly log: Logger;
}

const SECURITY_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

/** Whatever is taken for a page does nothing; the pages have a policy of their own. */
const NO_PAGE = { 'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'" } as const;

/** The whole gateway as a function from request to answer. It opens no port, so that tests can call it in process. */
export function createGateway(dependencies: Dependencies): Gateway {
  const cors = createCors(dependencies.config.CORS_ORIGINS);
  const { metrics, tracing } = dependencies;
  const limits = createRateLimits(dependencies);
  const clientLimits = createClientLimits({ now: dependencies.now, limit: dependencies.bounds.requestsOfClient });
  const graphql = createGraphQLApi(dependencies, limits);
  const unread = createUnreadAnswers(dependencies.bounds);
  const openapi = createOpenApiFile();
  const site = openSite(dependencies);

  async function answer(passage: Passage): Promise<HttpAnswer> {
    const { request, url, requestId } = passage;
    const preflight = cors?.preflight(request);
    if (preflight) {
      passage.operation = 'preflight';
      return preflight;
    }
    const page = (await answerPage(passage)) ?? (await answerPublicPage(passage));
    if (page) return page;
    if (url.pathname === '/graphql') return answerGraphQL(passage);
    passage.api = 'rest';
    const match = matchRoute(request.method, url.pathname, dependencies.now());
    if (match instanceof DomainError) return refuseAddress(passage, match);
    passage.operation = match.route.operationId;
    passage.routeHeaders = match.route.headers;
    const caller = await admitCaller(passage);
    return traced(tracing, { name: passage.operation, kind: 'internal' }, () =>
      answerRest(request, url, match, caller, requestId, dependencies),
    );
  }

  /** Who calls, and that they may call now: 401, then 429, then an address that serves nothing, all before the body is read. */
  function admitCaller(passage: Passage, badAddress?: DomainError): Promise<Admitted> {
    return admit(passage.request, dependencies, async (keyId) => {
      passage.keyId = keyId;
      passage.limitHeaders = await limits?.countRequest(keyId);
      if (badAddress) throw badAddress;
    });
  }

  /**
   * Which addresses of the APIs exist is answered only to callers with a key. Everybody else gets 401, but for removed APIs, for OPTIONS, which
   * browsers send without a key, and for people at a page.
   */
  async function refuseAddress(passage: Passage, error: DomainError): Promise<never> {
    const { request } = passage;
    if (error.kind !== 'gone' && request.method !== 'OPTIONS' && !wantsHtml(request)) await admitCaller(passage, error);
    throw error;
  }

  async function answerGraphQL(passage: Passage): Promise<HttpAnswer> {
    const { request, requestId } = passage;
    passage.api = 'graphql';
    passage.operation = 'graphql';
    if (request.method !== 'GET' && request.method !== 'POST')
      return refuseAddress(
        passage,
        new DomainError('methodNotAllowed', 'GraphQL takes GET and POST', { headers: { Allow: 'GET, POST' } }),
      );
    const { whenRead } = await admitCaller(passage);
    const openOperation = async () => operationContext(dependencies, await whenRead(), requestId, request);
    return graphql(request, openOperation, { requestId, logs: passage });
  }

  async function answerPage(passage: Passage): Promise<HttpAnswer | undefined> {
    const { request, url } = passage;
    const plain = pages[url.pathname];
    const page: SitePage | undefined = plain
      ? { operation: url.pathname.slice(1), methods: { GET: plain } }
      : site.find(request, url);
    if (!page) return undefined;
    passage.operation = page.operation;
    const method = METHODS_OF_PAGES.find((name) => name === (request.method === 'HEAD' ? 'GET' : request.method));
    const chosen = method && page.methods[method];
    if (!chosen)
      throw methodNotAllowed(
        request.method,
        METHODS_OF_PAGES.filter((name) => page.methods[name]),
      );
    return chosen(request, url);
  }

  async function answerPublicPage(passage: Passage): Promise<HttpAnswer | undefined> {
    const { request, url, requestId } = passage;
    const page = publicPages.find(({ path }) => path === url.pathname);
    if (!page) return undefined;
    passage.operation = page.operationId;
    // What opens such a page to look at it, without reading it, must not use up what it stands for: HEAD runs nothing.
    if (request.method === 'HEAD') return answerWith(null);
    const excess = clientLimits.count(page.operationId, passage.clientAddress);
    if (excess) throw excess;
    const context = publicContext(dependencies, requestId, request);
    if (request.method === 'GET') return page.answer(context, url.searchParams);
    if (request.method !== 'POST' || !page.submit)
      throw methodNotAllowed(request.method, page.submit ? ['GET', 'POST'] : ['GET']);
    return page.submit(context, await readForm(request));
  }

  const pages: Readonly<Record<string, (request: HttpRequest) => Promise<HttpAnswer>>> = {
    '/openapi.json': (request) => openapi(publicUrlOf(dependencies)).answer(request),
    '/health/live': async () => live(),
    '/health/ready': () => ready(dependencies),
    [METRICS]: (request) =>
      metricsPage(request, { registry: metrics.registry, token: dependencies.config.METRICS_TOKEN }),
  };

  const addressOf = ({ peerAddress, headers }: HttpRequest) =>
    peerAddress && clientAddressOf(peerAddress, headers.get('x-forwarded-for'), dependencies.config.TRUSTED_PROXIES);

  async function answerOrRefuse(passage: Passage): Promise<HttpAnswer> {
    try {
      const told = await answer(passage);
      return { ...told, onClose: unread.hold(passage.keyId, bytesOf(told.body)) };
    } catch (error) {
      return answerError(toDomainError(error, passage.log), passage);
    }
  }

  /** A client whose credentials were refused too often gets 429 in place of the next 401. Metrics are never refused for being asked often. */
  function refusedWithinLimits(told: HttpAnswer, passage: Passage): HttpAnswer {
    if (told.status !== 401 || passage.url.pathname === METRICS) return told;
    const excess = clientLimits.count('unauthenticated', passage.clientAddress);
    return excess ? answerError(excess, passage) : told;
  }

  async function handle(request: HttpRequest, span?: Span): Promise<HttpAnswer> {
    const started = performance.now();
    const requestId = requestIdOf(request.headers);
    let log: Logger | undefined;
    const passage: Passage = {
      request,
      url: new URL(request.url),
      requestId,
      get clientAddress() {
        return addressOf(request);
      },
      api: 'page',
      operation: 'unknown',
      // Few requests write more than their one line.
      get log() {
        return (log ??= dependencies.log.child({ requestId, traceId: span?.traceId }));
      },
    };
    const told = refusedWithinLimits(await answerOrRefuse(passage), passage);
    const { onClose } = told;
    const seconds = (performance.now() - started) / 1000;
    const { api, operation, keyId } = passage;
    const { status } = told;
    metrics.requests.inc({ api, operation, status });
    metrics.duration.observe({ api, operation }, seconds);
    span?.rename(`${request.method} ${operation}`);
    span?.set({ 'http.response.status_code': status, 'gateway.request_id': requestId });
    if (status >= 500) span?.fail(String(status));
    // Probes and files come often, and say nothing while they go well.
    const isQuiet = status < 400 && (QUIET.has(passage.url.pathname) || operation === 'asset');
    dependencies.log[isQuiet ? 'debug' : 'info'](
      {
        requestId,
        traceId: span?.traceId,
        method: request.method,
        path: passage.url.pathname,
        api,
        operation,
        status,
        ms: Math.round(seconds * 1e6) / 1000,
        keyId,
        ...(isRefusedClient(passage, status) && { clientAddress: passage.clientAddress }),
      },
      'request',
    );
    const headers = {
      ...NO_PAGE,
      ...told.headers,
      ...cors?.headersFor(request),
      'X-Request-Id': requestId,
      ...SECURITY_HEADERS,
      ...passage.routeHeaders,
      ...passage.limitHeaders,
    };
    if (request.method === 'HEAD') {
      discard(told.body);
      onClose?.();
      return { status, headers, body: null };
    }
    return whileOpen({ status, headers, body: told.body, onClose }, (by) => metrics.tails.inc({ api }, by));
  }

  if (!tracing) return (request) => handle(request);
  return (request) => {
    const attributes = { 'http.request.method': request.method };
    return tracing.span({ name: request.method, kind: 'server', attributes, parent: request.headers }, (span) =>
      handle(request, span),
    );
  };
}

const METRICS = '/metrics';

const QUIET: ReadonlySet<string> = new Set(['/health/live', '/health/ready', METRICS, '/favicon.ico']);

const METHODS_OF_PAGES = ['GET', 'POST'] as const;

/** An error in the form of who asks: a GraphQL client, a person at a page, or a REST client. */
function answerError(
  failure: DomainError,
  { request, url: { pathname }, api, operation, requestId }: Passage,
): HttpAnswer {
  if (pathname === '/graphql') return answerGraphQLError(failure, requestId);
  const isPage = api === 'page' || operation === 'unknown';
  return isPage && wantsHtml(request) ? errorPage(failure, requestId) : answerRestError(failure, pathname, requestId);
}

/**
 * The bytes that an answer holds until it is read. Bytes are those of the pages, which all their readers share.
 * @throws DomainError `ANSWER_TOO_LARGE`
 */
function bytesOf(body: HttpAnswer['body']): number {
  return typeof body === 'string' ? answerBytes(body) : 0;
}

/** What is not sent is not made: a stream ends what it has begun. */
function discard(body: HttpAnswer['body']): void {
  if (body instanceof ReadableStream) void body.cancel();
}

/** Whose address is logged: that of a caller whose key was used up is known by the key. */
function isRefusedClient({ keyId }: Passage, status: number): boolean {
  return status === 401 || (status === 429 && keyId === undefined);
}

/** A caller's own request id is kept when it is sane: it goes into logs and headers as it stands. */
function requestIdOf(headers: HttpHeaders): string {
  const given = headers.get('x-request-id');
  return given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID();
}
