import type { IncomingHttpHeaders } from 'node:http';
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

interface ExchangeOptions {
  readonly signal: AbortSignal;
  /** Converts an error to that which readers get. */
  readonly explain: (error: unknown) => unknown;
}

/** Sends a request. Resolves when the head of its answer has arrived. */
export const openStream = (
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  exchange: ExchangeOptions,
): Promise<StreamedAnswer> =>
  new Promise((resolve, reject) => {
    dispatcher.dispatch(options, new StreamedExchange(exchange, { resolve, reject }));
  });

/** So many bytes wait for their reader before nothing more is read from the connection. */
const WAITING_BYTES = 64 * 1024;

/**
 * A request and its answer, which dispatchers report to. The method `request` of undici would keep each of them in memory until the next major
 * collection (docs/decisions/short-lived-objects.md).
 */
class StreamedExchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  #head: { resolve(answer: StreamedAnswer): void; reject(error: unknown): void } | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #chunks: Uint8Array[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(options: ExchangeOptions, head: { resolve(answer: StreamedAnswer): void; reject(error: unknown): void }) {
    this.#options = options;
    this.#head = head;
    if (options.signal.aborted) this.#onAbort();
    else options.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure) this.#close(this.#failure.error);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    const header = (name: string) => {
      const value = headers[name];
      return value === undefined ? null : String(value);
    };
    this.#head?.resolve({ status, header, body: this.#read(), discard: () => this.#discard() });
    this.#head = undefined;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#chunks.push(chunk);
    this.#waitingBytes += chunk.byteLength;
    if (this.#waitingBytes >= WAITING_BYTES) controller.pause();
    this.#wake?.();
  }

  onResponseEnd(): void {
    this.#end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: unknown): void {
    this.#fail(error);
  }

  readonly #onAbort = (): void => {
    const { reason } = this.#options.signal;
    // What has arrived is not read any more.
    this.#chunks = [];
    this.#fail(reason);
    this.#close(reason);
  };

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#failure = { error };
    this.#head?.reject(this.#options.explain(error));
    this.#head = undefined;
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#wake?.();
  }

  #close(reason: unknown): void {
    this.#controller?.abort(reason instanceof Error ? reason : new Error('aborted'));
  }

  #discard(): void {
    if (!this.#isOver) this.#close(new Error('discarded'));
  }

  async *#read(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk) {
          this.#waitingBytes -= chunk.byteLength;
          if (this.#waitingBytes < WAITING_BYTES) this.#controller?.resume();
          yield chunk;
        } else if (this.#failure) throw this.#options.explain(this.#failure.error);
        else if (this.#isOver) return;
        else await new Promise<void>((resolve) => void (this.#wake = resolve));
      }
    } finally {
      this.#discard();
    }
  }
}
