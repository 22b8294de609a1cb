import type { GraphQLResolveInfo } from 'graphql';
import { resolveBatched } from './batches.ts';
import { builder } from './builder.ts';
import type { CountedPage } from './keyset.ts';

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
    description: 'How many there are on all pages; costs a statement when asked for.',
    resolve: (connection) => connection.total(),
  }),
);

/** A page in the form of the Relay Cursor Connections Specification. Cursors are made when they are read: few ask for those of all rows. */
export function toConnection<Row>({ page, total }: CountedPage<Row>): Connection<Row> {
  const { rows, hasNextPage, hasPreviousPage, cursorOf } = page;
  const edges = rows.map((node) => new Edge(node, cursorOf));
  let counted: Promise<number> | undefined;
  return {
    edges,
    pageInfo: {
      hasNextPage,
      hasPreviousPage,
      get startCursor() {
        return edges.at(0)?.cursor ?? null;
      },
      get endCursor() {
        return edges.at(-1)?.cursor ?? null;
      },
    },
    total: () => (counted ??= total()),
  };
}

/**
 * Resolves a connection that is read for one parent at a time, once for all aliases with the same arguments. `key` is the parent's; `detail` as
 * for `resolveBatched`.
 */
export async function resolveConnection<Row>(
  field: { readonly context: object; readonly info: GraphQLResolveInfo; readonly args: object },
  key: string,
  list: () => Promise<CountedPage<Row>>,
  detail: readonly string[] = [],
): Promise<Connection<Row>> {
  const load = async () => new Map([[key, toConnection(await list())]]);
  // With the key in the detail, a list that is refused for one parent is not refused for another.
  const connection = await resolveBatched(field, key, load, [key, ...detail]);
  if (!connection) throw new Error('a connection was not loaded');
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
