/** What the floor's three parts share. */

export interface Caller {
  readonly userId: string;
  readonly organizationId: string;
  readonly organizationNumber: number;
  readonly isAdmin: boolean;
}

export interface Floor {
  readonly publicUrl: string;
  query<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]>;
}

/** Relay's id, as the gateway gives it. */
export const globalId = (typename: string, key: string) => Buffer.from(`${typename}:${key}`).toString('base64');
/** A stored word as GraphQL spells it. */
export const spelt = (value: string) => value.replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase();
export const speltOrNull = (value: unknown) => (typeof value === 'string' ? spelt(value) : null);

export function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}

export const withDatabaseId = <Row extends { readonly id: string }>({ id, ...others }: Row) => ({
  databaseId: id,
  ...others,
});
