import { lookup } from 'node:dns/promises';
import { type LookupFunction, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Dispatcher, fetch as undiciFetch } from 'undici';
import { causesOf } from '../errors.ts';
import { createAgent } from './agent.ts';
import { type Budget, boundBody } from './bounded-body.ts';
import { failureOf } from './failure-messages.ts';
import { type StreamRequest, type StreamedAnswer, openStream } from './streamed-answer.ts';

/** Ports of other protocols, which HTTP requests must not use (Fetch Standard, section 2.9). */
const BLOCKED_PORTS: ReadonlySet<string> = new Set(
  [
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
    111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
    540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
    6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
  ].map(String),
);

/**
 * Every request to a URL from outside goes through here. Only http(s) without user information is allowed. The name is
 * resolved once, all its addresses must be public, and the connection uses one of these addresses, so later DNS answers
 * have no effect. At most 3 redirects are followed, each checked like the first; credentials are sent only to the
 * original origin. Time and size are bounded.
 */

/** With `redirect: 'manual'` an answer that redirects is returned. */
export type OutboundFetch = (url: string | URL, init?: RequestInit, bounds?: AnswerBounds) => Promise<Response>;

export interface AnswerBounds {
  /** Of this answer, after decompression, instead of the usual maximum. */
  readonly maxBytes?: number | undefined;
}

/** Resolves names to addresses; tests replace DNS. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export interface OutboundOptions {
  /** Allows loopback and private networks; only for development and tests. */
  readonly allowPrivateNetwork: boolean;
  readonly resolve?: Resolve;
  /** Creates the signal that aborts after a time; tests replace the clock. */
  readonly deadlineAfter?: (timeoutMs: number) => AbortSignal;
  /** Until the connection is established, including TLS. */
  readonly connectTimeoutMs?: number;
  /** For all requests of one unit of work together, including their bodies. */
  readonly totalTimeoutMs?: number;
  /** Of one answer, after decompression. */
  readonly maxBytes?: number;
  /** Called with every request, including redirects, and its result. */
  readonly observe?: ObserveExchange;
}

export type ObserveExchange = <Answer extends { readonly status: number }>(
  request: { readonly method: string; readonly host: string },
  /** Sends the request, with these headers beside its own. */
  run: (headers: Readonly<Record<string, string>>) => Promise<Answer>,
) => Promise<Answer>;

/** One unit of work: requests with a common deadline. */
export interface OutboundWork {
  /** @throws OutboundError, also while the body is read. */
  readonly fetch: OutboundFetch;
  /** Aborts at the deadline. */
  readonly signal: AbortSignal;
  /** A part of the work that has an earlier deadline. */
  within(timeoutMs: number): OutboundWork;
}

export interface Outbound {
  /** The maximum total time of the requests of one unit of work. */
  readonly totalTimeoutMs: number;
  readonly allowsPrivateNetwork: boolean;
  /** Starts a unit of work; its deadline is `totalTimeoutMs` unless a shorter one is given. */
  begin(timeoutMs?: number): OutboundWork;
  /**
   * Sends a request whose answer is read as it arrives, without the bounds of a unit of work. Redirects are followed only within the origin.
   * @throws OutboundError, or the reason of the signal.
   */
  stream(url: string, request: StreamRequest): Promise<StreamedAnswer>;
  /** Checks a URL that somebody else will open, like a request. @throws OutboundError if a request to it would be refused. */
  check(url: string | URL): Promise<URL>;
  /** Checks a URL without asking DNS, for requests that are sent later. @throws OutboundError if every request to it would be refused. */
  checkUrl(url: string): void;
  close(): Promise<void>;
}

/**
 * A request that was refused, failed or aborted. The message names the host and the cause and is safe to show. It is a
 * TypeError, like network failures of `fetch`: libraries that recover from other errors do not catch it.
 */
export class OutboundError extends TypeError {
  override readonly name = 'OutboundError';
  /** Whether a retry may succeed: false for requests that our rules refuse. */
  readonly isTemporary: boolean;

