/** Groups rows by a key; each list keeps the order of the rows. */
export function groupBy<Row, Key extends string>(rows: readonly Row[], keyOf: (row: Row) => Key): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>();
  // Rows of one key often follow each other, and comparing texts is faster than looking them up.
  let last: Key | undefined;
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

/** The largest number of a list of any length; `least` if none is larger. `Math.max(...numbers)` fails for very long lists. */
export const largest = (numbers: readonly number[], least: number): number =>
  numbers.reduce((most, number) => Math.max(most, number), least);
