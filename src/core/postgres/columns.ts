/** Properties of a row to read; undefined for all of them. */
export type Columns<Row> = readonly (keyof Row & string)[] | undefined;

/** The columns that a query reads: those asked for and those it needs anyway, each once; all of the table where none are named. */
export function withColumns<Row>(
  asked: Columns<Row>,
  all: readonly (keyof Row & string)[],
  ...always: readonly (keyof Row & string)[]
): readonly (keyof Row & string)[] {
  return asked ? [...new Set([...always, ...asked])] : all;
}

/** A row of what is known already, where no more is selected of it. */
export function ifKnown<Row>(known: Partial<Row>, selected: Columns<Row>): Row | undefined {
  // Rows have the columns that were asked for.
  return selected?.every((name) => name in known) ? (known as Row) : undefined;
}
