interface Work {
  added: number;
  done: number;
  /** Does what was there when it began: set until it has ended, or there is more. */
  running?: Promise<void> | undefined;
}

/** Work that requests leave to their process, counted for each object. */
export class Backlog<Id> {
  /** Called when there is more. */
  onMore: () => void = () => undefined;
  readonly #works = new Map<Id, Work>();

  get next(): Id | undefined {
    for (const id of this.#works.keys()) return id;
    return undefined;
  }

  leftOf(id: Id): number {
    const { added, done } = this.#works.get(id) ?? { added: 0, done: 0 };
    return added - done;
  }

  add(id: Id, count: number): void {
    const work = this.#works.get(id) ?? { added: 0, done: 0 };
    work.added += count;
    work.running = undefined;
    this.#works.set(id, work);
    this.onMore();
  }

  /**
   * Does what is left of an object now, once if several ask for the same; what is added meanwhile stays left. After an error, others are next, and
   * who has waited for another one does it. Not for transactions.
   */
  async finish(id: Id, run: () => Promise<void>): Promise<void> {
    const work = this.#works.get(id);
    if (!work) return run();
    if (work.running) return work.running.catch(() => this.finish(id, run));
    const { added } = work;
    this.#works.delete(id);
    this.#works.set(id, work);
    const running = run();
    work.running = running;
    try {
      await running;
      work.done = Math.max(work.done, added);
      if (work.done === work.added && this.#works.get(id) === work) this.#works.delete(id);
    } finally {
      if (work.running === running) work.running = undefined;
    }
  }
}
