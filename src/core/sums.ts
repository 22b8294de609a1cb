/** Sums by name. A name without a sum takes no memory. */
export class Sums {
  readonly #sums = new Map<string, number>();

  get(name: string): number {
    return this.#sums.get(name) ?? 0;
  }

  add(name: string, by: number): void {
    const sum = this.get(name) + by;
    if (sum > 0) this.#sums.set(name, sum);
    else this.#sums.delete(name);
  }
}
