import { answerTooLarge } from '../../answer-size.ts';
import type { DomainError } from '../../errors.ts';
import { type EndLargeAnswer, LARGE_BYTES, type LargeAnswers } from '../large-answers.ts';

/** Maximum number of concurrent statements of a request; others wait. */
const MAX_IN_FLIGHT = 4;

/** A statement fails with this when its rows make the answer large. It is sent again when the request may produce a large answer. */
export class Postponed extends Error {}

/** A statement fails with this if its rows have more bytes than it allows. */
export class TooLong extends Error {}

/** The error if an answer of so many bytes would be too much for the memory, because clients do not read earlier ones. */
type RefusalOf = (bytes: number) => DomainError | undefined;

/**
 * The limits of one request: a few concurrent statements, and as many bytes as its answer may have. Bytes of all its statements count as they
 * arrive, before rows are parsed. Requests that read much run one at a time, and only while the process can keep their answers in memory.
 */
export class RequestBudget {
  readonly #maxBytes: number;
  readonly #large: LargeAnswers;
  readonly #refusalOf: RefusalOf;
  #refusal: DomainError | undefined;
  #bytes = 0;
  #answerBytes = 0;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  #end: EndLargeAnswer | undefined;
  #becomingLarge: Promise<void> | undefined;
  /** Counts resets, so that statements from before a reset do not start a large answer that nobody would end. */
  #round = 0;
  #isStream = false;
  #isClosed = false;

  constructor(maxBytes: number, large: LargeAnswers, refusalOf: RefusalOf = () => undefined) {
    this.#maxBytes = maxBytes;
    this.#large = large;
    this.#refusalOf = refusalOf;
  }

  /** Notes the size of the answer. @throws DomainError if so many bytes cannot wait to be read, or a statement was stopped because of that. */
  requireRoom(bytes: number): void {
    this.#answerBytes = bytes;
    this.#refusal ??= this.#refusalOf(bytes);
    if (this.#refusal) throw this.#refusal;
  }

  /** Counts received bytes. @throws DomainError `ANSWER_TOO_LARGE` beyond the maximum of an answer. */
  take(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) throw answerTooLarge(this.#maxBytes);
  }

  /** Resets the count and lets others produce large answers, before each part of an endless answer. */
  renew(): void {
    this.#isStream = true;
    this.restart();
  }

  /** Resets the count and lets others produce large answers, before the request is executed again. */
  restart(): void {
    this.#round += 1;
    this.#end?.(Math.max(this.#bytes, this.#answerBytes));
    this.#bytes = 0;
    this.#end = undefined;
    this.#becomingLarge = undefined;
  }

  /** Call when the request is answered: running statements are not read to their end. */
  close(): void {
    this.#isClosed = true;
    this.restart();
  }

  /** Waits until this request may produce a large answer, which lasts until it is renewed. @throws DomainError 503 */
  async becomeLarge(): Promise<void> {
    if (this.#end) return;
    const waiting = (this.#becomingLarge ??= this.#takeLarge());
    try {
      await waiting;
    } finally {
      if (this.#becomingLarge === waiting) this.#becomingLarge = undefined;
    }
  }

  async #takeLarge(): Promise<void> {
    const round = this.#round;
    const end = await this.#large.take();
    if (round === this.#round) {
      this.#end = end;
    } else {
      end(0);
      throw answerTooLarge(this.#maxBytes);
    }
  }

  /**
   * The function that counts the bytes of each row of a statement before it is read, and throws the error that ends the statement. `onExceeded`
   * is called before it throws: the rest is not needed.
   */
  counting(
    onExceeded: () => void,
    { isRepeatable, maxBytes = Infinity }: { readonly isRepeatable: boolean; readonly maxBytes?: number | undefined },
  ): (bytes: number) => void {
    let own = 0;
    const round = this.#round;
    const stop = (error: Error, { isSentAgain }: { isSentAgain: boolean }): Error => {
      if (isSentAgain && round === this.#round) this.#bytes -= own;
      onExceeded();
      return error;
    };
    return (bytes) => {
      own += bytes;
      if (round === this.#round) this.#bytes += bytes;
      if (own > maxBytes) throw stop(new TooLong(), { isSentAgain: true });
      if (this.#bytes > this.#maxBytes || round !== this.#round)
        throw stop(answerTooLarge(this.#maxBytes), { isSentAgain: false });
      // The pages of streams are a little larger than one event, and need no room, because they leave in parts.
      if (this.#bytes > (this.#isStream ? 2 * LARGE_BYTES : LARGE_BYTES) && isRepeatable) {
        if (!this.#isStream) this.#refusal ??= this.#refusalOf(this.#bytes);
        if (this.#refusal) throw stop(this.#refusal, { isSentAgain: false });
        if (!(this.#end ??= this.#large.tryTake())) throw stop(new Postponed(), { isSentAgain: true });
      }
    };
  }

  /** Runs a statement as soon as fewer than {@link MAX_IN_FLIGHT} of the request are running. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= MAX_IN_FLIGHT) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      // Check again after waiting: earlier statements may have used up the budget.
      this.take(0);
      if (this.#refusal) throw this.#refusal;
      if (this.#isClosed) throw answerTooLarge(this.#maxBytes);
      return await work();
    } finally {
      // Start the next waiting statement, if any.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
