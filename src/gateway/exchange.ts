import type { Logger } from 'pino';
import type { RequestIdOrigin } from '../core/audit.ts';
import type { HttpRequest } from '../core/http/messages.ts';
import type { ApiKeyId } from '../core/ids.ts';
import type { Actor, OperationContext } from '../core/operation.ts';
import type { Refusals } from './admission/refusals.ts';

/** One request on its way to its answer. Who works on it writes down what its log line, its metrics and its headers say. */
export interface Exchange {
  readonly request: HttpRequest;
  readonly url: URL;
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin;
  /** Undefined for a call in process. */
  readonly clientAddress: string | undefined;
  api: 'graphql' | 'rest' | 'page';
  operation: string;
  keyId?: ApiKeyId;
  /** Who calls, once that is known. */
  actor?: Actor;
  /** What of it was refused, for the audit log. */
  readonly refusals: Refusals;
  /** Notes what refuses an operation. */
  readonly onRefusal: (error: unknown, operation: string) => void;
  /** What the answer says of the key's rate limit. */
  limitHeaders?: Readonly<Record<string, string>>;
  /** What every answer of the route carries, such as that it is deprecated. */
  routeHeaders?: Readonly<Record<string, string>> | undefined;
  readonly log: Logger;
}

/** What an operation comes from: a request, or somebody at the command line. */
export interface Origin
  extends Pick<OperationContext, 'requestId'>, Partial<Pick<OperationContext, 'requestIdOrigin' | 'onRefusal'>> {
  readonly request?: HttpRequest;
}
