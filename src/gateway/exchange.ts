import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../core/config.ts';
import { clientAddressOf } from '../core/http/client-address.ts';
import type { RequestIdOrigin } from '../core/audit.ts';
import type { HttpHeaders, HttpRequest } from '../core/http/messages.ts';
import type { ApiKeyId } from '../core/ids.ts';
import type { Actor, OperationContext } from '../core/operation.ts';
import type { Span } from '../core/tracing/tracing.ts';
import { type Refusals, noteRefusal } from './admission/refusals.ts';

/** One request on its way to its answer. Who works on it writes down what its log line, its metrics and its headers say. */
export class Exchange {
  readonly request: HttpRequest;
  readonly url: URL;
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin;
  api: 'graphql' | 'rest' | 'page' = 'page';
  operation = 'unknown';
  keyId?: ApiKeyId;
  /** Who calls, once that is known. */
  actor?: Actor;
  /** What of it was refused, for the audit log. */
  readonly refusals: Refusals = new Map();
  /** Notes what refuses an operation. */
  readonly onRefusal = (error: unknown, operation: string): void => noteRefusal(this.refusals, error, operation);
  /** What the answer says of the key's rate limit. */
  limitHeaders?: Readonly<Record<string, string>>;
  /** What every answer of the route carries, such as that it is deprecated. */
  routeHeaders?: Readonly<Record<string, string>> | undefined;
  readonly #parts: ExchangeParts;
  readonly #traceId: string | undefined;
  #log: Logger | undefined;

  constructor(request: HttpRequest, parts: ExchangeParts, span: Span | undefined) {
    const given = requestIdOf(request.headers);
    this.request = request;
    this.url = new URL(request.url);
    this.requestId = given ?? randomUUID();
    this.requestIdOrigin = given === undefined ? 'gateway' : 'client';
    this.#parts = parts;
    this.#traceId = span?.traceId;
  }

  /** Undefined for a call in process. */
  get clientAddress(): string | undefined {
    const { peerAddress, headers } = this.request;
    return (
      peerAddress && clientAddressOf(peerAddress, headers.get('x-forwarded-for'), this.#parts.config.TRUSTED_PROXIES)
    );
  }

  /** Made when something is logged: few requests write more than their one line. */
  get log(): Logger {
    return (this.#log ??= this.#parts.log.child({ requestId: this.requestId, traceId: this.#traceId }));
  }
}

interface ExchangeParts {
  readonly log: Logger;
  readonly config: Pick<Config, 'TRUSTED_PROXIES'>;
}

/** A caller's own request id is kept when it is sane: it goes into logs and headers as it stands. */
function requestIdOf(headers: HttpHeaders): string | undefined {
  const given = headers.get('x-request-id');
  return given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : undefined;
}

/** What an operation comes from: a request, or somebody at the command line. */
export interface Origin
  extends Pick<OperationContext, 'requestId'>, Partial<Pick<OperationContext, 'requestIdOrigin' | 'onRefusal'>> {
  readonly request?: HttpRequest;
}
