import { answerTooLarge, pageBytesOf } from '../../answer-size.ts';
import { Concurrency } from '../../concurrency.ts';

/** Maximum number of concurrent statements of a request; others wait. */
const MAX_IN_FLIGHT = 4;

/** Ends the statement of a page with the row that reaches `maxBytes`. */
export interface PageEnd {
  readonly maxBytes: number;
  bytes: number;
  /** Whether rows after that one were left out. */
  isCut: boolean;
}

/**
 * The limits of one request: a few concurrent statements, and as many bytes as its answer may have. Bytes of all its statements count as they
 * arrive, before rows are parsed.
 */
export class RequestBudget {
  readonly maxBytes: number;
  #bytes = 0;
  readonly #statements = new Concurrency(MAX_IN_FLIGHT);
  /** Counts renewals: statements from before one are not read further. */
  #round = 0;
  #isClosed = false;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** The bytes with which a page of a list ends. */
  get pageBytes(): number {
    return pageBytesOf(this.maxBytes);
  }

  /** The bytes that were received. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @throws DomainError `ANSWER_TOO_LARGE` if as much was read as an answer may have. Changes call it first. */
  requireRoom(): void {
    if (this.#bytes > this.maxBytes || this.#isClosed) throw answerTooLarge(this.maxBytes);
  }

  /** Counts received bytes. */
  count(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Counts from the beginning, for each part of an endless answer, and before the request is executed again. */
  renew(): void {
    this.#round += 1;
    this.#bytes = 0;
  }

  /** Call when the request is answered: running statements are not read to their end. */
  close(): void {
    this.#isClosed = true;
    this.renew();
  }

  /**
   * The function that counts the bytes of each row of a reading statement before it is read, and throws to end the statement. `onExceeded` is
   * called before it throws: the rest is not needed. A row is read if there is room for its first byte, because the row of an object is never
   * twice as large as an answer, and each can be read alone.
   */
  counting(onExceeded: () => void, page?: PageEnd): (bytes: number) => void {
    const round = this.#round;
    return (bytes) => {
      const isCut = page !== undefined && page.bytes >= page.maxBytes;
      if (isCut) page.isCut = true;
      if (isCut || Math.max(this.#bytes, bytes / 2) > this.maxBytes || round !== this.#round) {
        onExceeded();
        throw answerTooLarge(this.maxBytes);
      }
      if (page) page.bytes += bytes;
      this.#bytes += bytes;
    };
  }

  /** Runs a statement as soon as fewer than {@link MAX_IN_FLIGHT} of the request are running. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#statements.run(() => {
      // Check after waiting: earlier statements may have used up the budget.
      this.requireRoom();
      return work();
    });
  }
}
