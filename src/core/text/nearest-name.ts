const MAX_DISTANCE = 2;

/** The known name that a misspelled one means, if one differs in at most two characters and less than half of them; case is ignored. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .filter((each) => Math.abs(each.length - name.length) <= MAX_DISTANCE)
    .map((each) => ({ each, distance: distanceOf(each.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= MAX_DISTANCE && distance < name.length / 2)
    .toSorted((one, other) => one.distance - other.distance);
  return nearest?.each;
}

/** The edit distance of Levenshtein. */
function distanceOf(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [row, letter] of one.split('').entries()) {
    const line = [row + 1];
    for (const [column, each] of other.split('').entries())
      line.push(
        Math.min(
          (above[column] ?? 0) + (each === letter ? 0 : 1),
          (above[column + 1] ?? 0) + 1,
          (line[column] ?? 0) + 1,
        ),
      );
    above = line;
  }
  return above.at(-1) ?? 0;
}
