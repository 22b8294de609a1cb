import type { ObjectRef } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import type { Access } from '../access.ts';
import { resolveBatched } from './batches.ts';
import { type GraphQLContext, OWN_STATEMENT, type SchemaTypes } from './builder.ts';
import type { FieldsOf } from './nodes.ts';
import { refusable } from './refusable.ts';
import { needs, selectedColumns } from './selection.ts';
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

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;
type IdColumn<Row> = { [Name in keyof Row]: Row[Name] extends string | null ? Name : never }[keyof Row] & string;

/** Makes the fields that refer to objects of a type by a column with their id. With `access`, each field is refused on its own. */
export const referenceTo =
  <Target extends { readonly id: string }>(type: ObjectRef<Types, Target>, read: Read<Target>) =>
  <Row extends object>(
    t: FieldsOf<Row>,
    column: IdColumn<Row>,
    description: string,
    access?: Access,
    deprecationReason?: string,
  ) =>
    t.field({
      type,
      nullable: true,
      description,
      ...(deprecationReason !== undefined && { deprecationReason }),
      extensions: { ...OWN_STATEMENT, ...(access && refusable(access)), ...needs<Row>(column) },
      // The column has an id or null, and a reference is never a list, which the types of the builder cannot infer.
      resolve: (row, _, context, info) =>
        resolveReference({ context, info }, type.name, row[column] as string | null, read) as never,
    });
