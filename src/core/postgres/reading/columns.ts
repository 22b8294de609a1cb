/** The properties of a row to read; undefined for all. */
export type Columns<Row> = readonly (keyof Row & string)[] | undefined;

/** The requested columns and those that the query itself needs, without duplicates; all columns if none are requested. */
export const withColumns = <Row>(
  asked: Columns<Row>,
  all: readonly (keyof Row & string)[],
  ...always: readonly (keyof Row & string)[]
): readonly (keyof Row & string)[] => (asked ? [...new Set([...always, ...asked])] : all);

/** A row of known values, if no other column is selected. */
export function ifKnown<Row>(known: Partial<Row>, selected: Columns<Row>): Row | undefined {
  // The row has the requested columns.
  return selected?.every((name) => name in known) ? (known as Row) : undefined;
}
