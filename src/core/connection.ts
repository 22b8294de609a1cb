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

/** A page in the form of the Relay Cursor Connections Specification. Cursors are made when they are read: few ask for those of all rows. */
export function toConnection<Row>({ rows, hasNextPage, hasPreviousPage, cursorOf }: Page<Row>): Connection<Row> {
  const cursorAt = (index: number) => {
    const row = rows.at(index);
    return row === undefined ? null : cursorOf(row);
  };
  return {
    edges: rows.map((node) => ({
      node,
      get cursor() {
        return cursorOf(node);
      },
    })),
    pageInfo: {
      hasNextPage,
      hasPreviousPage,
      get startCursor() {
        return cursorAt(0);
      },
      get endCursor() {
        return cursorAt(-1);
      },
    },
  };
}