  constructor(message: string, { isTemporary = true, cause }: { isTemporary?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.isTemporary = isTemporary;
  }
}

/** An answer that has more bytes than the request allows. */
export class LargeAnswerError extends OutboundError {}

interface Limits {
  readonly deadline: AbortSignal;
  readonly budget: Budget;
  readonly maxBytes: number;
}

const MAX_REDIRECTS = 3;
/** The answers of one unit of work together may have this many times the size of one. */
const MAX_ANSWERS = 9;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Headers that may be sent to another origin after a redirect: none that could be a secret. */
const HEADERS_FOR_OTHERS = new Set(['accept', 'accept-language', 'mcp-protocol-version', 'user-agent']);

export const createOutbound = (options: OutboundOptions): Outbound => new CheckedOutbound(options);

class CheckedOutbound implements Outbound {
  readonly totalTimeoutMs: number;
  readonly allowsPrivateNetwork: boolean;
  readonly #resolve: Resolve;
  readonly #deadlineAfter: (timeoutMs: number) => AbortSignal;
  readonly #maxBytes: number;
  readonly #observe: ObserveExchange;
  readonly #agent: Dispatcher;

  constructor({
    allowPrivateNetwork,
    resolve = resolveByDns,
    deadlineAfter = (timeoutMs) => AbortSignal.timeout(timeoutMs),
    connectTimeoutMs = 10_000,
    totalTimeoutMs = 30_000,
    maxBytes = 1024 * 1024,
    observe = (_, run) => run({}),
  }: OutboundOptions) {
    this.totalTimeoutMs = totalTimeoutMs;
    this.allowsPrivateNetwork = allowPrivateNetwork;
    this.#resolve = resolve;
    this.#deadlineAfter = deadlineAfter;
    this.#maxBytes = maxBytes;
    this.#observe = observe;
    this.#agent = createAgent({ lookup: this.#pinnedLookup, timeout: connectTimeoutMs });
  }

  begin(timeoutMs = this.totalTimeoutMs): OutboundWork {
    const signal = this.#deadlineAfter(Math.min(timeoutMs, this.totalTimeoutMs));
    return this.#workUntil(signal, { left: this.#maxBytes * MAX_ANSWERS });
  }

