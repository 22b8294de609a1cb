import { answerTooLarge } from '../core/answer-size.ts';
import { DomainError, STATUS_OF } from '../core/errors.ts';
import { wantsHtml } from '../core/http/html-page.ts';
import { withBasePath } from '../core/http/base-path.ts';
import type { HttpAnswer, HttpRequest } from '../core/http/messages.ts';
import type { Span } from '../core/tracing/tracing.ts';
import { apiKeyTopic } from '../domains/api-keys/public.ts';
import { authenticate } from './admission/authenticate.ts';
import { type ClientLimits, createClientLimits } from './admission/client-limits.ts';
import { createRefusalLog, refusedFields } from './admission/refusals.ts';
import { SocketLimits } from './admission/socket-limits.ts';
import type { Dependencies } from './dependencies.ts';
import { SWITCHING_PROTOCOLS, createDispatch } from './dispatch.ts';
import { Exchange, addressOfClient, pathOf } from './exchange.ts';
import { toDomainError } from './failures.ts';
import { answerGraphQLError } from './graphql/errors.ts';
import { type Admission, type SocketParts, type Sockets, createSockets } from './graphql/websocket.ts';
import { type Cors, createCors } from './http/cors.ts';
import { answerRefusal, isMessage, readRefused } from './mcp/refusal.ts';
import { errorPage } from './pages/error-page.ts';
import { answerRestError } from './rest/handler.ts';
import { challengeOf } from './protected-resources.ts';
import { answerScimError, isScim } from './scim.ts';
import { compact } from './http/send-response.ts';
import { whileOpen } from './telemetry/observe.ts';
import { NO_PAGE_POLICY } from '../core/http/content-security-policy.ts';

export interface Gateway {
  (request: HttpRequest): Promise<HttpAnswer>;
  /** The WebSockets of `/graphql`; undefined if there are none. */
  readonly sockets?: Sockets;
}

const OF_ALL = {
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // Pages set their own policy.
  'Content-Security-Policy': NO_PAGE_POLICY,
  'Referrer-Policy': 'no-referrer',
} as const;

/** Answers of both APIs have data of the caller, which no cache may store. The caller and the form of the answer are in these headers. */
const OF_A_CALLER = {
  ...OF_ALL,
  'Cache-Control': 'private, no-store',
  Vary: 'Accept, Authorization, Cookie, X-Organization-Id',
} as const;

/** The whole gateway as a function from request to answer. It opens no port, so that tests can call it within the process. */
export function createGateway(dependencies: Dependencies): Gateway {
  const cors = createCors(dependencies.config.CORS_ORIGINS);
  const clientLimits = createClientLimits({ now: dependencies.now, limit: dependencies.bounds.requestsOfClient });
  const answerOrRefuse = createAnswers(dependencies, createDispatch(dependencies, { cors, clientLimits }));
  const recordRefusals = createRefusalLog(dependencies);
  const { metrics, tracing } = dependencies;

  async function handle(
    request: HttpRequest,
    span?: Span,
    exchange = new Exchange(request, dependencies, span),
  ): Promise<HttpAnswer> {
    const started = performance.now();
    const answer = limitRefusals(await answerOrRefuse(exchange), exchange, clientLimits);
    const { status, body, bytes, onClose } = answer;
    // A 429 for too many refused credentials is not recorded again.
    if (exchange.refusals && status !== STATUS_OF.rateLimited) await recordRefusals(exchange);
    record(exchange, { status, seconds: (performance.now() - started) / 1000, span }, dependencies);
    const headers = headersOf(answer, exchange, cors);
    if (request.method === 'HEAD') {
      discard(body);
      onClose?.();
      return { status, headers, body: null };
    }
    const counted = isStream(body) && exchange.slot ? exchange.slot.answer.countParts(body) : body;
    return whileOpen({ status, headers, body: counted, bytes, onClose }, (by) =>
      metrics.tails.inc({ api: exchange.api }, by),
    );
  }

  const answer = (request: HttpRequest): Promise<HttpAnswer> => {
    if (!tracing) return handle(request);
    const attributes = { 'http.request.method': request.method };
    return tracing.span({ name: request.method, kind: 'server', attributes, parent: request.headers }, (span) =>
      handle(request, span),
    );
  };
  const admit = async (request: HttpRequest): Promise<Admission> => {
    const exchange = new Exchange(request, dependencies, undefined);
    const { status, body } = await handle(request, undefined, exchange);
    const { keyId } = exchange;
    return status === SWITCHING_PROTOCOLS && keyId !== undefined ? { keyId } : { status, message: messageOf(body) };
  };
  return Object.assign(answer, { sockets: createSockets({ answer, admit, ...socketParts(dependencies) }) });
}

function isStream(body: HttpAnswer['body']): body is AsyncIterable<Uint8Array> {
  return body !== null && typeof body !== 'string' && !(body instanceof Uint8Array);
}

/** Answers a request, or refuses it with what was thrown. */
function createAnswers(
  dependencies: Dependencies,
  dispatch: ReturnType<typeof createDispatch>,
): (exchange: Exchange) => Promise<HttpAnswer> {
  return async (exchange) => {
    try {
      const answer = withBasePath(await dispatch(exchange), exchange.basePath);
      exchange.slot?.end();
      const bytes = bytesOf(answer.body, dependencies.bounds.answerBytes);
      const onClose = exchange.slot?.answer.settle(bytes ?? 0, exchange);
      // Here, so that nothing keeps the text.
      return { ...answer, body: compact(answer.body, bytes ?? 0), bytes, onClose };
    } catch (error) {
      exchange.slot?.end();
      exchange.slot?.answer.release();
      exchange.onRefusal(error, exchange.operation);
      if (isMessage(exchange)) await readRefused(exchange);
      const failure = toDomainError(error, exchange.log);
      const answer = answerError(failure, exchange);
      const challenge = challengeOf(failure, exchange, dependencies);
      return challenge === undefined
        ? answer
        : { ...answer, headers: { ...answer.headers, 'WWW-Authenticate': challenge } };
    }
  };
}

