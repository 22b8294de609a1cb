import type { GraphQLResolveInfo } from 'graphql';

/** Finds what belongs to each of the keys; keys that it leaves out have nothing. */
export type LoadBatch<Key, Result> = (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Result>>;

/** Keys that are loaded together. A promise per key would cost as much as the rows, so all of them wait for one. */
class Batch {
  readonly #keys = new Set<string>();
  readonly #found: Promise<ReadonlyMap<string, unknown>>;

  /** @param onStart Called before the keys are loaded: none is added any more. */
  constructor(load: LoadBatch<string, unknown>, onStart: () => void) {
    this.#found = new Promise((resolve) => {
      // Behind everything that settled promises go on to do, which may ask for more keys.
      void Promise.resolve().then(() =>
        process.nextTick(() => {
          onStart();
          // What the load throws at once rejects the batch, and does not end the process.
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

/** Where a request keeps its batches. In a WeakMap they would outlive it until V8's next major collection. */
const BATCHES = Symbol('batches');

interface Batches {
  readonly byName: Map<string, Batch>;
  /** A field's parents have their `info` in common, and mostly the rest. */
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
  // A copy of the context, as with another transaction, has batches apart.
  Object.defineProperty(request, BATCHES, { value: batches, enumerable: false });
  return batches;
}

/**
 * Loads for one key together with all other keys that the same request asks for at the same moment, so that a field below a list costs one
 * statement for all its parents. Nothing is remembered: a later mutation of the same request, or event of the same subscription, may have
 * changed it.
 * @param request Any object of the request.
 * @param name The field with its arguments: loads of the same name share a batch.
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
      // The context of a subscription lives on, and each of its events has other infos.
      if (byName.size === 0) names.clear();
    });
    byName.set(name, batch);
  }
  // What batches of this name have found is of this type.
  return batch.load(key, otherwise) as Promise<Result | Otherwise>;
}

interface Resolving {
  readonly context: object;
  readonly info: GraphQLResolveInfo;
  readonly args?: object;
}

/**
 * Resolves a field for one parent, together with all other parents of the same field in the request. `detail` is what the load depends on beside
 * the field and its arguments, such as the columns that are selected; `otherwise` is for parents that have nothing.
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
  if (known && known.args === args && known.detail === detail) return known.name;
  // All columns, where none are named, are other ones than no columns.
  const name = `${info.parentType.name}.${info.fieldName}(${args ? JSON.stringify(args) : ''})${detail?.join() ?? '*'}`;
  names.set(info, { args, detail, name });
  return name;
}
