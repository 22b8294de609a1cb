import type { AnswerShare } from './answer-memory.ts';
import { type FairShares, type Owner, type Slot, inSlot } from './fair-shares.ts';
import { CALLS_OF_PERSON, boundOfOrganization } from './pools.ts';

/** Runs work that only waits for something else. */
export type WhileWaiting = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * The slot of a request. It gives the slot back while it waits for something else than the database, and when its answer has begun; each
 * statement of it then takes one.
 */
export class RequestSlot {
  /** The memory of the answer. */
  readonly answer: AnswerShare;
  readonly #pool: FairShares;
  readonly #owner: Owner;
  #slot: Slot | undefined;
  #taking: Promise<void> | undefined;
  /** The request itself, unless it waits, and its statements that took the slot. */
  #users = 1;
  #waits = 0;
  #isOver = false;

  constructor(pool: FairShares, slot: Slot, answer: AnswerShare) {
    this.answer = answer;
    this.#pool = pool;
    this.#owner = slot.owner;
    this.#slot = slot;
  }

  /** Gives the slot back until the work has settled. */
  async waiting<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#isOfRequest) this.leave();
    this.#waits += 1;
    try {
      return await work();
    } finally {
      this.#waits -= 1;
      if (this.#isOfRequest) await this.enter();
    }
  }

  /** Gives the slot back for work that calls other servers, which has a slot of `pool`. @throws TooManyAtOnceError */
  callOut<Result>(pool: FairShares, work: () => Promise<Result>): Promise<Result> {
    const { person: name, max, organization } = this.#owner;
    const bounds = [{ name, max }, boundOfOrganization(organization)];
    const owner = { ...this.#owner, max: CALLS_OF_PERSON, bounds };
    return this.waiting(() => inSlot(pool.take(owner), work));
  }

  /** Call before a statement; it must wait for what is returned. */
  enter(): Promise<void> | undefined {
    this.#users += 1;
    // Several at once share one slot.
    return this.#slot ? undefined : (this.#taking ??= this.#take());
  }

  /** Call after a statement. */
  leave(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#slot?.release();
    this.#slot = undefined;
  }

  /** Call when the request is answered, or its answer has begun. */
  end(): void {
    if (this.#isOfRequest) this.leave();
    this.#isOver = true;
  }

  get #isOfRequest(): boolean {
    return this.#waits === 0 && !this.#isOver;
  }

  async #take(): Promise<void> {
    const slot = await this.#pool.takeAgain(this.#owner);
    this.#taking = undefined;
    // What has wanted it can be over.
    if (this.#users > 0) this.#slot = slot;
    else slot.release();
  }
}
