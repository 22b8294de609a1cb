/** Groups rows by a key; each list keeps the order of the rows. */
export function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  // Rows of one key often follow each other, and comparing texts is faster than looking them up.
  let last: string | undefined;
  let group: Row[] | undefined;
  for (const row of rows) {
    const key = keyOf(row);
    if (key !== last) group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, (group = [row]));
    last = key;
  }
  return groups;
}
