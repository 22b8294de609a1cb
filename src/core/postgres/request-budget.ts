import { answerTooLarge } from '../answer-size.ts';
import { LARGE_BYTES, type LargeAnswers } from './large-answers.ts';
import { type Parse, WIRE_TYPES } from './wire-types.ts';

/** Statements of a request that run at once; the others wait for these. */
const MAX_IN_FLIGHT = 4;

/** What a statement fails with that is to be sent again, once it is this request's turn to read much. */
export class Postponed extends Error {}

/**
 * What one request may take of the database: a few statements at once, and as many bytes as its answer may have. Bytes count as they arrive,
 * before rows are made of them, over all statements of the request. Who reads much does so one after the other.
 */
export class RequestBudget {
  readonly #maxBytes: number;
  readonly #large: LargeAnswers;
  #bytes = 0;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  #end: (() => void) | undefined;
  #turn: Promise<void> | undefined;
  /** Counts renewals: what is still under way from before one takes no turn, which nobody would end. */
  #round = 0;
  #isClosed = false;

  constructor(maxBytes: number, large: LargeAnswers) {
    this.#maxBytes = maxBytes;
    this.#large = large;
  }

  /** @throws DomainError `ANSWER_TOO_LARGE` once more has been taken than an answer may have. */
  take(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) throw answerTooLarge(this.#maxBytes);
  }

  /** Counts anew from here, and lets others read much: for answers without an end, which leave piece by piece. */
  renew(): void {
    this.#round += 1;
    this.#bytes = 0;
    this.#end?.();
    this.#end = undefined;
  }

  /** The request is answered: what may still be under way for it is not read to its end. */
  close(): void {
    this.#isClosed = true;
    this.renew();
  }

  /** Waits until it is this request's turn to make a large answer, which lasts until it is renewed. @throws DomainError 503 */
  async becomeLarge(): Promise<void> {
    if (this.#end) return;
    this.#turn ??= this.#takeTurn().finally(() => (this.#turn = undefined));
    await this.#turn;
  }

  async #takeTurn(): Promise<void> {
    const round = this.#round;
    const end = await this.#large.take();
    if (round === this.#round) {
      this.#end = end;
    } else {
      end();
      throw answerTooLarge(this.#maxBytes);
    }
  }

  /** The driver's parsers, which count what they are given. `onExceeded` is called once, when the rest is not wanted. */
  typesCounting(onExceeded: () => void, isRepeatable: boolean): typeof WIRE_TYPES {
    let own = 0;
    const round = this.#round;
    const tryTurn = () => (this.#end ??= this.#large.tryTake()) !== undefined;
    return {
      getTypeParser: (type, format) => {
        const parse: Parse = WIRE_TYPES.getTypeParser(type, format);
        return (text) => {
          own += text.length;
          if (round === this.#round) this.#bytes += text.length;
          if (this.#bytes > this.#maxBytes || round !== this.#round) {
            onExceeded();
            throw answerTooLarge(this.#maxBytes);
          }
          if (this.#bytes > LARGE_BYTES && isRepeatable && !tryTurn()) {
            this.#bytes -= own;
            onExceeded();
            throw new Postponed();
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
      if (this.#isClosed) throw answerTooLarge(this.#maxBytes);
      return await work();
    } finally {
      // The place goes to the next one, if there is one.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
