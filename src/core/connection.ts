import type { Page } from './keyset.ts';

export interface Connection<Row> {
  readonly edges: { cursor: string; node: Row }[];
  readonly pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
}

/** A page in the form of the Relay Cursor Connections Specification. */
export function toConnection<Row>({ rows, hasNextPage, hasPreviousPage, cursorOf }: Page<Row>): Connection<Row> {
  const edges = rows.map((node) => ({ cursor: cursorOf(node), node }));
  return {
    edges,
    pageInfo: {
      hasNextPage,
      hasPreviousPage,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}
