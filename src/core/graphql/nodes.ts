import type { FieldMap, InterfaceRef, ObjectFieldBuilder, ObjectRef } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import { z } from 'zod';
import { type GraphQLContext, OWN_STATEMENT, type SchemaTypes, builder } from './builder.ts';
import { DomainError } from '../errors.ts';
import { resolveBatched } from './batches.ts';
import { keyFromId, parseGlobalId, toGlobalId, uuidsOf } from './global-ids.ts';
import { refusable } from './refusable.ts';
import type { Access } from '../access.ts';
import type { Columns } from '../postgres/reading/columns.ts';
import { selectedColumns } from './selection.ts';

/** Relay Global Object Identification: types whose objects `node` and `nodes` find. */

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;
type LoadNodes = (
  context: GraphQLContext,
  keys: readonly string[],
  info: GraphQLResolveInfo,
) => Promise<Map<string, object>>;

const loaders = new Map<string, LoadNodes>();

/** Defines the fields of a type with such rows. */
export type FieldsOf<Row extends object> = ObjectFieldBuilder<Types, Row>;

export interface NodeOptions<Row extends object, Shown extends Row = Row> {
  readonly description: string;
  /** The key of a row within its type. */
  readonly keyOf: (row: Row) => string;
  /** The columns that `keyOf` reads; by default the id. */
  readonly keyColumns?: readonly (keyof Row & string)[];
  /** The interfaces of the type beside `Node`. */
  readonly interfaces?: readonly InterfaceRef<Types, Row>[];
  /** Loads the rows with these keys that the caller may see, with the selected columns. Keys are untrusted input. */
  readonly load: (context: GraphQLContext, keys: readonly string[], selected: Columns<Row>) => Promise<readonly Row[]>;
  readonly fields: (t: FieldsOf<Shown>) => FieldMap;
}

/** Defines an object type that `node` finds by its global id. `Shown` is the row with additional data for its fields. */
export function nodeType<Row extends object, Shown extends Row = Row>(
  name: string,
  { description, keyOf, keyColumns = ID_ALONE, interfaces = [], load, fields }: NodeOptions<Row, Shown>,
): ObjectRef<Types, Shown> {
  loaders.set(name, async (context, keys, info) => {
    const rows = await load(context, keys, selectedColumns<Row>(info, name));
    return new Map(rows.map((row) => [keyOf(row), { ...row, __typename: name }]));
  });
  return builder.objectRef<Shown>(name).implement({
    description,
    interfaces: [builder.nodeInterfaceRef(), ...interfaces],
    fields: (t) => ({
      id: t.id({
        description: 'Opaque id, unique over all types; `node` finds the object by it.',
        extensions: { columns: keyColumns },
        resolve: (row) => toGlobalId(name, keyOf(row)),
      }),
      ...fields(t),
    }),
  });
}

interface EntityOptions<Row extends object, Shown extends Row> extends Pick<
  NodeOptions<Row, Shown>,
  'description' | 'fields'
> {
  /** Reads the rows with these ids that the caller may see. */
  readonly read: (context: GraphQLContext, ids: readonly string[], selected: Columns<Row>) => Promise<readonly Row[]>;
  /** What the id of the database is for. */
  readonly databaseId?: string;
}

/** Defines a type whose objects have the id of the database, as its field `databaseId`. */
export const entityType = <Row extends { readonly id: string }, Shown extends Row = Row>(
  name: string,
  { description, read, databaseId = 'The id that REST uses.', fields }: EntityOptions<Row, Shown>,
): ObjectRef<Types, Shown> =>
  nodeType<Row, Shown>(name, {
    description,
    keyOf: ({ id }) => id,
    load: (context, keys, selected) => read(context, uuidsOf(keys), selected),
    fields: (t) => ({
      // Each row has an id, which the types of the builder cannot infer for a type parameter.
      databaseId: t.expose('id' as never, { type: 'DatabaseId', description: databaseId } as never),
      ...fields(t),
    }),
  });

interface NodeQueryOptions<Row extends object> {
  readonly description: string;
  /** Names the object. */
  readonly of: string;
  readonly access: Access;
  readonly read: (context: GraphQLContext, ids: readonly string[], selected: Columns<Row>) => Promise<readonly Row[]>;
}

