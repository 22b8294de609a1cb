import { answerTooLarge } from '../answer-size.ts';
import { type Parse, WIRE_TYPES } from './wire-types.ts';

/** Statements of a request that run at once; the others wait for these. */
const MAX_IN_FLIGHT = 4;

/**
 * What one request may take of the database: a few statements at once, and as many bytes as its answer may have. Bytes count as they arrive,
 * before rows are made of them, over all statements of the request.
 */
export class RequestBudget {
  readonly #maxBytes: number;
  #bytes = 0;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes read so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @throws DomainError `ANSWER_TOO_LARGE` once more has been taken than an answer may have. */
  take(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) throw answerTooLarge(this.#maxBytes);
  }

  /** Counts anew from here: for answers without an end, which leave piece by piece. */
  renew(): void {
    this.#bytes = 0;
  }

  /** The driver's parsers, which count what they are given. `onExceeded` is called once, when there is too much. */
  typesCounting(onExceeded: () => void): typeof WIRE_TYPES {
    return {
      getTypeParser: (type, format) => {
        const parse: Parse = WIRE_TYPES.getTypeParser(type, format);
        return (text) => {
          this.#bytes += text.length;
          if (this.#bytes > this.#maxBytes) {
            onExceeded();
            throw answerTooLarge(this.#maxBytes);
          }
          return parse(text);
        };
      },
    };
  }

  /** Runs a statement when fewer than {@link MAX_IN_FLIGHT} of the request do. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= MAX_IN_FLIGHT) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      // Also after waiting: those before may have taken all.
      this.take(0);
      return await work();
    } finally {
      // The place goes to the next one, if there is one.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
