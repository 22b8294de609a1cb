import type { FieldMap, InterfaceRef, ObjectFieldBuilder, ObjectRef } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import { z } from 'zod';
import { type GraphQLContext, OWN_STATEMENT, type SchemaTypes, builder } from './builder.ts';
import { DomainError } from '../errors.ts';
import { resolveBatched } from './batches.ts';
import { keyFromId, parseGlobalId, toGlobalId, uuidsOf } from './global-ids.ts';
import { type Candidate, type Stored, errorsElsewhere, findPlaces, storedIn } from './places.ts';
import { isUuid } from '../ids.ts';
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
  /** Where rows are stored whose key is an UUID, by which `node` finds them too. */
  readonly stored?: Stored;
  /** The interfaces of the type beside `Node`. */
  readonly interfaces?: readonly InterfaceRef<Types, NoInfer<Row>>[];
  /** Loads the rows with these keys that the caller may see, with the selected columns. Keys are untrusted input. */
  readonly load: (context: GraphQLContext, keys: readonly string[], selected: Columns<Row>) => Promise<readonly Row[]>;
  readonly fields: (t: FieldsOf<Shown>) => FieldMap;
}

/** Defines an object type that `node` finds by its global id. `Shown` is the row with additional data for its fields. */
export function nodeType<Row extends object, Shown extends Row = Row>(
  name: string,
  { description, keyOf, keyColumns = ID_ALONE, stored, interfaces = [], load, fields }: NodeOptions<Row, Shown>,
): ObjectRef<Types, Shown> {
  if (stored) storedIn(name, stored);
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
  'description' | 'interfaces' | 'fields'
> {
  /** Where the rows are, with their column of the organization if the ids are unique without it. */
  readonly stored: Stored;
  /** Reads the rows with these ids that the caller may see. */
  readonly read: (context: GraphQLContext, ids: readonly string[], selected: Columns<Row>) => Promise<readonly Row[]>;
  /** What the id of the database is for. */
  readonly databaseId?: string;
}

/** Defines a type whose objects have the id of the database, as its field `databaseId`. */
export const entityType = <Row extends { readonly id: string }, Shown extends Row = Row>(
  name: string,
  { read, databaseId = 'The id that REST uses.', fields, ...options }: EntityOptions<Row, Shown>,
): ObjectRef<Types, Shown> =>
  nodeType<Row, Shown>(name, {
    ...options,
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
  const [key] = uuidsOf([String(keyFromId(typename, id))]);
  if (key === undefined) return null;
  const [row] = await read(context, [key], selectedColumns<Row>(info, typename));
  return row ?? refuseElsewhere(context, { typename, key }, info);
}

/** @returns null. @throws ValidationError (400) if the caller could read the object in another of their organizations. */
export async function refuseElsewhere(
  context: GraphQLContext,
  candidate: Candidate,
  info: GraphQLResolveInfo,
): Promise<null> {
  const error = (await errorsElsewhere(context, [candidate], loaderFor(info))).get(candidate.key);
  if (error) throw error;
  return null;
}

const ID_ALONE: readonly never[] = ['id' as never];

/**
 * Loads objects by global id or UUID, in the given order. Malformed ids, unknown types, missing or foreign rows, and types for
 * which the key lacks the scope are null, those of another of the caller's organizations errors; the others are answered.
 */
async function loadNodes(
  context: GraphQLContext,
  ids: readonly string[],
  info: GraphQLResolveInfo,
): Promise<(object | null)[]> {
  const uuids = uuidsOf(ids);
  const places = uuids.length > 0 ? await findPlaces(context, uuids) : [];
  const wanted = ids.map((given): Candidate[] => {
    if (!isUuid(given)) return [parseGlobalId(given) ?? []].flat();
    return places.flatMap(({ type, id, key }) => (id === given.toLowerCase() ? { typename: type, key } : []));
  });
  const load = loaderFor(info);
  const found = await load(context, wanted.flat());
  const missing = wanted.filter((candidates) => !candidates.some(found)).flat();
  const errors = missing.length > 0 ? await errorsElsewhere(context, missing, load) : undefined;
  return wanted.map((candidates) => {
    const object = candidates.map(found).find(Boolean);
    return object ?? candidates.map(({ key }) => errors?.get(key)).find(Boolean) ?? null;
  });
}

/** What loads objects of several types, and then finds each of them. */
const loaderFor = (info: GraphQLResolveInfo) => async (context: GraphQLContext, wanted: readonly Candidate[]) => {
  const byType = new Map<string, Map<string, object>>();
  for (const [typename, candidates] of Map.groupBy(wanted, (each) => each.typename)) {
    const keys = new Set(candidates.map(({ key }) => key));
    byType.set(typename, await loadVisible(context, typename, [...keys], info));
  }
  return ({ typename, key }: Candidate): object | undefined => byType.get(typename)?.get(key);
};

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
const ANY_ID = 'Global ids, from any `id` field, and UUIDs of `databaseId`';

builder.queryFields((t) => ({
  node: t.field({
    type: builder.nodeInterfaceRef(),
    nullable: true,
    description:
      'The object with this id; null if it does not exist or the caller may not see it, with an error if the caller can see it in another organization.',
    extensions: OWN_STATEMENT,
    args: { id: t.arg.id({ required: true, description: `${ANY_ID}.` }) },
    resolve: async (_, { id }, context, info) => {
      const [found = null] = await loadNodes(context, [id], info);
      if (found instanceof Error) throw found;
      return found;
    },
  }),
  nodes: t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: false, items: true },
    extensions: OWN_STATEMENT,
    description: `The objects with these ids, at most ${MAX_NODES}, in the same order; null for each that does not exist or that the caller may not see.`,
    args: {
      ids: t.arg.idList({
        required: true,
        description: `${ANY_ID}, at most ${MAX_NODES}.`,
        validate: z.array(z.string()).max(MAX_NODES),
      }),
    },
    resolve: (_, { ids }, context, info) => loadNodes(context, ids, info),
  }),
}));
