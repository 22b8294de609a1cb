/**
 * A request and its answer as both APIs see them. They are less than fetch's `Request` and `Response`, which cost as much as a small query:
 * a request has only what is asked of it, under the names that `Request` gives it, so that one of those is a request, too.
 */

/** Header fields by name, in any case; null where there is none (Fetch standard, `Headers`). */
export interface HttpHeaders {
  get(name: string): string | null;
  has(name: string): boolean;
}

export interface HttpRequest {
  readonly method: string;
  /** An absolute address. Of its origin nothing may be concluded. */
  readonly url: string;
  readonly headers: HttpHeaders;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** As it comes in; null where there is none. A reader may stop early. */
  readonly body: AsyncIterable<Uint8Array> | null;
  /** Whether all of the body has arrived; undefined where nobody knows. */
  readonly hasArrived?: boolean;
  /** IP address of the other end of the connection; undefined where there is no connection. */
  readonly peerAddress?: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent in one piece, but for a stream, which is sent as it comes. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | null;
  /** To be called once the body has been read, or nobody will read it. */
  readonly onClose?: (() => void) | undefined;
}

interface AnswerInit {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export function answerWith(body: HttpAnswer['body'], { status = 200, headers = {} }: AnswerInit = {}): HttpAnswer {
  return { status, headers, body };
}

/** `text` must be JSON. */
export function answerJsonText(text: string, { status, headers }: AnswerInit = {}): HttpAnswer {
  return answerWith(text, { status, headers: { 'Content-Type': 'application/json', ...headers } });
}

export function answerJson(value: unknown, init?: AnswerInit): HttpAnswer {
  return answerJsonText(JSON.stringify(value), init);
}
