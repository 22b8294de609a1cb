/**
 * The caches of one gateway, shared by its requests and jobs. Modules keep them here instead of in variables, so that
 * several gateways in one process do not share them.
 */
export class Caches {
  readonly #made = new Map<() => unknown, unknown>();

  /** The cache that this function makes, made once. */
  of<Cache extends object>(make: () => Cache): Cache {
    const known = this.#made.get(make);
    // Only this function makes the values of its key.
    if (known !== undefined) return known as Cache;
    const made = make();
    this.#made.set(make, made);
    return made;
  }
}
