import DataLoader from 'dataloader';
import type { GraphQLResolveInfo } from 'graphql';

/** Finds what belongs to each of the keys; keys that it leaves out have nothing. */
export type LoadBatch<Key, Result> = (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Result>>;

const loadersOf = new WeakMap<object, Map<string, DataLoader<string, unknown>>>();

/**
 * Loads for one key together with all other keys that the same request asks for at the same moment, so that a field below a list costs one
 * statement for all its parents. Nothing is remembered: a later mutation of the same request, or event of the same subscription, may have
 * changed it.
 * @param request Any object of the request.
 * @param name The field with its arguments: loads of the same name share a batch.
 */
export function loadBatched<Result>(
  request: object,
  name: string,
  key: string,
  load: LoadBatch<string, Result>,
): Promise<Result | undefined> {
  let loaders = loadersOf.get(request);
  if (!loaders) loadersOf.set(request, (loaders = new Map<string, DataLoader<string, unknown>>()));
  let loader = loaders.get(name) as DataLoader<string, Result | undefined> | undefined;
  if (!loader) {
    loader = new DataLoader<string, Result | undefined>(
      async (keys) => {
        const found = await load([...new Set(keys)]);
        return keys.map((each) => found.get(each));
      },
      { cache: false },
    );
    loaders.set(name, loader);
  }
  return loader.load(key);
}

/**
 * Resolves a field for one parent, together with all other parents of the same field in the request. `detail` is what the load depends on beside
 * the field and its arguments, such as the columns that are selected.
 */
export function resolveBatched<Result>(
  { context, info, args }: { context: object; info: GraphQLResolveInfo; args?: object },
  key: string,
  load: LoadBatch<string, Result>,
  detail?: readonly string[],
): Promise<Result | undefined> {
  // All columns, where none are named, are other ones than no columns.
  const name = `${info.parentType.name}.${info.fieldName}(${args ? JSON.stringify(args) : ''})${detail?.join() ?? '*'}`;
  return loadBatched(context, name, key, load);
}

/** Rows by what they belong to, each list in the order of the rows. */
export function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}
