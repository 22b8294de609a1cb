import type { FieldMap, ObjectFieldBuilder, ObjectRef } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import { type LoadBatch, resolveBatched } from './batches.ts';
import { type SchemaTypes, builder } from './builder.ts';
import type { CountedPage, Page } from '../postgres/reading/keyset.ts';
import type { Columns } from '../postgres/reading/columns.ts';

export interface Connection<Row> {
  readonly edges: readonly { readonly cursor: string; readonly node: Row }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  readonly total: () => Promise<number>;
}

builder.globalConnectionField('totalCount', (t) =>
  t.int({
    description: 'Number of items on all pages; costs a statement if selected.',
    resolve: (connection) => connection.total(),
  }),
);

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;
type EdgeShape<Row> = Connection<Row>['edges'][number];

/**
 * The connection and edge types of an object type, shared by all lists of it (Relay Cursor Connections Specification, sections 2 and 3):
 * `t.connection({ type: Session, … }, SessionConnection)`. `edgeFields` are properties of the relation rather than of the object.
 */
export function connectionType<Row extends object>(
  type: ObjectRef<Types, Row>,
  { of, edgeFields }: { of: string; edgeFields?: (t: ObjectFieldBuilder<Types, EdgeShape<Row>>) => FieldMap },
) {
  const edge = builder.edgeObject({
    type,
    name: `${type.name}Edge`,
    description: `An item in a list of ${of}.`,
    // Edges have the shape that `toConnection` returns, which the plugin derives from the type.
    ...(edgeFields && { fields: edgeFields }),
  });
  return builder.connectionObject({ type, name: `${type.name}Connection`, description: `A page of ${of}.` }, edge);
}

/** A page as a connection of the Relay Cursor Connections Specification. Cursors are computed only when they are selected. */
export function toConnection<Row>({ page, total }: CountedPage<Row>): Connection<Row> {
  const { rows, hasNextPage, hasPreviousPage, cursorOf } = page;
  const edges = rows.map((node) => new Edge(node, cursorOf));
  let counted: Promise<number> | undefined;
  return {
    edges,
    pageInfo: new PageInfo(edges, { hasNextPage, hasPreviousPage }),
    total: () => (counted ??= total()),
  };
}

export interface ListBelow<Row> {
  /** Makes what loads a page for every parent. Called once for all parents. */
  readonly pages: () => LoadBatch<string, Page<Row>>;
  /** Makes what loads the number of items of every parent. */
  readonly counts: () => LoadBatch<string, number>;
  /** The arguments on which the count depends. */
  readonly countedBy?: object;
  readonly columns: Columns<Row>;
}

/** A connection of objects that may be items of a list: one statement for the pages of all parents, and one for all counts. */
export function resolveConnection<Row>(
  { context, info, args }: { context: object; info: GraphQLResolveInfo; args: object },
  parentId: string,
  { pages, counts, countedBy = {}, columns }: ListBelow<Row>,
): Promise<Connection<Row>> {
  const totalOf = async (id: string) =>
    (await resolveBatched({ context, info, args: countedBy }, id, (ids) => counts()(ids), ['total'])) ?? 0;
  const load = async (ids: readonly string[]) => {
    const connections = new Map<string, Connection<Row>>();
    for (const [id, page] of await pages()(ids)) connections.set(id, toConnection({ page, total: () => totalOf(id) }));
    return connections;
  };
  // Every parent has a page, which may be empty.
  return resolveBatched<Connection<Row>, never>({ context, info, args }, parentId, load, columns);
}

/**
 * A connection that only one parent has, such as the acting organization. It is read once for all aliases with the same arguments. Other
 * parents have their own errors.
 */
export async function resolveList<Row>(
  field: { readonly context: object; readonly info: GraphQLResolveInfo; readonly args: object },
  parentId: string,
  list: () => Promise<CountedPage<Row>>,
  columns: readonly string[] | undefined,
): Promise<Connection<Row>> {
  const load = async () => new Map([[parentId, toConnection(await list())]]);
  const connection = await resolveBatched(field, parentId, load, [parentId, ...(columns ?? ['*'])]);
  if (!connection) throw new Error(`${field.info.parentType.name}.${field.info.fieldName} was not loaded`);
  return connection;
}

class Edge<Row> {
  readonly node: Row;
  readonly #cursorOf: (row: Row) => string;

  constructor(node: Row, cursorOf: (row: Row) => string) {
    this.node = node;
    this.#cursorOf = cursorOf;
  }

  get cursor(): string {
    return this.#cursorOf(this.node);
  }
}

class PageInfo {
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  readonly #edges: readonly { readonly cursor: string }[];

  constructor(
    edges: readonly { readonly cursor: string }[],
    { hasNextPage, hasPreviousPage }: Pick<Page<unknown>, 'hasNextPage' | 'hasPreviousPage'>,
  ) {
    this.hasNextPage = hasNextPage;
    this.hasPreviousPage = hasPreviousPage;
    this.#edges = edges;
  }

  get startCursor(): string | null {
    return this.#edges.at(0)?.cursor ?? null;
  }

  get endCursor(): string | null {
    return this.#edges.at(-1)?.cursor ?? null;
  }
}
