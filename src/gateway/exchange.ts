import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../core/config.ts';
import { basePathOf, withoutBasePath } from '../core/http/base-path.ts';
import { withoutMcpSlash } from '../core/http/mcp-addresses.ts';
import { clientAddressOf } from '../core/http/client-address.ts';
import type { AuditClient, RequestIdOrigin } from '../core/audit.ts';
import type { HttpAnswer, HttpHeaders, HttpRequest } from '../core/http/messages.ts';
import type { ApiKeyId, UserId } from '../core/ids.ts';
import type { Actor } from '../core/access.ts';
import type { OperationContext } from '../core/operation.ts';
import type { RequestSlot } from '../core/request-slot.ts';
import type { Span } from '../core/tracing/tracing.ts';
import { type Refusals, noteRefusal } from './admission/refusals.ts';

/** One request and the data about it that handlers collect for the log line, the metrics and the response headers. */
export class Exchange {
  readonly request: HttpRequest;
  /** The path that handlers know, without {@link basePath}. */
  readonly path: string;
  readonly basePath: string;
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin;
  /** For the audit log. It is read when an entry needs it. */
  readonly client: AuditClient = this;
  api: 'graphql' | 'rest' | 'page' = 'page';
  operation = 'unknown';
  /** Whether something may have been changed, so that the request must not be answered with an error. */
  isWrite = false;
  /** The organization that the query names instead of a header. */
  organizationId?: string | undefined;
  keyId?: ApiKeyId;
  /** The user of the key. */
  userId?: UserId;
  /** The caller; undefined until authentication has succeeded. */
  actor?: Actor;
  /** The slot that it is worked on in; undefined for what nobody waits for, and until the caller is known. */
  slot?: RequestSlot;
  /** Refused operations, for the audit log; undefined while there are none. */
  refusals: Refusals | undefined;
  /** The body, if it is a message of an MCP client and has been read. */
  message?: Uint8Array | undefined;
  /** Response headers about the rate limit of the key. */
  limitHeaders?: Readonly<Record<string, string>>;
  /** Response headers of the route, such as `Deprecation`. */
  routeHeaders?: Readonly<Record<string, string>> | undefined;
  readonly #parts: ExchangeParts;
  readonly #traceId: string | undefined;
  #log: Logger | undefined;
  #url: URL | undefined;

  constructor(request: HttpRequest, parts: ExchangeParts, span: Span | undefined) {
    const given = requestIdOf(request.headers);
    this.request = request;
    this.basePath = basePathOf(parts.config.PUBLIC_URL);
    this.path = pathWithin(pathIn(request.url), this.basePath);
    this.requestId = given ?? randomUUID();
    this.requestIdOrigin = given === undefined ? 'gateway' : 'client';
    this.#parts = parts;
    this.#traceId = span?.traceId;
  }

  /** With the path that handlers know. Created lazily, because most requests need only that. */
  get url(): URL {
    if (!this.#url) {
      this.#url = new URL(this.request.url);
      if (this.path !== this.#url.pathname) this.#url.pathname = this.path;
    }
    return this.#url;
  }

  /** Records a refused operation. */
  readonly onRefusal = (error: unknown, operation: string): void => {
    this.refusals = noteRefusal(this.refusals, error, operation);
  };

  /** Undefined for calls within the process. */
  get clientAddress(): string | undefined {
    return addressOfClient(this.request, this.#parts.config);
  }

  get userAgent(): string | undefined {
    return this.request.headers.get('user-agent') ?? undefined;
  }

  /** Created lazily, because few requests log more than one line. */
  get log(): Logger {
    return (this.#log ??= this.#parts.log.child({ requestId: this.requestId, traceId: this.#traceId }));
  }
}

/** The path that handlers know. GraphQL and MCP have addresses that some clients write with a slash at the end. */
function pathWithin(path: string, basePath: string): string {
  const within = withoutBasePath(path, basePath);
  return within === '/graphql/' ? '/graphql' : withoutMcpSlash(within);
}

/** The path of a request, as an exchange has it. */
export const pathOf = ({ url }: Pick<HttpRequest, 'url'>, config: Pick<Config, 'PUBLIC_URL'>): string =>
  pathWithin(pathIn(url), basePathOf(config.PUBLIC_URL));

/** A path that a URL leaves as it is, so that none is created. */
const PLAIN_PATH = /^https?:\/\/[^/?#]+(\/[\w/-]*)(?:\?|$)/;

const pathIn = (url: string): string => PLAIN_PATH.exec(url)?.[1] ?? new URL(url).pathname;

/** The address of the client that has sent a request, or has opened a WebSocket; undefined for calls within the process. */
export const addressOfClient = (
  { peerAddress, headers }: Pick<HttpRequest, 'peerAddress' | 'headers'>,
  { TRUSTED_PROXIES: trusted }: Pick<Config, 'TRUSTED_PROXIES'>,
): string | undefined => peerAddress && clientAddressOf(peerAddress, headers.get('x-forwarded-for'), trusted);

interface ExchangeParts {
  readonly log: Logger;
  readonly config: Pick<Config, 'TRUSTED_PROXIES' | 'PUBLIC_URL'>;
}

/** The caller's request id, if it is safe to use in logs and headers. */
function requestIdOf(headers: HttpHeaders): string | undefined {
  const given = headers.get('x-request-id');
  return given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : undefined;
}

/** The origin of an operation: a request or the command line. */
export interface Origin
  extends
    Pick<OperationContext, 'requestId'>,
    Partial<Pick<OperationContext, 'requestIdOrigin' | 'onRefusal' | 'client'>> {
  readonly request?: HttpRequest;
  readonly slot?: RequestSlot | undefined;
  readonly organizationId?: string | undefined;
}

/** What answers a request. */
export interface FoundPage {
  readonly answer: () => HttpAnswer | Promise<HttpAnswer>;
  /** Answers an error, if it has another form than usual. */
  readonly refuse?: ((error: unknown) => HttpAnswer) | undefined;
}
