import { answerTooLarge, pageBytesOf } from '../../answer-size.ts';
import { Concurrency } from '../../concurrency.ts';
import type { FairShares } from '../../fair-shares.ts';
import type { RequestSlot } from '../../request-slot.ts';

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
  readonly #statements: Concurrency;
  /** Counts renewals: statements from before one are not read further. */
  #round = 0;
  #isClosed = false;
  readonly #slot: RequestSlot | undefined;
  /** With more bytes, the memory of the answer grows. */
  #taken: number;

  constructor(maxBytes: number, slot?: RequestSlot) {
    this.maxBytes = maxBytes;
    this.#slot = slot;
    this.#taken = slot ? 0 : Infinity;
    this.#statements = new Concurrency(MAX_IN_FLIGHT, slot && (() => slot.leave()));
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

  /** The largest answer that there is room for now. */
  get answerRoom(): number {
    return Math.min(this.maxBytes, this.#slot?.answer.room ?? Infinity);
  }

  /**
   * Says what is answered: a route or document. Its answer is expected to be as large as the last ones, and that of a new document of the caller as
   * large as the caller's last ones.
   */
  expectAnswerOf(source: object, { isOfCaller = false } = {}): void {
    this.#slot?.answer.expectAnswerOf(source, isOfCaller);
  }

  /** Counts received bytes. */
  count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#taken && this.#slot) this.#taken = this.#slot.answer.grow(this.#bytes);
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
      this.count(bytes);
    };
  }

  /** Runs a statement as soon as fewer than {@link MAX_IN_FLIGHT} of the request are running. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#statements.run(() => {
      const entering = this.#slot && enter(this.#slot);
      return entering ? entering.then(() => this.#begin(work)) : this.#begin(work);
    });
  }

  #begin<Result>(work: () => Promise<Result>): Promise<Result> {
    // Check after waiting: earlier statements may have used up the budget.
    this.requireRoom();
    return work();
  }

  /** Lets others run while the request waits for something else than the database, such as another server. */
  waiting<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#slot ? this.#slot.waiting(work) : work();
  }

  /** The same for work that calls other servers, which has a slot of `pool`. @throws TooManyAtOnceError */
  callOut<Result>(pool: FairShares, work: () => Promise<Result>): Promise<Result> {
    return this.#slot ? this.#slot.callOut(pool, work) : work();
  }
}

/** Others run while the request waits for memory. */
function enter(slot: RequestSlot): Promise<void> | undefined {
  const waiting = slot.answer.enter();
  return waiting ? slot.waiting(() => waiting).then(() => slot.enter()) : slot.enter();
}
