/** Number of keys without a value that are kept. */
const MAX_EMPTY = 1000;

/**
 * A map for values that come and go all the time. Keys without a value are deleted together: V8 copies the table of a map again and again when
 * keys are deleted and added, and an old copy keeps all later ones until the next major collection (docs/decisions/short-lived-objects.md).
 */
export class SweptMap<Value> {
  #values = new Map<string, Value | undefined>();
  #empty = 0;

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    if (this.#values.get(key) === undefined && this.#values.has(key)) this.#empty -= 1;
    this.#values.set(key, value);
  }

  delete(key: string): void {
    if (this.#values.get(key) === undefined) return;
    this.#values.set(key, undefined);
    this.#empty += 1;
    if (this.#empty <= MAX_EMPTY) return;
    this.#values = new Map([...this.#values].filter(([, value]) => value !== undefined));
    this.#empty = 0;
  }

  /** Number of keys in memory, with and without a value. */
  get size(): number {
    return this.#values.size;
  }
}

export class Sums {
  readonly #sums = new SweptMap<number>();

  get(name: string): number {
    return this.#sums.get(name) ?? 0;
  }

  add(name: string, by: number): void {
    const sum = this.get(name) + by;
    if (sum > 0) this.#sums.set(name, sum);
    else this.#sums.delete(name);
  }
}
