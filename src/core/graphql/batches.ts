import type { GraphQLResolveInfo } from 'graphql';

/** Loads the results of keys. Keys without a result may be absent. A result that is an error is thrown for its key. */
export type LoadBatch<Key, Result> = (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Result>>;

/** Keys that are loaded together. */
class Batch {
  /** The fields that load with it, by their `info`. */
  readonly infos: GraphQLResolveInfo[] = [];
  readonly #keys = new Set<string>();
  readonly #found: Promise<ReadonlyMap<string, unknown>>;

  /** @param onStart Called before the keys are loaded; no key can be added after it. */
  constructor(load: LoadBatch<string, unknown>, onStart: (batch: Batch) => void) {
    this.#found = new Promise((resolve) => {
      // Runs after the continuations of settled promises, which may add more keys.
      void Promise.resolve().then(() =>
        process.nextTick(() => {
          onStart(this);
          // An exception of the load rejects the batch instead of ending the process.
          resolve((async () => load([...this.#keys]))());
        }),
      );
    });
    // Whoever waits for a result gets the error; nobody may wait.
    this.#found.catch(() => undefined);
  }

  load(key: string, otherwise: unknown): BatchedResult<unknown> {
    this.#keys.add(key);
    return new BatchedResult(this.#found, key, otherwise);
  }
}

/**
 * The result of one key. It is a promise, but the executor waits for `arrived` once for all results of a batch, because a promise for each would
 * cost as much as the rows.
 */
class BatchedResult<Result> implements Promise<Result> {
  readonly arrived: Promise<ReadonlyMap<string, unknown>>;
  readonly #key: string;
  readonly #otherwise: unknown;

  constructor(arrived: Promise<ReadonlyMap<string, unknown>>, key: string, otherwise: unknown) {
    this.arrived = arrived;
    this.#key = key;
    this.#otherwise = otherwise;
  }

  get [Symbol.toStringTag](): string {
    return 'BatchedResult';
  }

  valueIn(found: ReadonlyMap<string, unknown>): Result {
    const result = found.get(this.#key) ?? this.#otherwise;
    if (result instanceof Error) throw result;
    // The keys of a batch have this type of result.
    return result as Result;
  }

  // It is a promise.
  // oxlint-disable-next-line unicorn/no-thenable
  then<Next = Result, Failed = never>(
    onFulfilled?: ((result: Result) => Next | PromiseLike<Next>) | null,
    onRejected?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Next | Failed> {
    return this.arrived.then((found) => this.valueIn(found)).then(onFulfilled, onRejected);
  }

  catch<Failed = never>(
    onRejected?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Result | Failed> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Result> {
    return this.arrived.then((found) => this.valueIn(found)).finally(onFinally);
  }
}

/** The property of a request that has its batches. A WeakMap would keep them until the next major garbage collection. */
const BATCHES = Symbol('batches');

/** The batches of a request to which keys can be added. */
class Batches {
  readonly byName = new Map<string, Batch>();
  /** By the `info` of their fields, which the parents of a field share. */
  readonly ofFields = new Map<GraphQLResolveInfo, OfField>();

  readonly #close = (name: string, { infos }: Batch): void => {
    this.byName.delete(name);
    // The context of a subscription outlives each event, and each event has another `info`.
    for (const info of infos) this.ofFields.delete(info);
  };

  named(name: string, load: LoadBatch<string, unknown>): Batch {
    let batch = this.byName.get(name);
    if (!batch) this.byName.set(name, (batch = new Batch(load, (started) => this.#close(name, started))));
    return batch;
  }
}

interface OfField {
  readonly args: object | undefined;
  readonly detail: readonly string[] | undefined;
  readonly batch: Batch;
}

interface Batching {
  [BATCHES]?: Batches;
}

function batchesOf(request: Batching): Batches {
  const known = request[BATCHES];
  if (known) return known;
  const batches = new Batches();
  // A copied context, for example with another transaction, has separate batches.
  Object.defineProperty(request, BATCHES, { value: batches, enumerable: false });
  return batches;
}

interface Resolving {
  readonly context: object;
  readonly info: GraphQLResolveInfo;
  readonly args?: object | undefined;
}

/**
 * Resolves a field for one parent, together with all other parents of the same field in the request, so that a field below a list needs one
 * statement for all of them. Nothing is cached, because a later mutation of the request, or a later event of a subscription, may change the
 * data. `detail` is any further input of the load, such as the selected columns; `otherwise` is the result for parents without one.
 */
export function resolveBatched<Result, Otherwise = undefined>(
  { context, info, args }: Resolving,
  key: string,
  load: LoadBatch<string, Result>,
  detail?: readonly string[],
  otherwise?: Otherwise,
): Promise<Result | Otherwise> {
  const batches = batchesOf(context);
  const open = batches.ofFields.get(info);
  const isOpen = open !== undefined && open.args === args && isSame(open.detail, detail);
  const batch = isOpen ? open.batch : openBatch(batches, { context, info, args }, load, detail);
  // All batches of this name have this result type.
  return batch.load(key, otherwise) as Promise<Result | Otherwise>;
}

/** How all parents of a field are loaded, and the further input of the load. */
export interface Planned<Result> {
  readonly load: LoadBatch<string, Result>;
  readonly detail?: readonly string[] | undefined;
}

/** The same for a field whose load is planned once for all its parents. Every one of them has a result, or an error. */
export function resolvePlanned<Context extends object, Args extends object, Result>(
  { context, info, args }: { readonly context: Context; readonly info: GraphQLResolveInfo; readonly args: Args },
  key: string,
  plan: (args: Args, context: Context, info: GraphQLResolveInfo) => Planned<Result>,
): Promise<Result> {
  const batches = batchesOf(context);
  const open = batches.ofFields.get(info);
  let batch = open?.args === args ? open.batch : undefined;
  if (!batch) {
    const { load, detail } = plan(args, context, info);
    batch = openBatch(batches, { context, info, args }, load, detail);
  }
  // The batch of a field has the result type of its plan.
  return batch.load(key, undefined) as Promise<Result>;
}

function openBatch(
  batches: Batches,
  { info, args }: Resolving,
  load: LoadBatch<string, unknown>,
  detail: readonly string[] | undefined,
): Batch {
  // Undefined means all columns, which differs from no columns.
  const name = `${info.parentType.name}.${info.fieldName}(${args ? JSON.stringify(args) : ''})${detail?.join() ?? '*'}`;
  const batch = batches.named(name, load);
  batch.infos.push(info);
  batches.ofFields.set(info, { args, detail, batch });
  return batch;
}

const isSame = (a: readonly string[] | undefined, b: readonly string[] | undefined): boolean =>
  a === b || (a?.length === b?.length && (a?.every((name, index) => name === b?.[index]) ?? false));
