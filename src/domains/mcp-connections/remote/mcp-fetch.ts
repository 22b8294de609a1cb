import { RemoteFailedError } from '../../../core/errors.ts';
import { isObject } from '../../../core/is-object.ts';
import { boundedJson, emptyAnswer, parsedJson, withBody } from '../../../core/outbound/changed-answers.ts';
import { OutboundError, type OutboundFetch, type OutboundWork } from '../../../core/outbound/outbound.ts';
import { describedError, mediaTypeOf, sayError, shown, statusOf } from './answers.ts';
import { readChallenge } from './challenges.ts';
import { AuthorizationNeeded, MisconfiguredError, RefusedError, hideSecrets } from './errors.ts';
import { changedEvents } from './event-stream.ts';
import { type AnsweredRequest, INTERNAL_ERROR, changeMessage, unknownRevisionIn } from './tolerance.ts';

/** The version probe, which servers that speak only `initialize` answer in many ways. */
const PROBE = 'server/discover';
export const PROBE_MS = 3_000;
/** Of an answer with tools, and of all tools of a server together. */
export const MAX_TOOLS_BYTES = 4 * 1024 * 1024;

/**
 * The `fetch` of the official client package for requests to an MCP server. It changes answers that the package would refuse without need,
 * and turns answers that end the attempt into errors that can be shown.
 */
export class McpExchange {
  readonly #work: OutboundWork;
  readonly #probe: OutboundWork;
  readonly #secrets: readonly (string | undefined)[];
  /** Whether only the version probe was sent so far. */
  isProbing = true;
  /** The last answer with an error of HTTP, and its body. */
  refusal: RefusedError | undefined;
  refusalText: string | undefined;
  /** A failure that the package would report in other words. */
  failure: RemoteFailedError | undefined;

  /** @param secrets The credentials of the connection. */
  constructor(work: OutboundWork, secrets: readonly (string | undefined)[]) {
    this.#work = work;
    this.#secrets = secrets;
    this.#probe = work.within(PROBE_MS);
  }

  /** Aborts when the probe has taken too long. */
  get probeSignal(): AbortSignal {
    return this.#probe.signal;
  }

