import type { Dispatcher } from 'undici';

/** A request whose answer is read as it arrives. Its times and sizes are bounded by the caller. */
export interface StreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  /** Ends the request and its answer at any time. */
  readonly signal: AbortSignal;
}

/** The answer to a {@link StreamRequest}. Its body must be read to the end or discarded. */
export interface StreamedAnswer {
  readonly status: number;
  /** The value of a header field; null if it is absent. Several fields with one name are joined by commas. */
  readonly header: (name: string) => string | null;
  /** The bytes as the server sent them. Reading throws an OutboundError, or the reason of the signal. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Closes the connection unless the body has already arrived. */
  readonly discard: () => void;
}

export function streamedAnswer(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  explain: (error: unknown) => unknown,
): StreamedAnswer {
  // An error after the reader has left is of no interest.
  body.on('error', () => undefined);
  return {
    status: statusCode,
    header: (name) => {
      const value = headers[name];
      return value === undefined ? null : String(value);
    },
    body: explained(body, explain),
    discard: () => void body.destroy(),
  };
}

async function* explained(
  body: AsyncIterable<Uint8Array>,
  explain: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body;
  } catch (error) {
    throw explain(error);
  }
}
