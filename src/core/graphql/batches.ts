import type { GraphQLResolveInfo } from 'graphql';

/** Loads the results of keys. Keys without a result may be absent. */
export type LoadBatch<Key, Result> = (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Result>>;

/** Keys that are loaded together. They share one promise, because one per key would cost as much as the rows. */
class Batch {
  readonly #keys = new Set<string>();
  readonly #found: Promise<ReadonlyMap<string, unknown>>;

  /** @param onStart Called before the keys are loaded; no key can be added after it. */
  constructor(load: LoadBatch<string, unknown>, onStart: () => void) {
    this.#found = new Promise((resolve) => {
      // Runs after the continuations of settled promises, which may add more keys.
      void Promise.resolve().then(() =>
        process.nextTick(() => {
          onStart();
          // An exception of the load rejects the batch instead of ending the process.
          resolve((async () => load([...this.#keys]))());
        }),
      );
    });
  }

  load(key: string, otherwise: unknown): Promise<unknown> {
    this.#keys.add(key);
    return this.#found.then((found) => found.get(key) ?? otherwise);
  }
}

/** The property of a request that has its batches. A WeakMap would keep them until the next major garbage collection. */
const BATCHES = Symbol('batches');

interface Batches {
  readonly byName: Map<string, Batch>;
  /** Names of fields by their `info`, which the parents of a field share. */
  readonly names: Map<GraphQLResolveInfo, Named>;
}

interface Batching {
  [BATCHES]?: Batches;
}

interface Named {
  readonly args: object | undefined;
  readonly detail: readonly string[] | undefined;
  readonly name: string;
}

function batchesOf(request: Batching): Batches {
  const known = request[BATCHES];
  if (known) return known;
  const batches: Batches = { byName: new Map(), names: new Map() };
  // A copied context, for example with another transaction, has separate batches.
  Object.defineProperty(request, BATCHES, { value: batches, enumerable: false });
  return batches;
}

/**
 * Loads the result of one key together with all keys that the same request asks for at the same time, so that a field
 * below a list needs one statement for all its parents. Nothing is cached, because a later mutation of the request, or
 * a later event of a subscription, may change the data.
 * @param request Any object of the request.
 * @param name The field with its arguments: loads with the same name share a batch.
 */
export function loadBatched<Result, Otherwise = undefined>(
  request: object,
  name: string,
  key: string,
  load: LoadBatch<string, Result>,
  otherwise?: Otherwise,
): Promise<Result | Otherwise> {
  const { byName, names } = batchesOf(request);
  let batch = byName.get(name);
  if (!batch) {
    batch = new Batch(load, () => {
      byName.delete(name);
      // The context of a subscription outlives each event, and each event has another `info`.
      if (byName.size === 0) names.clear();
    });
    byName.set(name, batch);
  }
  // All batches of this name have this result type.
  return batch.load(key, otherwise) as Promise<Result | Otherwise>;
}

interface Resolving {
  readonly context: object;
  readonly info: GraphQLResolveInfo;
  readonly args?: object;
}

/**
 * Resolves a field for one parent, together with all other parents of the same field in the request. `detail` is any further input of the
 * load, such as the selected columns; `otherwise` is the result for parents without one.
 */
export function resolveBatched<Result, Otherwise = undefined>(
  { context, info, args }: Resolving,
  key: string,
  load: LoadBatch<string, Result>,
  detail?: readonly string[],
  otherwise?: Otherwise,
): Promise<Result | Otherwise> {
  return loadBatched(context, nameOf(batchesOf(context), info, { args, detail }), key, load, otherwise);
}

function nameOf({ names }: Batches, info: GraphQLResolveInfo, { args, detail }: Omit<Named, 'name'>): string {
  const known = names.get(info);
  if (known && known.args === args && isSame(known.detail, detail)) return known.name;
  // Undefined means all columns, which differs from no columns.
  const name = `${info.parentType.name}.${info.fieldName}(${args ? JSON.stringify(args) : ''})${detail?.join() ?? '*'}`;
  names.set(info, { args, detail, name });
  return name;
}

function isSame(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  return a === b || (a?.length === b?.length && (a?.every((name, index) => name === b?.[index]) ?? false));
}