function socketParts(dependencies: Dependencies): Omit<SocketParts, 'answer' | 'admit'> {
  const { notifier, bounds, config, metrics, timing } = dependencies;
  const limits = new SocketLimits(bounds);
  return {
    isAt: (target) => isPath(target) && pathOf({ url: `http://gateway${target}` }, config) === '/graphql',
    take: (upgrade) => limits.take(addressOfClient(upgrade, config)),
    isAdmitted: (headers) =>
      authenticate({ headers, path: '/graphql' }, dependencies).then(
        () => true,
        (error: unknown) => !(error instanceof DomainError) || error.status >= 500,
      ),
    onKeyChange: (keyId, listener) => notifier.subscribe(apiKeyTopic(keyId), listener),
    maxOperationsOfSocket: bounds.operationsOfSocket,
    maxSocketsOfKey: bounds.socketsOfKey,
    initTimeoutMs: timing.socketInitMs,
    onCount: (by) => metrics.sockets.inc(by),
  };
}

function isPath(target: string): boolean {
  return target.startsWith('/') && URL.canParse(`http://gateway${target}`);
}

/** The message of a refusal in the format of GraphQL. */
function messageOf(body: HttpAnswer['body']): string {
  const { errors = [] } = JSON.parse(typeof body === 'string' ? body : '{}') as {
    readonly errors?: readonly { readonly message: string }[];
  };
  return errors.map(({ message }) => message).join('; ');
}

/** One object for each answer, because most of its headers are always the same. */
function headersOf(answer: HttpAnswer, exchange: Exchange, cors: Cors | undefined): HttpAnswer['headers'] {
  const { api, requestId, routeHeaders, limitHeaders } = exchange;
  const headers: Record<string, string> = {
    ...(api === 'page' ? OF_ALL : OF_A_CALLER),
    ...answer.headers,
    'X-Request-Id': requestId,
  };
  if (cors) {
    const { Vary: origin = '', ...corsHeaders } = cors.headersFor(exchange.request);
    Object.assign(headers, corsHeaders, { Vary: [headers['Vary'], origin].filter(Boolean).join(', ') });
  }
  return routeHeaders || limitHeaders ? Object.assign(headers, routeHeaders, limitHeaders) : headers;
}

interface End {
  readonly status: number;
  readonly seconds: number;
  readonly span: Span | undefined;
}

/** A client whose credentials were refused too often gets 429 instead of 401. `/metrics` is exempt. */
function limitRefusals(answer: HttpAnswer, exchange: Exchange, clientLimits: ClientLimits): HttpAnswer {
  if (answer.status !== 401 || exchange.path === METRICS) return answer;
  const excess = clientLimits.count('unauthenticated', exchange.clientAddress);
  return excess ? answerError(excess, exchange) : answer;
}

/** Counts a request, and writes its line in the log. */
function record(
  exchange: Exchange,
  { status, seconds, span }: End,
  { metrics, log }: Pick<Dependencies, 'metrics' | 'log'>,
): void {
  const { request, path, requestId, api, operation, keyId } = exchange;
  metrics.requests.inc({ api, operation, status });
  metrics.duration.observe({ api, operation }, seconds);
  span?.rename(`${request.method} ${operation}`);
  span?.set({ 'http.response.status_code': status, 'gateway.request_id': requestId });
  if (status >= 500) span?.fail(String(status));
  // Successful probes and files are frequent, so they are logged at debug level.
  const isQuiet = status < 400 && (QUIET.has(path) || operation === 'asset');
  log[isQuiet ? 'debug' : 'info'](
    {
      requestId,
      traceId: span?.traceId,
      method: request.method,
      path,
      api,
      operation,
      status,
      ms: Math.round(seconds * 1e6) / 1000,
      keyId,
      ...refusedFields(exchange),
      // A 429 with a known key needs no client address.
      ...((status === 401 || (status === 429 && keyId === undefined)) && { clientAddress: exchange.clientAddress }),
    },
    'request',
  );
}

const METRICS = '/metrics';

const QUIET: ReadonlySet<string> = new Set(['/health/live', '/health/ready', METRICS, '/favicon.ico']);

/** Answers an error in the format of the client: GraphQL, HTML, MCP, or REST. */
function answerError(failure: DomainError, exchange: Exchange): HttpAnswer {
  const { request, path, api, operation, requestId } = exchange;
  if (path === '/graphql') return answerGraphQLError(failure, requestId);
  if (isScim(path)) return answerScimError(failure);
  const isPage = api === 'page' || operation === 'unknown';
  if (isPage && wantsHtml(request)) return withBasePath(errorPage(failure, requestId), exchange.basePath);
  return isMessage(exchange) ? answerRefusal(failure, exchange) : answerRestError(failure, path, requestId);
}

/**
 * The memory that an answer uses until the client has read it. Byte arrays are files of pages, which all answers share, so their size is undefined.
 * @throws DomainError `ANSWER_TOO_LARGE`
 */
function bytesOf(body: HttpAnswer['body'], maxBytes: number): number | undefined {
  if (typeof body !== 'string') return undefined;
  const bytes = Buffer.byteLength(body);
  if (bytes > maxBytes) throw answerTooLarge(maxBytes);
  return bytes;
}

/** Discards a body that is not sent, so that a stream can release its resources. */
function discard(body: HttpAnswer['body']): void {
  if (body instanceof ReadableStream) void body.cancel();
}