  #workUntil(signal: AbortSignal, budget: Budget): OutboundWork {
    return {
      signal,
      within: (timeoutMs) => this.#workUntil(AbortSignal.any([signal, this.#deadlineAfter(timeoutMs)]), budget),
      fetch: (url, init = {}, { maxBytes = this.#maxBytes } = {}) => {
        const { host } = URL.canParse(String(url)) ? new URL(url) : { host: '' };
        const limits = { deadline: signal, budget, maxBytes };
        return this.#observe({ method: init.method ?? 'GET', host }, (more) => {
          const headers = new Headers(init.headers);
          for (const [name, value] of Object.entries(more)) headers.set(name, value);
          return this.#follow(url, { ...init, headers }, limits);
        });
      },
    };
  }

  stream(given: string, request: StreamRequest): Promise<StreamedAnswer> {
    const { host } = URL.canParse(given) ? new URL(given) : { host: '' };
    return this.#observe({ method: request.method, host }, (more) =>
      this.#stream(given, { ...request, headers: { ...request.headers, ...more } }),
    );
  }

  async #stream(given: string, request: StreamRequest): Promise<StreamedAnswer> {
    let url = checkUrl(given, this.allowsPrivateNetwork);
    if (BLOCKED_PORTS.has(url.port)) throw blockedPort(url.host);
    for (let redirects = 0; ; redirects += 1) {
      const answer = await this.#open(url, request);
      const location = REDIRECTS.has(answer.status) ? answer.header('location') : null;
      if (location === null) return answer;
      answer.discard();
      if (redirects === MAX_REDIRECTS) throw tooManyRedirects(url);
      const target = checkUrl(URL.canParse(location, url.href) ? new URL(location, url) : location, true);
      requireSameOrigin(request.method, url, target, answer.status);
      url = target;
    }
  }

  #open(url: URL, { method, headers, body, signal }: StreamRequest): Promise<StreamedAnswer> {
    const options = {
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: { ...headers },
      body: body ?? null,
      // The caller has its own bounds, which the signal enforces.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    const explain = (error: unknown): unknown => (signal.aborted ? signal.reason : toOutboundError(error, url));
    return openStream(this.#agent, options, { signal, explain });
  }

  async check(given: string | URL): Promise<URL> {
    const url = checkUrl(given, this.allowsPrivateNetwork);
    if (!literalOf(url.hostname)) {
      await this.#resolveAllowed(url.hostname).catch((error: unknown) => {
        throw toOutboundError(error, url);
      });
    }
    return url;
  }

  checkUrl(given: string): void {
    const url = checkUrl(given, this.allowsPrivateNetwork);
    if (BLOCKED_PORTS.has(url.port)) throw blockedPort(url.host);
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #follow(given: string | URL, init: RequestInit, limits: Limits): Promise<Response> {
    let url = checkUrl(given, this.allowsPrivateNetwork);
    let request = init;
    for (let redirects = 0; ; redirects += 1) {
      const response = await this.#send(url, request, limits);
      const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
      if (location === null || init.redirect === 'manual') return response;
      await response.body?.cancel();
      if (redirects === MAX_REDIRECTS) throw tooManyRedirects(url);
      const next = URL.canParse(location, url.href) ? new URL(location, url) : location;
      const target = checkUrl(next, this.allowsPrivateNetwork);
      request = redirected(request, url, target, response.status);
      url = target;
    }
  }

  async #send(url: URL, init: RequestInit, { deadline, budget, maxBytes }: Limits): Promise<Response> {
    const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
    const explain = (error: unknown) => (init.signal?.aborted ? error : toOutboundError(error, url, deadline));
    try {
      // Node's fetch refuses an Agent of another undici; only their types differ.
      const request = { ...init, signal, redirect: 'manual', dispatcher: this.#agent } as unknown as Parameters<
        typeof undiciFetch
      >[1];
      const response = await undiciFetch(url.href, request);
      const tooLarge = () => new LargeAnswerError(`${url.host} answers with more than ${maxBytes} bytes`);
      return boundBody(response as unknown as Response, { maxBytes, budget, tooLarge, explain });
    } catch (error) {
      throw explain(error);
    }
  }

  readonly #pinnedLookup: LookupFunction = (hostname, _, callback) => {
    this.#resolveAllowed(hostname).then(
      (addresses) => callback(null, addresses),
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };

  async #resolveAllowed(hostname: string): Promise<{ address: string; family: number }[]> {
    const addresses = await (this.allowsPrivateNetwork ? this.#resolve(hostname) : this.#resolvePublic(hostname));
    if (addresses.length === 0) throw new OutboundError(`${hostname} has no address`);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  }

  /** All failures have the same message, because the caller must not learn which names exist in a private network. */
  async #resolvePublic(hostname: string): Promise<readonly string[]> {
    const addresses = await this.#resolve(hostname).catch((cause: unknown) => {
      throw noPublicAddress(hostname, cause);
    });
    // One private address refuses the name, because the connection might use any of its addresses.
    if (addresses.length === 0 || !addresses.every(isPublicAddress)) throw noPublicAddress(hostname);
    return addresses;
  }
}

const resolveByDns = async (hostname: string): Promise<string[]> =>
  (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address);