  readonly fetch: OutboundFetch = async (url, init = {}) => {
    const request = requestIn(init.body);
    const isProbe = request?.method === PROBE;
    if (init.method === 'POST' && !isProbe) this.isProbing = false;
    const maxBytes = request?.method === 'tools/list' ? MAX_TOOLS_BYTES : undefined;
    const response = await (isProbe ? this.#probe : this.#work).fetch(url, init, { maxBytes });
    const { host } = new URL(url);
    if (init.method !== 'POST')
      return mediaTypeOf(response) === 'text/event-stream' ? this.#changedStream(response, host) : response;
    // Nothing depends on the answer to a notification, and some servers do not know those of the protocol.
    if (!response.ok && response.status !== 401 && request?.method.startsWith('notifications/') === true) {
      await response.body?.cancel();
      return emptyAnswer(202);
    }
    if (!response.ok) return this.#refused(response, String(url), isProbe);
    if (!isWithId(request) || response.status === 202) return response;
    return mediaTypeOf(response) === 'text/event-stream'
      ? this.#changedStream(response, host, request)
      : this.#changedJson(response, host, request);
  };

  /** @param request What the stream answers; undefined for one that the server may use at any time. */
  #changedStream(response: Response, host: string, request?: RequestWithId): Response {
    if (!response.body) return response;
    const events = changedEvents(response.body, {
      parse: (text) => boundedJson(host, text),
      change: (message) => (request ? this.#change(message, request) : message),
      isLast: (message) =>
        request !== undefined && isObject(message) && message['id'] === request.id && !('method' in message),
      failed: (error, canResume) => (request && !canResume ? this.#failedResponse(request, error) : undefined),
    });
    return withBody(response, events, 'text/event-stream');
  }

  /** Without it, the package would wait for the response until the time limit. */
  #failedResponse({ id }: RequestWithId, error: unknown): object {
    const { message } = error instanceof OutboundError ? error : { message: 'its answer broke off' };
    this.failure = new RemoteFailedError(`the MCP server failed: ${message}`, error);
    return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } };
  }

  async #refused(response: Response, url: string, isProbe: boolean): Promise<Response> {
    const challenge = readChallenge(response.headers.get('www-authenticate'), url);
    const isStepUp = response.status === 403 && challenge.error === 'insufficient_scope';
    if (response.status === 401 || isStepUp) {
      await response.body?.cancel();
      throw new AuthorizationNeeded(challenge, isStepUp);
    }
    const body = await response.text();
    // An error of JSON-RPC in an answer to the probe tells which revisions the server speaks.
    if (isProbe && response.status === 400 && describedError(body)) return withBody(response, body);
    this.refusal = refusalOf(response, new URL(url), hideSecrets(body, this.#secrets));
    this.refusalText = body;
    throw this.refusal;
  }

  async #changedJson(response: Response, host: string, request: RequestWithId): Promise<Response> {
    const text = await response.text();
    // Some servers send a stream and do not say so.
    if (EVENTS.test(text)) return this.#changedStream(withBody(response, text), host, request);
    const document = boundedJson(host, text);
    // A batch has what a stream has: the response, and messages that are left out or counted.
    if (Array.isArray(document))
      return this.#changedStream(withBody(response, `data: ${JSON.stringify(document)}\n\n`), host, request);
    if (!isObject(document)) throw this.#noJson(response, host);
    if (!MEMBERS.some((name) => name in document)) throw notMcp(host, 'JSON that is no message of JSON-RPC');
    // The only message answers the only request, whatever its id says.
    const body = JSON.stringify(this.#change({ ...document, id: request.id }, request));
    return withBody(response, body, 'application/json');
  }

  #noJson(response: Response, host: string): RemoteFailedError {
    const type = mediaTypeOf(response);
    if (type === 'application/json')
      return new RemoteFailedError(`the MCP server answered with malformed JSON at ${host}`);
    return notMcp(host, `${type ?? 'no media type'} instead of JSON`);
  }

  #change(message: unknown, request: AnsweredRequest): unknown {
    const revision = unknownRevisionIn(message, request);
    if (revision !== undefined)
      this.failure = new RemoteFailedError(
        `the MCP server speaks the revision ${shown(revision)} of the Model Context Protocol, which is not supported; update the server`,
      );
    const changed = changeMessage(message, request);
    return isObject(changed) && isObject(changed['error']) ? this.#withoutSecrets(changed, changed['error']) : changed;
  }

  #withoutSecrets(message: object, error: Readonly<Record<string, unknown>>): object {
    return { ...message, error: { ...error, message: hideSecrets(String(error['message']), this.#secrets) } };
  }
}

/** The beginning of server-sent events. */
const EVENTS = /^\s*(?:event|data|id|retry)?:/;
/** One of them has every message of JSON-RPC. */
const MEMBERS = ['jsonrpc', 'result', 'error'];

const notMcp = (host: string, what: string): MisconfiguredError =>
  new MisconfiguredError(`no MCP server answers there: ${host} answered with ${what}; check the address`);

interface SentRequest {
  readonly id: string | number | undefined;
  readonly method: string;
}
type RequestWithId = SentRequest & AnsweredRequest;

const isWithId = (request: SentRequest | undefined): request is RequestWithId => request?.id !== undefined;

function requestIn(body: unknown): SentRequest | undefined {
  const message = typeof body === 'string' ? parsedJson(body) : undefined;
  if (!isObject(message)) return undefined;
  const { id, method } = message;
  if (typeof method !== 'string') return undefined;
  return { method, id: typeof id === 'string' || typeof id === 'number' ? id : undefined };
}

/** The next step for statuses that have a usual cause. */
const ADVICE: Readonly<Record<number, string>> = {
  403: '; check whether the credentials of the connection may use this server',
  404: '; check the path of the address',
  405: '; the address does not take the POST requests of the transport Streamable HTTP: if it belongs to the older transport HTTP+SSE, which is not supported, look for the other address of the server',
  429: '; it limits the number of requests: try again later',
};

function refusalOf(response: Response, { host, pathname }: URL, body: string): RefusedError {
  const described = describedError(body);
  const { status } = response;
  const details = described ? `: ${sayError(described)}` : '';
  // The usual path of the older transport.
  const advice =
    ADVICE[status === 404 && pathname.endsWith('/sse') ? 405 : status] ??
    (status >= 500 ? '; try again later, or ask the operator of the server' : '');
  return new RefusedError(`the MCP server answered with ${statusOf(response)} at ${host}${details}${advice}`, {
    httpStatus: status,
    errorCode: described?.code,
  });
}