/** Defines the query for one object, by `id` or `databaseId`. */
export function nodeQuery<Row extends object>(
  name: string,
  type: ObjectRef<Types, Row>,
  { description, of, access, read }: NodeQueryOptions<Row>,
): void {
  builder.queryField(name, (t) =>
    t.field({
      type,
      nullable: true,
      description,
      extensions: { ...OWN_STATEMENT, ...refusable(access) },
      args: { id: t.arg.id({ required: true, description: `\`id\` or \`databaseId\` of the ${of}.` }) },
      // An object is never a list, which the types of the builder cannot infer.
      resolve: (_, { id }, context, info) => readOne(type.name, id, context, info, read) as never,
    }),
  );
}

/** The object of this id; null for text that is no id, and if the caller may see none. */
async function readOne<Row extends object>(
  typename: string,
  id: string,
  context: GraphQLContext,
  info: GraphQLResolveInfo,
  read: NodeQueryOptions<Row>['read'],
): Promise<Row | null> {
  const ids = uuidsOf([String(keyFromId(typename, id))]);
  return ids.length > 0 ? ((await read(context, ids, selectedColumns<Row>(info, typename)))[0] ?? null) : null;
}

const ID_ALONE: readonly never[] = ['id' as never];

/**
 * Loads objects by global id, in the given order. Malformed ids, unknown types, missing or foreign rows, and types for
 * which the key lacks the scope are null; the others are answered.
 */
async function loadNodes(
  context: GraphQLContext,
  ids: readonly string[],
  info: GraphQLResolveInfo,
): Promise<(object | null)[]> {
  const parsed = ids.map(parseGlobalId);
  const found = new Map<string, Map<string, object>>();
  for (const typename of new Set(parsed.flatMap((id) => (id ? [id.typename] : [])))) {
    const keys = parsed.flatMap((id) => (id?.typename === typename ? [id.key] : []));
    found.set(typename, await loadVisible(context, typename, [...new Set(keys)], info));
  }
  return parsed.map((id) => (id && found.get(id.typename)?.get(id.key)) ?? null);
}

async function loadVisible(
  context: GraphQLContext,
  typename: string,
  keys: readonly string[],
  info: GraphQLResolveInfo,
): Promise<Map<string, object>> {
  try {
    return (await loaders.get(typename)?.(context, keys, info)) ?? new Map();
  } catch (error) {
    if (error instanceof DomainError && (error.kind === 'forbidden' || error.kind === 'invalid')) return new Map();
    throw error;
  }
}

/**
 * Resolves a reference to an object of any type, together with those of all other parents: one statement for each type. Null if there is no
 * such object, or none that the caller may see.
 */
export function resolveNode(
  { context, info }: { readonly context: GraphQLContext; readonly info: GraphQLResolveInfo },
  typename: string,
  key: string | null,
): Promise<object | null> {
  if (key === null || !loaders.has(typename)) return Promise.resolve(null);
  const load = (keys: readonly string[]) => loadVisible(context, typename, keys, info);
  const detail = [typename, ...(selectedColumns(info, typename) ?? ['*'])];
  return resolveBatched({ context, info }, key, load, detail, null);
}

const MAX_NODES = 100;

builder.queryFields((t) => ({
  node: t.field({
    type: builder.nodeInterfaceRef(),
    nullable: true,
    description: 'The object with this global id; null if it does not exist or the caller may not see it.',
    extensions: OWN_STATEMENT,
    args: { id: t.arg.id({ required: true, description: 'A global id, from any `id` field.' }) },
    resolve: async (_, { id }, context, info) => (await loadNodes(context, [id], info))[0] ?? null,
  }),
  nodes: t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: false, items: true },
    extensions: OWN_STATEMENT,
    description: `The objects with these global ids, at most ${MAX_NODES}, in the same order; null for each that does not exist or that the caller may not see.`,
    args: {
      ids: t.arg.idList({
        required: true,
        description: `Global ids, at most ${MAX_NODES}.`,
        validate: z.array(z.string()).max(MAX_NODES),
      }),
    },
    resolve: (_, { ids }, context, info) => loadNodes(context, ids, info),
  }),
}));
