import type { FieldMap, ObjectFieldBuilder, ObjectRef, UnionRef } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import { type LoadBatch, type Planned, resolveBatched } from './batches.ts';
import { type SchemaTypes, builder } from './builder.ts';
import { type CountedPage, type Page, endCursorOf, startCursorOf } from '../postgres/reading/keyset.ts';
import type { Columns } from '../postgres/reading/columns.ts';

interface EdgeShape<Row> {
  readonly cursor: string;
  readonly node: Row;
}

/** A page as a connection of the Relay Cursor Connections Specification. Edges and cursors are made when they are selected. */
export class Connection<Row> {
  readonly #page: Page<Row>;
  readonly #count: (parentId: string) => Promise<number>;
  readonly #parentId: string;
  #total: Promise<number> | undefined;

  constructor(page: Page<Row>, count: (parentId: string) => Promise<number>, parentId: string) {
    this.#page = page;
    this.#count = count;
    this.#parentId = parentId;
  }

  get nodes(): readonly Row[] {
    return this.#page.rows;
  }

  get edges(): readonly EdgeShape<Row>[] {
    const { rows, cursorOf } = this.#page;
    return rows.map((node) => new Edge(node, cursorOf));
  }

  get pageInfo(): PageInfo<Row> {
    return new PageInfo(this.#page);
  }

  total(): Promise<number> {
    return (this.#total ??= this.#count(this.#parentId));
  }
}

class Edge<Row> implements EdgeShape<Row> {
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

class PageInfo<Row> {
  readonly #page: Page<Row>;

  constructor(page: Page<Row>) {
    this.#page = page;
  }

  get hasNextPage(): boolean {
    return this.#page.hasNextPage;
  }

  get hasPreviousPage(): boolean {
    return this.#page.hasPreviousPage;
  }

  get startCursor(): string | null {
    return startCursorOf(this.#page);
  }

  get endCursor(): string | null {
    return endCursorOf(this.#page);
  }
}

builder.globalConnectionField('totalCount', (t) =>
  t.int({
    description: 'Number of items on all pages; costs a statement if selected.',
    resolve: (connection) => connection.total(),
  }),
);

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;

/** The type of the items of a list: of objects, or a union of such types. */
export type Listed<Row> = ObjectRef<Types, Row> | UnionRef<Types, Row>;

/**
 * The connection and edge types of an object type, shared by all lists of it (Relay Cursor Connections Specification, sections 2 and 3):
 * `t.connection({ type: Session, … }, SessionConnection)`. `edgeFields` are properties of the relation rather than of the object.
 */
export function connectionType<Row extends object>(
  type: Listed<Row>,
  { of, edgeFields }: { of: string; edgeFields?: (t: ObjectFieldBuilder<Types, EdgeShape<Row>>) => FieldMap },
) {
  const edge = builder.edgeObject({
    type,
    name: `${type.name}Edge`,
    description: `An item in a list of ${of}.`,
    // Edges have the shape that the plugin derives from the type.
    ...(edgeFields && { fields: edgeFields }),
  });
  return builder.connectionObject(
    {
      type,
      name: `${type.name}Connection`,
      description: `A page of ${of}.`,
      fields: (t) => ({
        // The plugin would make them of edges.
        nodes: t.field({
          type: [type],
          description: 'The items of this page without their cursors.',
          resolve: ({ nodes }) => nodes as readonly Row[],
        }),
      }),
    },
    edge,
  );
}

/** How a list below several objects is read. */
export interface ListBelow<Row> {
  /** Loads a page for every parent. */
  readonly pages: LoadBatch<string, Page<Row>>;
  /** Makes what loads the number of items of every parent. */
  readonly counts: () => LoadBatch<string, number>;
  /** The arguments on which the count depends. */
  readonly countedBy: object;
  readonly columns: Columns<Row>;
  /** The error for a parent without a page. */
  readonly missing?: () => Error;
}

/** A connection of objects that may be items of a list: one statement for the pages of all parents, and one for all counts. */
export function connectionsBelow<Row>(
  field: { readonly context: object; readonly info: GraphQLResolveInfo },
  { pages, counts, countedBy, columns, missing }: ListBelow<Row>,
): Planned<Connection<Row>> {
  const count = (id: string) => resolveBatched({ ...field, args: countedBy }, id, (ids) => counts()(ids), ['total'], 0);
  const load = async (ids: readonly string[]) => {
    const connections = new Map<string, Connection<Row> | Error>();
    const found = await pages(ids);
    for (const [id, page] of found) connections.set(id, new Connection(page, count, id));
    if (missing) for (const id of ids) if (!found.has(id)) connections.set(id, missing());
    // Errors are thrown.
    return connections as Map<string, Connection<Row>>;
  };
  return { load, detail: columns };
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
  const load = async () => {
    const { page, total } = await list();
    return new Map([[parentId, new Connection(page, total, parentId)]]);
  };
  const connection = await resolveBatched(field, parentId, load, [parentId, ...(columns ?? ['*'])]);
  if (!connection) throw new Error(`${field.info.parentType.name}.${field.info.fieldName} was not loaded`);
  return connection;
}
