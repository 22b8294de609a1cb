import type { RequestSlot } from '../request-slot.ts';

/**
 * Requests and answers as both APIs see them. They have fewer members than fetch's `Request` and `Response`, whose
 * creation costs as much as a small query. Their names are those of fetch, so a fetch `Request` is also an
 * `HttpRequest`.
 */

/** Header fields by case-insensitive name; null if absent (Fetch standard, `Headers`). */
export interface HttpHeaders {
  get(name: string): string | null;
  has(name: string): boolean;
  /** The names in lower case. */
  keys(): Iterable<string>;
}

export interface HttpRequest {
  readonly method: string;
  /** An absolute URL. Do not rely on its origin. */
  readonly url: string;
  readonly headers: HttpHeaders;
  /** Aborts when nobody waits for the answer. */
  readonly signal: AbortSignal;
  /** The incoming body; null if there is none. A reader may stop early. */
  readonly body: AsyncIterable<Uint8Array> | null;
  /** Whether the whole body has arrived; undefined if unknown. */
  readonly hasArrived?: boolean;
  /** Takes the whole body instead of `body`; undefined unless it is small and has arrived. */
  takeArrived?(): Uint8Array | undefined;
  /** IP address of the peer; undefined if there is no connection. */
  readonly peerAddress?: string;
  /** If it is set, each wait for more of the body gives it back. */
  slot?: Pick<RequestSlot, 'waiting'>;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent at once, except for a stream, which is sent as it is produced. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | null;
  /** The length of a text in UTF-8, if it has been counted already. */
  readonly bytes?: number | undefined;
  /** Call when the body has been read or will not be read. */
  readonly onClose?: (() => void) | undefined;
}

/** Whether the parameter `charset` of a media type, in lower case, means UTF-8, which it does when it is absent. Some clients write `utf8`. */
export const isUtf8 = (charset: string | undefined): boolean => charset === undefined || /^"?utf-?8"?$/.test(charset);

interface AnswerInit {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export const answerWith = (body: HttpAnswer['body'], { status = 200, headers = {} }: AnswerInit = {}): HttpAnswer => ({
  status,
  headers,
  body,
});

/** `text` must be JSON. */
export const answerJsonText = (text: string, { status, headers }: AnswerInit = {}): HttpAnswer =>
  answerWith(text, { status, headers: { 'Content-Type': 'application/json', ...headers } });

export const answerJson = (value: unknown, init?: AnswerInit): HttpAnswer =>
  answerJsonText(JSON.stringify(value), init);
