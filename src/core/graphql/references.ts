import type { GraphQLResolveInfo } from 'graphql';
import { resolveBatched } from './batches.ts';
import type { GraphQLContext } from './builder.ts';
import { selectedColumns } from './selection.ts';
import type { Columns } from '../postgres/reading/columns.ts';

/** Reads the objects with these ids that the caller may see. */
type Read<Row> = (context: GraphQLContext, ids: readonly string[], selected: Columns<Row>) => Promise<readonly Row[]>;

interface Resolving {
  readonly context: GraphQLContext;
  readonly info: GraphQLResolveInfo;
}

/** Resolves a reference by id, together with those of all other parents. Null if there is none that the caller may see. */
export async function resolveReference<Row extends { readonly id: string }>(
  { context, info }: Resolving,
  typename: string,
  id: string | null,
  read: Read<Row>,
): Promise<Row | null> {
  if (id === null) return null;
  const selected = selectedColumns<Row>(info, typename);
  const load = async (ids: readonly string[]) =>
    new Map((await read(context, ids, selected)).map((row) => [row.id, row]));
  return resolveBatched({ context, info }, id, load, selected, null);
}

/** Resolves a list of references, in the same order, without those that the caller may not see. */
export async function resolveReferences<Row extends { readonly id: string }>(
  resolving: Resolving,
  typename: string,
  ids: readonly string[],
  read: Read<Row>,
): Promise<Row[]> {
  const found = await Promise.all(ids.map((id) => resolveReference(resolving, typename, id, read)));
  return found.filter((row) => row !== null);
}