/** Checks that need only the URL. Parsing has already normalized decimal, octal, hexadecimal and full-width addresses. */
function checkUrl(given: string | URL, allowPrivateNetwork: boolean): URL {
  if (!URL.canParse(String(given))) throw new OutboundError('not a valid URL', { isTemporary: false });
  const url = new URL(given);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new OutboundError('only http and https URLs are allowed', { isTemporary: false });
  if (url.username !== '' || url.password !== '')
    throw new OutboundError(`the URL of ${url.host} must not contain user information`, { isTemporary: false });
  if (allowPrivateNetwork) return url;
  const address = literalOf(url.hostname);
  const name = url.hostname.replace(/\.+$/, '');
  if (address ? !isPublicAddress(address) : name === 'localhost' || name.endsWith('.localhost'))
    throw refused(url.hostname);
  return url;
}

function literalOf(hostname: string): string | undefined {
  const bare = hostname.replaceAll(/[[\]]/g, '');
  return isIP(bare) ? bare : undefined;
}

const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

/**
 * Addresses in public space that clouds use for their platform services, and that only their machines can reach:
 * the virtual public address of Azure (https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16).
 * Those of other clouds are link-local, shared, or reserved.
 */
const OF_CLOUDS: ReadonlySet<string> = new Set(['168.63.129.16']);

/**
 * Whether an address is public. Everything in the IANA special-purpose registries is not: private, loopback, link-local, shared, multicast,
 * reserved, documentation, and IPv6 ranges that embed an IPv4 address (mapped, NAT64, 6to4, Teredo).
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  return (
    !OF_CLOUDS.has(parsed.toString()) &&
    parsed.range() === 'unicast' &&
    (parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST))
  );
}

const ONLY_PUBLIC =
  '; this gateway reaches public addresses only (for development its operator sets ALLOW_PRIVATE_NETWORK=true)';

const refused = (hostname: string): OutboundError =>
  new OutboundError(`${hostname} is not a public address${ONLY_PUBLIC}`, { isTemporary: false });

const noPublicAddress = (hostname: string, cause?: unknown): OutboundError =>
  new OutboundError(`the name ${hostname} cannot be resolved, or has an address that is not public`, {
    cause,
  });

/**
 * The request after a redirect (RFC 9110, section 15.4). One with a body, which may contain credentials, must stay
 * within its origin and keeps its method. Others lose possible credentials when they leave their origin.
 */
function redirected(init: RequestInit, from: URL, to: URL, status: number): RequestInit {
  const method = (init.method ?? 'GET').toUpperCase();
  if (method !== 'GET' && method !== 'HEAD') requireSameOrigin(method, from, to, status);
  if (from.origin === to.origin) return init;
  const headers = new Headers([...new Headers(init.headers)].filter(([name]) => HEADERS_FOR_OTHERS.has(name)));
  return { ...init, headers };
}

/** @throws OutboundError for a redirect that would send a body or credentials to another origin, or change the method. */
function requireSameOrigin(method: string, from: URL, to: URL, status: number): void {
  if (from.origin === to.origin && (method === 'GET' || status === 307 || status === 308)) return;
  throw new OutboundError(
    `${from.host} redirects a ${method} request to ${to.origin}${to.pathname}, which is not followed; enter that address if it is intended`,
    { isTemporary: false },
  );
}

function blockedPort(host: string, cause?: unknown): OutboundError {
  const message = `the port of ${host} belongs to another protocol, and is never requested (Fetch Standard, section 2.9)`;
  return new OutboundError(message, { isTemporary: false, cause });
}

const tooManyRedirects = ({ host }: URL): OutboundError =>
  new OutboundError(`${host} redirects more than ${MAX_REDIRECTS} times`);

/** Describes the failure without any text from the peer. */
function toOutboundError(error: unknown, { host }: URL, deadline?: AbortSignal): OutboundError {
  const known = causesOf(error).find((cause) => cause instanceof OutboundError);
  if (known) return known;
  if (deadline?.aborted) return new OutboundError(`${host} did not answer in time`, { cause: error });
  if (causesOf(error).some(({ message }) => message === 'bad port')) return blockedPort(host, error);
  return new OutboundError(failureOf(error, host), { cause: error });
}
