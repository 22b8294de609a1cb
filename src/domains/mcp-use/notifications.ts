/** Notifications of a server that wait to be passed on. */
export class Notifications {
  readonly #texts: string[] = [];
  #arrival = Promise.withResolvers<void>();

  readonly add = (text: string): void => {
    this.#texts.push(text);
    this.#arrival.resolve();
  };

  /** Settles as soon as there is a notification. */
  get arrival(): Promise<void> {
    return this.#arrival.promise;
  }

  /** The next one; undefined if none waits. */
  take(): string | undefined {
    const text = this.#texts.shift();
    if (this.#texts.length === 0) this.#arrival = Promise.withResolvers();
    return text;
  }
}
